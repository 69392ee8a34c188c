package batch

import (
	"context"
	"time"

	"github.com/psi-shapley/psi/internal/store"
)

// How long work that a store's or a disk's trouble holds up is tried again before the unit goes back to the queue.
const (
	patience  = 10 * time.Minute
	firstRest = time.Second
	maxRest   = 15 * time.Second
)

// patiently does something again and again while what fails may pass. It tells of the first failure and then now and then.
func patiently(ctx context.Context, tell func(error), do func() error) error {
	start, rest, told := time.Now(), firstRest, time.Time{}
	for {
		err := do()
		if err == nil || ctx.Err() != nil || !passing(err) || time.Since(start) > patience {
			return err
		}
		if tell != nil && time.Since(told) > time.Minute {
			tell(err)
			told = time.Now()
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(rest):
		}
		rest = min(2*rest, maxRest)
	}
}

// passing tells what is no fault of the rows: a store that is down, and whatever keeps a result from being written.
func passing(err error) bool { return store.Passing(err) || isWriting(err) }
