package batch

import (
	"context"
	"errors"
	"time"

	"github.com/psi-shapley/psi/batch/internal/queue"
)

// States of a job.
const (
	Stopped   = "stopped" // planned or interrupted: no queue has it
	Running   = "running"
	Finished  = "finished"
	Failed    = "failed" // finished, but some units failed
	Cancelled = "cancelled"
)

// Status is the progress of a job.
type Status struct {
	Schema string `json:"schema"` // psi.batch.status/v1
	*Job
	Out      string     `json:"out"`
	State    string     `json:"state"`
	Done     int        `json:"done"`     // units
	Failed   int        `json:"failed"`   // units
	Failures []*Failure `json:"failures"` // the first 1,000
}

const statusSchema = "psi.batch.status/v1"

// Status returns the progress of the job. While the job runs, it asks the queue; else it counts the parts, which takes one
// listing of Out. If the queue cannot be reached, Status returns the count of the parts together with an [ErrUnreachable].
func (r *Runner) Status(ctx context.Context) (*Status, error) {
	o, unreachable := r.open(ctx)
	if o == nil {
		return nil, unreachable
	}
	defer o.Close()
	s, err := o.status(ctx)
	if err != nil {
		return nil, err
	}
	return s, unreachable
}

// Await calls report with the status at every interval until the job does not run any more, and returns the last status. If
// the context ends before, the last status comes with the context's error.
func (r *Runner) Await(ctx context.Context, interval time.Duration, report func(*Status)) (*Status, error) {
	o, err := r.open(ctx)
	if o == nil {
		return nil, err
	}
	defer o.Close()
	if err != nil {
		return nil, err
	}
	return o.await(ctx, interval, report)
}

func (o *opened) await(ctx context.Context, interval time.Duration, report func(*Status)) (*Status, error) {
	for {
		s, err := o.status(ctx)
		if err != nil {
			return nil, err
		}
		report(s)
		if s.State != Running {
			return s, nil
		}
		select {
		case <-ctx.Done():
			return s, ctx.Err()
		case <-time.After(interval):
		}
	}
}

func (o *opened) status(ctx context.Context) (*Status, error) {
	s := &Status{Schema: statusSchema, Job: o.Job, Out: o.where, State: Stopped, Failures: []*Failure{}}
	for f, err := range failuresIn(ctx, o.out) {
		if err != nil {
			return nil, err
		}
		if s.Failed++; len(s.Failures) < maxFailures {
			s.Failures = append(s.Failures, f)
		}
	}
	if o.queue == nil {
		return s, o.count(ctx, s)
	}
	known, err := o.queue.Job(ctx, o.ID)
	if errors.Is(err, queue.ErrNoJob) {
		return s, o.count(ctx, s)
	}
	if err != nil {
		return nil, err
	}
	s.State = known.State
	if s.State != Running {
		return s, o.count(ctx, s)
	}
	left, err := o.queue.Left(ctx, o.ID)
	s.Done = max(0, o.Units-s.Failed-max(0, left-1)) // one message is the order to finish
	return s, err
}

// count counts the units by their parts.
func (o *opened) count(ctx context.Context, s *Status) error {
	parts, err := o.done(ctx, o.out)
	if err != nil {
		return err
	}
	for unit := range o.Units {
		if parts.has(unit) {
			s.Done++
		}
	}
	if s.State == Stopped && s.Done+s.Failed == o.Units {
		s.State = Finished
		if s.Failed > 0 {
			s.State = Failed
		}
	}
	return nil
}
