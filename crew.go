package psi

import (
	"context"
	"iter"
	"runtime"
	"sync"

	"github.com/psi-shapley/psi/internal/pipeline"
)

// crew is a model and copies of it that pass at once, as many as cores are kept busy by. Copies are made when they are needed.
type crew struct {
	free chan *Model // those that nobody uses; its capacity is how many there may be

	mu     sync.Mutex
	copies []*Model
}

// AtOnce is how many copies of the model, itself among them, keep all cores busy.
func (m *Model) AtOnce() int { return cap(m.crew.free) }

// Copy is a model that answers as this one does, at the same time. Both share what was learned; each is closed by itself.
func (m *Model) Copy() (*Model, error) {
	made := &Model{learned: m.learned}
	if err := made.begin(); err != nil {
		return nil, err
	}
	return made, nil
}

func (c *crew) begin(m *Model) {
	c.free = make(chan *Model, max(1, runtime.GOMAXPROCS(0)/m.backend.Cores()))
	c.free <- m
}

// take waits for the model or a copy of it.
func (c *crew) take(ctx context.Context, m *Model) (*Model, error) {
	select {
	case free := <-c.free:
		return free, nil
	default:
	}
	if made, err := c.another(m); made != nil || err != nil {
		return made, err
	}
	select {
	case free := <-c.free:
		return free, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// another is a new copy, or nil if there are enough.
func (c *crew) another(m *Model) (*Model, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if 1+len(c.copies) == cap(c.free) {
		return nil, nil
	}
	made, err := m.Copy()
	if err != nil {
		return nil, err
	}
	c.copies = append(c.copies, made)
	return made, nil
}

func (c *crew) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, made := range c.copies {
		made.Close()
	}
	c.copies = nil
}

// eachChunk computes f for every chunk of the rows, on all cores, and yields the results in order.
func eachChunk[T any](ctx context.Context, m *Model, rows Source, within span, unknown []string, f func(context.Context, *Model, *chunk) (T, error)) iter.Seq2[T, error] {
	chunks := func(ctx context.Context) iter.Seq2[*chunk, error] { return m.chunks(ctx, rows, within, unknown) }
	return pipeline.InOrder(ctx, m.AtOnce(), chunks, func(ctx context.Context, c *chunk) (result T, err error) {
		free, err := m.crew.take(ctx, m)
		if err != nil {
			return result, err
		}
		defer func() { m.crew.free <- free }()
		result, err = f(ctx, free, c)
		return result, notFinite(err, c.first)
	})
}
