package pipeline

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"testing"
	"time"
)

func upTo(n int, end error) func(context.Context) iter.Seq2[int, error] {
	return func(context.Context) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := range n {
				if !yield(i, nil) {
					return
				}
			}
			if end != nil {
				yield(0, end)
			}
		}
	}
}

// Results come in order, whichever is ready first, and no more are under way than may be.
func TestInOrder(t *testing.T) {
	const atOnce = 4
	var under, most atomic.Int32
	double := func(_ context.Context, i int) (int, error) {
		now := under.Add(1)
		for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
			continue
		}
		time.Sleep(time.Duration(i%3) * time.Millisecond)
		under.Add(-1)
		return 2 * i, nil
	}
	next := 0
	for v, err := range InOrder(t.Context(), atOnce, upTo(100, nil), double) {
		if err != nil || v != 2*next {
			t.Fatalf("%d: %d, %v", next, v, err)
		}
		next++
	}
	if next != 100 || most.Load() > atOnce+2 { // one waits for its place, one is being handed out
		t.Errorf("%d results, %d at once", next, most.Load())
	}
}

func TestInOrderEnds(t *testing.T) {
	broken := errors.New("broken")
	same := func(_ context.Context, i int) (int, error) { return i, nil }
	fails := func(_ context.Context, i int) (int, error) {
		if i == 7 {
			return 0, broken
		}
		return i, nil
	}
	for name, c := range map[string]struct {
		in   func(context.Context) iter.Seq2[int, error]
		f    func(context.Context, int) (int, error)
		want error
	}{
		"what goes in fails": {upTo(7, broken), same, broken},
		"a result fails":     {upTo(100, nil), fails, broken},
	} {
		var last error
		for _, err := range InOrder(t.Context(), 3, c.in, c.f) {
			last = err
		}
		if !errors.Is(last, c.want) {
			t.Errorf("%s: %v", name, last)
		}
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	var last error
	for _, err := range InOrder(stopped, 3, upTo(100, nil), same) {
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("stopped: %v", last)
	}
	for range InOrder(t.Context(), 3, upTo(100, nil), same) {
		break // must not hang, nor leave anything behind
	}
}
