package queue

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"
)

// embedded is a server in this process, on a directory of the test's.
func embedded(t *testing.T) *Server {
	t.Helper()
	s, err := Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func connect(t *testing.T, o Options) *Queue {
	t.Helper()
	if o.Log == nil {
		o.Log = func(message string) {
			if t.Context().Err() == nil {
				t.Log(message)
			}
		}
	}
	q, err := Connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = q.Close() })
	return q
}

func numbered(n int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for i := range n {
			if !yield(fmt.Appendf(nil, "%d", i), nil) {
				return
			}
		}
	}
}

func put(t *testing.T, q *Queue, job string, n int) {
	t.Helper()
	stored, err := q.Put(t.Context(), job, numbered(n))
	if err != nil || stored != n {
		t.Fatalf("put %d units: %d, %v", n, stored, err)
	}
}

// take waits for a unit no longer than a test should.
func take(t *testing.T, q *Queue) *Delivery {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	d, err := q.Take(ctx)
	if err != nil {
		t.Fatalf("take: %v", err)
	}
	return d
}

// none checks that there is nothing to take.
func none(t *testing.T, q *Queue, within time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	if d, err := q.Take(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("took %+v, %v; want nothing", d, err)
	}
}

func left(t *testing.T, q *Queue, job string, want int) {
	t.Helper()
	if n, err := q.Left(t.Context(), job); err != nil || n != want {
		t.Fatalf("left of %s: %d, %v; want %d", job, n, err, want)
	}
}

func done(t *testing.T, d *Delivery) {
	t.Helper()
	if err := d.Done(t.Context()); err != nil {
		t.Fatalf("done: %v", err)
	}
}

func TestUnitsComeInOrderAndOnce(t *testing.T) {
	q := connect(t, Options{URL: embedded(t).URL()})
	put(t, q, "a", 3)
	put(t, q, "b", 1)
	left(t, q, "a", 3)
	for _, want := range []string{"a 0", "a 1", "a 2", "b 0"} {
		d := take(t, q)
		if got := d.Job + " " + string(d.Body); got != want || d.Attempt != 1 {
			t.Errorf("took %q, attempt %d; want %q, attempt 1", got, d.Attempt, want)
		}
		if s, err := q.State(t.Context()); err != nil || s.InFlight != 1 {
			t.Errorf("state %+v, %v; want one in flight", s, err)
		}
		done(t, d)
	}
	left(t, q, "a", 0)
	none(t, q, 200*time.Millisecond)
}

func TestAgainAndDrop(t *testing.T) {
	q := connect(t, Options{URL: embedded(t).URL()})
	put(t, q, "a", 1)
	if err := take(t, q).Requeue(t.Context(), 300*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	d := take(t, q)
	if waited := time.Since(began); waited < 200*time.Millisecond || waited > 5*time.Second || d.Attempt != 2 {
		t.Errorf("came back after %s as attempt %d; want about 300 ms, attempt 2", waited, d.Attempt)
	}
	if err := d.Requeue(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	d = take(t, q)
	if d.Attempt != 3 {
		t.Errorf("attempt %d; want 3", d.Attempt)
	}
	if err := d.Drop(t.Context(), "the file\nis gone"); err != nil {
		t.Fatal(err)
	}
	left(t, q, "a", 0)
	none(t, q, 200*time.Millisecond)
}

func TestDeadWorkersUnitComesBack(t *testing.T) {
	t.Parallel()
	server := embedded(t)
	dead := connect(t, Options{URL: server.URL(), AckWait: time.Second})
	alive := connect(t, Options{URL: server.URL()})
	put(t, alive, "a", 1)
	take(t, dead)
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	d := take(t, alive)
	if waited := time.Since(began); waited > 4*time.Second || d.Attempt != 2 {
		t.Errorf("came after %s as attempt %d; want within a few seconds, attempt 2", waited, d.Attempt)
	}
	done(t, d)
}

func TestHeartbeatsHoldALongUnit(t *testing.T) {
	t.Parallel()
	q := connect(t, Options{URL: embedded(t).URL(), AckWait: 400 * time.Millisecond})
	put(t, q, "a", 1)
	d := take(t, q)
	none(t, q, 1600*time.Millisecond)
	done(t, d)
	left(t, q, "a", 0)
}

// A unit that is sent again, since the answer was lost, is one unit. Two Puts are two.
func TestPutTwice(t *testing.T) {
	q := connect(t, Options{URL: embedded(t).URL()})
	p := &putState{queue: q, prefix: "once-", subject: subjects + "a"}
	p.add([]byte("x"))
	if err := p.await(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := &putState{queue: q, prefix: "once-", subject: subjects + "a"}
	again.add([]byte("x"))
	if err := again.await(t.Context()); err != nil {
		t.Fatal(err)
	}
	left(t, q, "a", 1)

	// A unit that was dropped and is put again, as resume does, must not be taken for a repetition.
	if err := take(t, q).Drop(t.Context(), "bad"); err != nil {
		t.Fatal(err)
	}
	put(t, q, "a", 1)
	left(t, q, "a", 1)
	if err := q.Clear(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	put(t, q, "a", 1)
	left(t, q, "a", 1)
}

func TestPutStopsAtAnError(t *testing.T) {
	q := connect(t, Options{URL: embedded(t).URL()})
	bad := errors.New("page 3 is damaged")
	_, err := q.Put(t.Context(), "a", func(yield func([]byte, error) bool) {
		_ = yield([]byte("0"), nil) && yield(nil, bad)
	})
	if !errors.Is(err, bad) {
		t.Errorf("put: %v; want the plan's error", err)
	}
	if _, err := q.Put(t.Context(), "a", func(yield func([]byte, error) bool) { yield(make([]byte, 2<<20), nil) }); err == nil || !strings.Contains(err.Error(), "max_payload") {
		t.Errorf("put of 2 MB: %v; want a word about max_payload", err)
	}
	for _, name := range []string{"", "a.b", "a b", "*", ">"} {
		if _, err := q.Put(t.Context(), name, numbered(1)); err == nil {
			t.Errorf("%q was taken for the name of a job", name)
		}
	}
}

func TestClearWhileInFlight(t *testing.T) {
	t.Parallel()
	q := connect(t, Options{URL: embedded(t).URL(), AckWait: 500 * time.Millisecond})
	put(t, q, "a", 10)
	put(t, q, "b", 1)
	first, second, third := take(t, q), take(t, q), take(t, q)
	if err := q.Clear(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	left(t, q, "a", 0)
	left(t, q, "b", 1)
	done(t, first)
	if err := second.Requeue(t.Context(), 0); err != nil {
		t.Error(err)
	}
	if err := third.Drop(t.Context(), "cancelled"); err != nil {
		t.Error(err)
	}
	d := take(t, q)
	if d.Job != "b" {
		t.Errorf("took a unit of %s; want b", d.Job)
	}
	done(t, d)
	none(t, q, time.Second)
	if s, err := q.State(t.Context()); err != nil || s.Pending != 0 || s.InFlight != 0 {
		t.Errorf("state %+v, %v; want nothing left", s, err)
	}
}

func TestTakeEndsWithItsContext(t *testing.T) {
	q := connect(t, Options{URL: embedded(t).URL()})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	began := time.Now()
	if d, err := q.Take(ctx); !errors.Is(err, context.Canceled) || d != nil || time.Since(began) > time.Second {
		t.Errorf("take: %v, %v after %s; want nothing at once", d, err, time.Since(began))
	}
	// What comes after it has gone is for others.
	put(t, q, "a", 1)
	if d := take(t, q); d.Attempt != 1 {
		t.Errorf("attempt %d; want 1", d.Attempt)
	}
}

func TestJobs(t *testing.T) {
	q := connect(t, Options{URL: embedded(t).URL()})
	if jobs, err := q.Jobs(t.Context()); err != nil || len(jobs) != 0 {
		t.Fatalf("jobs of a new queue: %v, %v", jobs, err)
	}
	if _, err := q.Job(t.Context(), "a"); !errors.Is(err, ErrNoJob) {
		t.Errorf("job a: %v; want ErrNoJob", err)
	}
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	older := Job{ID: "a", Out: "s3://bucket/out", State: "running", Units: 7, Submitted: start}
	newer := Job{ID: "b", Out: "out", State: "running", Units: 8, Submitted: start.Add(time.Hour)}
	for _, job := range []Job{older, newer} {
		if err := q.Remember(t.Context(), job); err != nil {
			t.Fatal(err)
		}
	}
	older.State = "done"
	if err := q.Remember(t.Context(), older); err != nil {
		t.Fatal(err)
	}
	if job, err := q.Job(t.Context(), "a"); err != nil || job != older {
		t.Errorf("job a: %+v, %v; want %+v", job, err, older)
	}
	if jobs, err := q.Jobs(t.Context()); err != nil || len(jobs) != 2 || jobs[0] != newer || jobs[1] != older {
		t.Errorf("jobs: %+v, %v", jobs, err)
	}
}

// worked is what became of units: how often each was begun, and how often its end was confirmed.
type worked struct {
	mu        sync.Mutex
	begun     map[string]int
	confirmed map[string]int
}

// work takes units until none is left, with some workers on connections of their own.
func work(t *testing.T, o Options, job string, workers int, each time.Duration) *worked {
	t.Helper()
	w := &worked{begun: map[string]int{}, confirmed: map[string]int{}}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range workers {
		q := connect(t, o)
		all.Go(func() {
			for {
				d, err := q.Take(ctx)
				if ctx.Err() != nil {
					return
				}
				if err != nil {
					t.Errorf("take: %v", err)
					return
				}
				w.mu.Lock()
				w.begun[string(d.Body)]++
				w.mu.Unlock()
				time.Sleep(each)
				if err := d.Done(t.Context()); err != nil {
					t.Errorf("done: %v", err)
					continue
				}
				w.mu.Lock()
				w.confirmed[string(d.Body)]++
				w.mu.Unlock()
			}
		})
	}
	watcher := connect(t, o)
	for {
		n, err := watcher.Left(t.Context(), job)
		if err != nil {
			t.Errorf("left: %v", err)
			break
		}
		if n == 0 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	cancel()
	all.Wait()
	return w
}

// complete checks that all n units were begun, and says how many twice.
func (w *worked) complete(t *testing.T, n int) {
	t.Helper()
	twice := 0
	for i := range n {
		switch w.begun[fmt.Sprint(i)] {
		case 0:
			t.Errorf("unit %d was lost", i)
		case 1:
		default:
			twice++
		}
	}
	t.Logf("%d units, %d begun more than once", n, twice)
}
