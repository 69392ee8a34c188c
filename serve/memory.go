package serve

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/psi-shapley/psi/serve/internal/observe"
	"github.com/psi-shapley/psi/serve/internal/registry"
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
	largeReservation = 1 << 20
	maxGarbage       = 32 << 20
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
	if n >= largeReservation {
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
	if bytes >= largeReservation {
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

// How much garbage the process may hold beside the memory in use. The values follow from the memory that requests of
// strangers, and of callers who send as much as they may, cost the process. The collector's work is small beside the models'.
const (
	spareBytes   = 32 << 20
	sparePercent = 50
)

// limitMemory sets the soft memory limit of the process to the memory of its models, the limit of requests and spareBytes. It
// also makes the collector run when garbage is half of the memory in use, where Go's default is as much. It measures again
// when models come and go, until stop is called. GOGC of the environment stays, and GOMEMLIMIT is an upper bound.
func (s *Server) limitMemory() (stop func()) {
	restore := func() {}
	if os.Getenv("GOGC") == "" {
		before := debug.SetGCPercent(sparePercent)
		restore = func() { debug.SetGCPercent(before) }
	}
	const look = 2 * time.Second
	before := debug.SetMemoryLimit(-1)
	end := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(look)
		defer tick.Stop()
		measured := []string{""} // which is no version
		for {
			if versions := s.versions(); !slices.Equal(versions, measured) {
				measured = versions
				debug.SetMemoryLimit(min(before, usedBytes()-s.memory.inUse()+s.config.MaxHeld+spareBytes))
			}
			select {
			case <-tick.C:
			case <-end:
				return
			}
		}
	})
	return func() {
		close(end)
		watching.Wait()
		debug.SetMemoryLimit(before)
		restore()
	}
}

// versions returns the model versions that answer, as NAME@VERSION.
func (s *Server) versions() []string {
	var all []string
	for _, status := range s.registry.Index() {
		if status.State == registry.Ready {
			all = append(all, status.Name+"@"+status.Version)
		}
	}
	return all
}

// usedBytes is the memory that is in use and that the limit counts.
func usedBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.Sys - m.HeapSys)
}

// buffer collects bytes within a budget, which reserves memory before it is used.
type buffer struct {
	budget *budget
	bytes  []byte
}

// minBuffer is the minimum growth of a buffer.
const minBuffer = 512

// grow makes room for n more bytes. A full buffer doubles, up to most bytes unless n needs more. While it is copied, both
// copies are reserved.
func (b *buffer) grow(n, limit int) error {
	if n <= cap(b.bytes)-len(b.bytes) {
		return nil
	}
	size := max(min(2*cap(b.bytes), limit), len(b.bytes)+max(n, minBuffer))
	if err := b.budget.Reserve(int64(size)); err != nil {
		return err
	}
	before := b.bytes
	b.bytes = append(make([]byte, 0, size), before...)
	return b.budget.Reserve(-int64(cap(before)))
}

// Write appends bytes.
func (b *buffer) Write(p []byte) (int, error) {
	if err := b.grow(len(p), maxInt); err != nil {
		return 0, err
	}
	b.bytes = append(b.bytes, p...)
	return len(p), nil
}

const maxInt = int(^uint(0) >> 1)

// readAll appends everything from a reader. length is the stated length, negative if none is stated. It is not trusted:
// memory grows with the bytes that arrive, up to the stated length.
func (b *buffer) readAll(r io.Reader, length int64) error {
	const limit = 1 << 20 // reserved on a stated length alone
	end := maxInt
	if length >= 0 {
		end = int(min(length, int64(maxInt-minBuffer))) + minBuffer
		if err := b.grow(min(end, limit), end); err != nil {
			return err
		}
	}
	for {
		if err := b.grow(1, end); err != nil {
			return err
		}
		n, err := r.Read(b.bytes[len(b.bytes):cap(b.bytes)])
		b.bytes = b.bytes[:len(b.bytes)+n]
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// free releases the bytes.
func (b *buffer) free() {
	_ = b.budget.Reserve(-int64(cap(b.bytes))) // which never fails
	b.bytes = nil
}
