package learn

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// workers runs the shares of some work on the cores that Go may use.
type workers struct {
	wake    chan struct{}
	helpers int
	ended   sync.WaitGroup

	f    func(i int)
	n    int
	next atomic.Int64
	left sync.WaitGroup
}

func newWorkers() *workers {
	w := &workers{helpers: runtime.GOMAXPROCS(0) - 1}
	if w.helpers == 0 {
		return w
	}
	w.wake = make(chan struct{}, w.helpers)
	for range w.helpers {
		w.ended.Go(func() {
			for range w.wake {
				w.work()
				w.left.Done()
			}
		})
	}
	return w
}

func (w *workers) close() {
	if w.wake != nil {
		close(w.wake)
		w.ended.Wait()
		w.wake, w.helpers = nil, 0
	}
}

// each calls f for the shares 0 … n−1, several at a time.
func (w *workers) each(n int, f func(i int)) {
	helpers := min(w.helpers, n-1)
	if helpers <= 0 {
		for i := range n {
			f(i)
		}
		return
	}
	w.f, w.n = f, n
	w.next.Store(0)
	w.left.Add(helpers)
	for range helpers {
		w.wake <- struct{}{}
	}
	w.work()
	w.left.Wait()
}

func (w *workers) work() {
	for i := int(w.next.Add(1)) - 1; i < w.n; i = int(w.next.Add(1)) - 1 {
		w.f(i)
	}
}
