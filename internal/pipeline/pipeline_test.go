package pipeline

import (
	"context"
	"errors"
	"io"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/psi-shapley/psi/table"
)

// endless hands out the same rows for ever.
type endless struct {
	table.Source
	closed bool
}

func (*endless) Next(ctx context.Context) (*table.Table, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return table.New(table.NumberColumn("x", []float64{1}, nil))
}

func (s *endless) Close() error {
	s.closed = true
	return nil
}

// A reader that is far ahead lets go when it is closed.
func TestReadAheadCloses(t *testing.T) {
	source := &endless{}
	rows := ReadAhead(t.Context(), source)
	if _, err := rows.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := rows.Close(); err != nil || !source.closed {
		t.Errorf("closed %t: %v", source.closed, err)
	}
}

// stuck is a source that waits for something else than its context.
type stuck struct {
	table.Source
	free, closed chan struct{}
}

func (s *stuck) Next(context.Context) (*table.Table, error) {
	<-s.free
	return nil, io.EOF
}

func (s *stuck) Close() error {
	close(s.closed)
	return nil
}

// Close does not wait for ever for a source that is stuck, and does not close it while it is in use.
func TestReadAheadOfASourceThatIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &stuck{free: make(chan struct{}), closed: make(chan struct{})}
		rows := ReadAhead(t.Context(), source)
		synctest.Wait()
		closed := make(chan error, 1)
		go func() { closed <- rows.Close() }()
		select {
		case err := <-closed:
			if err == nil {
				t.Error("Close did not say that reading goes on")
			}
		case <-time.After(time.Hour):
			t.Error("Close waited for an hour")
		}
		synctest.Wait()
		select {
		case <-source.closed:
			t.Error("the source was closed while it was in use")
		default:
		}
		close(source.free)
		<-source.closed
	})
}

func TestReadAheadPassesTheEnd(t *testing.T) {
	one, err := table.New(table.NumberColumn("x", []float64{1}, nil))
	if err != nil {
		t.Fatal(err)
	}
	rows := ReadAhead(t.Context(), one.Source())
	defer rows.Close()
	if chunk, err := rows.Next(t.Context()); err != nil || chunk.Rows() != 1 {
		t.Fatalf("%v, %v", chunk, err)
	}
	if _, err := rows.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("after the last row: %v", err)
	}
}

// counting yields numbers until it is told to stop.
func counting(ctx context.Context) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := 0; ; i++ {
			if err := ctx.Err(); err != nil {
				yield(0, err)
				return
			}
			if !yield(i, nil) {
				return
			}
		}
	}
}

// A failure to write stops the computation, and is what is reported.
func TestWriteBehindFails(t *testing.T) {
	full := errors.New("disk full")
	err := WriteBehind(t.Context(), counting, func(_ context.Context, i int) error {
		if i == 5 {
			return full
		}
		return nil
	})
	if !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

func TestWriteBehindKeepsOrder(t *testing.T) {
	want := errors.New("the end")
	compute := func(context.Context) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := range 100 {
				if !yield(i, nil) {
					return
				}
			}
			yield(0, want)
		}
	}
	next := 0
	err := WriteBehind(t.Context(), compute, func(_ context.Context, i int) error {
		if i != next {
			t.Errorf("%d after %d", i, next-1)
		}
		next++
		return nil
	})
	if !errors.Is(err, want) || next != 100 {
		t.Errorf("%d written, then %v", next, err)
	}
}

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
