package serve

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/psi-shapley/psi/serve/internal/observe"
)

// errMemory refuses a request for which the server has no memory left.
var errMemory = errors.New("the server holds too many large requests: try again in a moment")

// tooLargeError refuses a request that needs more memory than one request may have.
type tooLargeError struct{ limit int64 }

func (e *tooLargeError) Error() string {
	return fmt.Sprintf("the request needs more than %d bytes of memory once it is unpacked", e.limit)
}

// memory bounds the bytes that all requests hold together. It is safe for concurrent use.
type memory struct {
	limit   int64
	metrics *observe.Metrics

	mu       sync.Mutex
	held     int64
	arriving map[*budget]func() // budgets of requests that have not arrived completely, and how to end them
	ending   int64              // bytes of requests that were ended and have not released them
	given    chan struct{}      // closed when one of them does
	garbage  int64              // bytes released since the last forced collection

	collecting sync.Mutex
}

// Released memory is free only after a garbage collection. During a burst of large requests that may be too late, so a large
// reservation forces one first.
const (
	muchMemory = 1 << 20
	maxGarbage = 32 << 20
)

// collect runs the garbage collector if much memory was released since the last time.
func (m *memory) collect() {
	m.collecting.Lock()
	defer m.collecting.Unlock()
	m.mu.Lock()
	due := m.garbage >= maxGarbage
	if due {
		m.garbage = 0
	}
	m.mu.Unlock()
	if due {
		runtime.GC()
	}
}

func newMemory(limit int64, metrics *observe.Metrics) *memory {
	return &memory{limit: limit, metrics: metrics, arriving: map[*budget]func(){}, given: make(chan struct{})}
}

// budget opens a budget of at most limit bytes. It must be closed.
func (m *memory) budget(limit int64) *budget { return &budget{memory: m, limit: limit} }

// inUse returns the reserved bytes.
func (m *memory) inUse() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held
}

// budget is the share of one request or connection in the server's memory. memory.mu guards its fields.
type budget struct {
	memory *memory
	limit  int64
	held   int64
	ended  bool // it was ended and gets no more
}

// endWait is how long a reservation waits for memory of requests that were ended.
const endWait = 250 * time.Millisecond

// Reserve reserves bytes before they are used; a negative number releases them. It reserves nothing and returns a
// *tooLargeError beyond the limit of the budget, or errMemory beyond that of the server.
//
// If the server's memory is full, Reserve ends the arriving request that holds the most, provided that this is more than the
// budget would hold. So requests that hold little never make room for larger ones. Reserve then waits a moment for the
// memory.
func (b *budget) Reserve(n int64) error {
	m := b.memory
	if n >= muchMemory {
		m.collect()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if n <= 0 {
		b.add(max(n, -b.held))
		return nil
	}
	var late <-chan time.Time
	for {
		switch {
		case b.ended:
			return errMemory
		case b.held+n > b.limit:
			return &tooLargeError{b.limit}
		case m.held+n <= m.limitFor(b.held+n):
			b.add(n)
			return nil
		}
		if m.held-m.ending+n > m.limitFor(b.held+n) && !m.endLargest(b.held+n) {
			return errMemory
		}
		if late == nil {
			late = time.After(endWait)
		}
		given := m.given
		m.mu.Unlock()
		select {
		case <-given:
			m.mu.Lock()
		case <-late:
			m.mu.Lock()
			return errMemory
		}
	}
}

// limitFor returns the limit of all reservations for a budget of so many bytes. Large budgets leave some room for small
// ones.
func (m *memory) limitFor(bytes int64) int64 {
	if bytes >= muchMemory {
		return m.limit - m.limit/32
	}
	return m.limit
}

// endLargest ends the arriving request that holds the most, if that is more than so many bytes.
func (m *memory) endLargest(than int64) bool {
	var largest *budget
	for b := range m.arriving {
		if b.held > than {
			largest, than = b, b.held
		}
	}
	if largest == nil {
		return false
	}
	end := m.arriving[largest]
	delete(m.arriving, largest)
	largest.ended = true
	m.ending += largest.held
	m.mu.Unlock()
	end()
	m.mu.Lock()
	return true
}

// add counts reserved or released bytes.
func (b *budget) add(n int64) {
	m := b.memory
	b.held += n
	m.held += n
	m.garbage -= min(n, 0)
	m.metrics.HeldBytes(int(n))
	if b.ended && n < 0 {
		m.ending += n
		close(m.given)
		m.given = make(chan struct{})
	}
}

// allow changes the budget's limit.
func (b *budget) allow(limit int64) {
	b.memory.mu.Lock()
	defer b.memory.mu.Unlock()
	b.limit = limit
}

// reset releases everything, for another request of the same call.
func (b *budget) reset() {
	b.memory.mu.Lock()
	defer b.memory.mu.Unlock()
	b.add(-b.held)
}

// arrive allows the server to end the request of the budget, until arrived or Close is called. end must not block.
func (b *budget) arrive(end func()) {
	b.memory.mu.Lock()
	defer b.memory.mu.Unlock()
	if !b.ended {
		b.memory.arriving[b] = end
	}
}

// arrived forbids the server to end the request. It returns errMemory if that has happened.
func (b *budget) arrived() error {
	b.memory.mu.Lock()
	defer b.memory.mu.Unlock()
	delete(b.memory.arriving, b)
	if b.ended {
		return errMemory
	}
	return nil
}

// Close releases everything. Later reservations fail.
func (b *budget) Close() {
	b.memory.mu.Lock()
	defer b.memory.mu.Unlock()
	delete(b.memory.arriving, b)
	b.add(-b.held)
	b.ended = true
}
