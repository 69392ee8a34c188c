// Package pipeline overlaps reading, computing and writing.
package pipeline

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/psi-shapley/psi/table"
)

// depth is the number of chunks between two stages: enough to even out their pace, few enough to bound memory.
const depth = 2

// Ahead reads a source in the background.
type Ahead struct {
	table.Source
	chunks chan read
	stop   context.CancelFunc
	ended  chan struct{} // closed when the source is no longer used
}

type read struct {
	chunk *table.Table
	err   error
}

// ReadAhead starts reading a source in the background. The source must not be used directly afterwards.
func ReadAhead(ctx context.Context, source table.Source) *Ahead {
	ctx, stop := context.WithCancel(ctx)
	a := &Ahead{Source: source, chunks: make(chan read, depth), stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(a.ended)
		defer close(a.chunks)
		for {
			chunk, err := source.Next(ctx)
			select {
			case a.chunks <- read{chunk, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return a
}

// Next returns the next rows.
func (a *Ahead) Next(ctx context.Context) (*table.Table, error) {
	select {
	case r, ok := <-a.chunks:
		if !ok {
			return nil, context.Canceled
		}
		return r.chunk, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// maxCloseWait is the maximum time that Close waits for a source that ignores its context.
const maxCloseWait = 5 * time.Second

// Close stops reading and closes the source. If Next of the source does not return within maxCloseWait, Close returns
// an error and the source is closed later.
func (a *Ahead) Close() error {
	a.stop()
	select {
	case <-a.ended:
		return a.Source.Close()
	case <-time.After(maxCloseWait):
		go func() {
			<-a.ended
			_ = a.Source.Close() // read-only, and no caller waits any more
		}()
		return fmt.Errorf("reading did not end within %v", maxCloseWait)
	}
}

// WriteBehind computes results and writes them in the background, in order.
func WriteBehind[T any](ctx context.Context, compute func(context.Context) iter.Seq2[T, error], write func(context.Context, T) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	queue, done := make(chan T, depth), make(chan error, 1)
	go func() {
		var failure error
		for result := range queue { // drain the queue, so that the other side never blocks
			if failure == nil {
				if failure = write(ctx, result); failure != nil {
					stop()
				}
			}
		}
		done <- failure
	}()
	var failure error
	for result, err := range compute(ctx) {
		if err != nil {
			failure = err
			break
		}
		queue <- result
	}
	close(queue)
	if err := <-done; err != nil {
		return err // the earlier error, which stopped compute
	}
	return failure
}

// InOrder computes f for each item of in, up to atOnce concurrently, and yields the results in order. The first failure
// is the last result. The context of in and f ends when the caller stops ranging.
func InOrder[A, B any](ctx context.Context, atOnce int, in func(context.Context) iter.Seq2[A, error], f func(context.Context, A) (B, error)) iter.Seq2[B, error] {
	type result struct {
		value B
		err   error
	}
	return func(yield func(B, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		results := make(chan chan result, atOnce)
		defer func() {
			stop()
			for r := range results { // until nothing uses what the caller may close
				<-r
			}
		}()
		go func() {
			defer close(results)
			for a, err := range in(ctx) {
				r := make(chan result, 1)
				if err != nil {
					r <- result{err: err}
				} else {
					go func() {
						value, err := f(ctx, a)
						r <- result{value, err}
					}()
				}
				results <- r
				if err != nil || ctx.Err() != nil {
					return
				}
			}
		}()
		for r := range results {
			next := <-r
			if !yield(next.value, next.err) || next.err != nil {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			var none B
			yield(none, err)
		}
	}
}
