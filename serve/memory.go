package serve

import (
	"errors"
	"fmt"
	"sync"

	"github.com/psi-shapley/psi/serve/internal/watch"
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
	metrics *watch.Metrics

	mu       sync.Mutex
	held     int64
	arriving map[*budget]func() // budgets of what has not arrived completely, and how to end them
}

func newMemory(limit int64, metrics *watch.Metrics) *memory {
	return &memory{limit: limit, metrics: metrics, arriving: map[*budget]func(){}}
}

// budget opens a budget of at most limit bytes. It must be closed.
func (m *memory) budget(limit int64) *budget { return &budget{memory: m, limit: limit} }

// inUse returns the bytes that are held.
func (m *memory) inUse() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held
}

// budget is what one request, or one connection, holds of the server's memory. Its fields are guarded by memory.mu.
type budget struct {
	memory *memory
	limit  int64
	held   int64
	closed bool
}

// Reserve takes bytes before they are used; a negative number gives bytes back. It returns a *tooLargeError beyond the
// budget's own limit and errMemory beyond that of the server, and then takes nothing.
//
// A server whose memory is full ends what arrives and holds the most, as long as that is more than this budget with what
// it asks for: whoever holds little never makes room for whoever holds more.
func (b *budget) Reserve(n int64) error {
	m := b.memory
	m.mu.Lock()
	ended, err := b.reserve(n)
	m.mu.Unlock()
	for _, end := range ended {
		end()
	}
	return err
}

func (b *budget) reserve(n int64) (ended []func(), err error) {
	m := b.memory
	switch {
	case b.closed && n > 0:
		return nil, errMemory
	case n <= 0:
		b.add(max(n, -b.held))
		return nil, nil
	case b.held+n > b.limit:
		return nil, &tooLargeError{b.limit}
	}
	for m.held+n > m.limit {
		largest := b
		for other := range m.arriving {
			if other.held > largest.held {
				largest = other
			}
		}
		if largest.held <= b.held+n {
			return ended, errMemory
		}
		ended = append(ended, m.arriving[largest])
		largest.close()
	}
	b.add(n)
	return ended, nil
}

func (b *budget) add(n int64) {
	b.held += n
	b.memory.held += n
	b.memory.metrics.HeldBytes(int(n))
}

// allow changes the budget's limit.
func (b *budget) allow(limit int64) {
	b.memory.mu.Lock()
	defer b.memory.mu.Unlock()
	b.limit = limit
}

// reset gives back what is held, for another request of the same call.
func (b *budget) reset() {
	b.memory.mu.Lock()
	defer b.memory.mu.Unlock()
	b.add(-b.held)
}

// arrive lets the server end what the budget is for, until arrived or Close is called. The function must not block.
func (b *budget) arrive(end func()) {
	b.memory.mu.Lock()
	defer b.memory.mu.Unlock()
	if !b.closed {
		b.memory.arriving[b] = end
	}
}

// arrived keeps the server from ending what the budget is for. It returns errMemory if that has happened.
func (b *budget) arrived() error {
	b.memory.mu.Lock()
	defer b.memory.mu.Unlock()
	delete(b.memory.arriving, b)
	if b.closed {
		return errMemory
	}
	return nil
}

// Close gives everything back.
func (b *budget) Close() {
	b.memory.mu.Lock()
	defer b.memory.mu.Unlock()
	b.close()
}

func (b *budget) close() {
	b.add(-b.held)
	b.closed = true
	delete(b.memory.arriving, b)
}
