package queue

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/psi-shapley/psi/batch/internal/queue/cluster"
)

// servers is a cluster, each server a process of its own.
func servers(t *testing.T, n int) *cluster.Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	c, err := cluster.Start(ctx, t.TempDir(), n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c
}

// outage is how long servers are away: half a minute in earnest.
func outage() time.Duration {
	if os.Getenv("PSI_SLOW") != "" {
		return 30 * time.Second
	}
	return 2 * time.Second
}

// killLeader kills the leader of the stream or, if it is named, of the consumer.
func killLeader(t *testing.T, c *cluster.Cluster, consumer string) *cluster.Node {
	t.Helper()
	for {
		leader, err := c.Leader(t.Context(), stream, consumer)
		if err == nil {
			leader.Kill()
			t.Logf("killed %s, the leader of %s %s", leader, stream, consumer)
			return leader
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// caughtUp waits until all replicas of the work have what its leader has.
func caughtUp(t *testing.T, q *Queue) {
	t.Helper()
	for {
		info, err := q.work.Info(t.Context())
		if err == nil && info.Cluster != nil && len(info.Cluster.Replicas) == 2 && info.Cluster.Replicas[0].Current && info.Cluster.Replicas[1].Current {
			return
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// The leader of the stream is killed while units are put, and comes back; that of the consumer while they are worked on.
func TestNothingIsLostWithTheLeader(t *testing.T) {
	t.Parallel()
	const n = 6000
	c := servers(t, 3)
	o := Options{URL: c.URL(), AckWait: 2 * time.Second}
	q := connect(t, o)
	if replicas := q.work.CachedInfo().Config.Replicas; replicas != 3 {
		t.Fatalf("%d replicas in a cluster of three", replicas)
	}
	var killed *cluster.Node
	stored, err := q.Put(t.Context(), "a", func(yield func([]byte, error) bool) {
		i := 0
		for body := range numbered(n) {
			if i++; i == n/3 {
				killed = killLeader(t, c, "")
			}
			if !yield(body, nil) {
				return
			}
		}
	})
	if err != nil || stored != n {
		t.Fatalf("put: %d, %v", stored, err)
	}
	left(t, q, "a", n)
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	caughtUp(t, q) // two of three must be there when the next is killed
	var all sync.WaitGroup
	all.Go(func() {
		time.Sleep(time.Second)
		killLeader(t, c, consumer)
	})
	w := work(t, o, "a", 8, 0)
	all.Wait()
	w.complete(t, n)
}

func TestCallsWaitForTheQueue(t *testing.T) {
	t.Parallel()
	c := servers(t, 1)
	q := connect(t, Options{URL: c.URL(), AckWait: time.Second})
	put(t, q, "a", 1)
	held := take(t, q)

	node := c.Nodes[0]
	node.Kill()
	var all sync.WaitGroup
	all.Go(func() {
		if d := takeWithin(t, q, outage()+20*time.Second); d != nil {
			done(t, d)
		}
	})
	all.Go(func() {
		if err := held.Done(t.Context()); err != nil {
			t.Errorf("done: %v", err)
		}
	})
	all.Go(func() {
		if n, err := q.Put(t.Context(), "b", numbered(5000)); n != 5000 || err != nil {
			t.Errorf("put: %d, %v", n, err)
		}
	})
	all.Go(func() {
		if err := q.Remember(t.Context(), Job{ID: "b"}); err != nil {
			t.Errorf("remember: %v", err)
		}
	})
	short, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, err := q.Left(short, "a"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("left of a queue that is away: %v; want the context's end", err)
	}
	time.Sleep(outage())
	began := time.Now()
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	t.Logf("all went on %s after the servers came back", time.Since(began).Round(10*time.Millisecond))
	left(t, q, "a", 0)
	if n, err := q.Left(t.Context(), "b"); err != nil || n < 4999 || n > 5000 {
		t.Errorf("left of b: %d, %v; want 4999 or 5000, as the worker took one or the other", n, err)
	}
	if jobs, err := q.Jobs(t.Context()); err != nil || len(jobs) != 1 {
		t.Errorf("jobs: %v, %v", jobs, err)
	}
}

func takeWithin(t *testing.T, q *Queue, within time.Duration) *Delivery {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	d, err := q.Take(ctx)
	if err != nil {
		t.Errorf("take: %v", err)
	}
	return d
}

// A queue that is not there is said to be so, in time.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	var said []string
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := Connect(ctx, Options{URL: "nats://secret@127.0.0.1:1", Log: func(s string) { said = append(said, s) }})
	if err == nil || len(said) != 1 {
		t.Fatalf("connect: %v, said %q; want an error, and one line before it", err, said)
	}
	noSecret(t, err.Error()+said[0], "secret")
	t.Log(err)
}
