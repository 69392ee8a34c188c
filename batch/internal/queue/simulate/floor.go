package main

import (
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/psi-shapley/psi/batch/internal/queue"
	"github.com/psi-shapley/psi/batch/internal/queue/cluster"
)

const job = "simulated"

// bodies makes units that contain their number.
func (t *trial) bodies() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for i := range t.Units {
			body := make([]byte, max(t.Body, 4))
			binary.BigEndian.PutUint32(body, uint32(i))
			if !yield(body, nil) {
				return
			}
		}
	}
}

// floor runs the workers and records what they did.
type floor struct {
	trial   *trial
	options queue.Options

	begun        []atomic.Uint32 // by unit: how often a worker began it
	confirmed    []atomic.Uint32 // by unit: how often the queue confirmed that it is done
	done         atomic.Int64    // units confirmed at least once
	crashes      atomic.Int64
	redeliveries atomic.Int64 // deliveries that were not the unit's first
	unconfirmed  atomic.Int64
}

func newFloor(t *trial, o queue.Options) *floor {
	return &floor{trial: t, options: o, begun: make([]atomic.Uint32, t.Units), confirmed: make([]atomic.Uint32, t.Units)}
}

// work runs the workers until the queue is empty.
func (f *floor) work(ctx context.Context, q *queue.Queue, servers *cluster.Cluster) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	fault := make(chan error, f.trial.Workers)
	var workers sync.WaitGroup
	for i := range f.trial.Workers {
		random := rand.New(rand.NewPCG(f.trial.Seed, uint64(i)))
		workers.Go(func() {
			if err := f.worker(ctx, random); err != nil {
				fault <- err
			}
		})
	}
	err := f.supervise(ctx, q, servers, fault)
	cancel()
	workers.Wait()
	return err
}

// supervise waits until no unit is left, and kills leaders on the way.
func (f *floor) supervise(ctx context.Context, q *queue.Queue, servers *cluster.Cluster, fault <-chan error) error {
	k := &killer{servers: servers}
	if f.trial.Kill {
		k.victims = []victim{{after: f.trial.Units / 3}, {after: 2 * f.trial.Units / 3, consumer: "workers"}}
	}
	var told time.Time
	began := time.Now()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-fault:
			return err
		case <-time.After(500 * time.Millisecond):
		}
		done := int(f.done.Load())
		if time.Since(told) > 15*time.Second {
			told = time.Now()
			note("%d done, %.0f/s, %d crashes", done, float64(done)/time.Since(began).Seconds(), f.crashes.Load())
		}
		if err := k.look(ctx, done); err != nil {
			return err
		}
		if done == f.trial.Units {
			if left, err := q.Left(ctx, job); err != nil || left == 0 {
				return err
			}
		}
	}
}

// killer kills leaders, and starts them again 10 s later.
type killer struct {
	servers *cluster.Cluster
	victims []victim
	down    *cluster.Node
	since   time.Time
}

// victim is a leader to kill, of the stream or of a consumer, after so many units.
type victim struct {
	after    int
	consumer string
}

func (k *killer) look(ctx context.Context, done int) error {
	switch {
	case k.down != nil && time.Since(k.since) > 10*time.Second:
		node := k.down
		k.down = nil
		note("start %s again", node)
		return node.Start()
	case k.down == nil && len(k.victims) > 0 && done > k.victims[0].after:
		leader, err := k.servers.Leader(ctx, "PSI_WORK", k.victims[0].consumer)
		if err != nil {
			return nil //nolint:nilerr // there is no leader now: next time
		}
		note("kill %s, the leader of PSI_WORK %s", leader, k.victims[0].consumer)
		leader.Kill()
		k.down, k.since, k.victims = leader, time.Now(), k.victims[1:]
	}
	return nil
}

// worker behaves like a process: one connection, one unit at a time. When it crashes, the connection breaks, nothing is
// acknowledged, and another worker starts.
func (f *floor) worker(ctx context.Context, random *rand.Rand) error {
	for ctx.Err() == nil {
		q, err := queue.Connect(ctx, f.options)
		if err == nil {
			err = f.shift(ctx, q, random)
			_ = q.Close()
		}
		if errors.Is(err, queue.ErrRefused) {
			return err
		}
		// Any other error also ends a process, and another one starts.
	}
	return nil
}

// shift is the life of a worker until it crashes.
func (f *floor) shift(ctx context.Context, q *queue.Queue, random *rand.Rand) error {
	for {
		d, err := q.Take(ctx)
		if err != nil {
			return err
		}
		unit := binary.BigEndian.Uint32(d.Body)
		f.begun[unit].Add(1)
		if d.Attempt > 1 {
			f.redeliveries.Add(1)
		}
		if random.Float64() < f.trial.Crash {
			f.crashes.Add(1)
			return nil
		}
		switch err := d.Done(ctx); {
		case errors.Is(err, queue.ErrUnconfirmed):
			f.unconfirmed.Add(1)
		case err != nil:
			return err
		case f.confirmed[unit].Add(1) == 1:
			f.done.Add(1)
		}
	}
}
