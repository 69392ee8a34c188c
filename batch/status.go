package batch

import (
	"context"
	"errors"
	"time"

	"github.com/psi-shapley/psi/batch/internal/queue"
	"github.com/psi-shapley/psi/internal/store"
)

// Planned is a job that no queue works on.
const Planned = "stopped"

// Status is how far a job is.
type Status struct {
	Schema string `json:"schema"`
	*Job
	Out      string     `json:"out"`
	State    string     `json:"state"`
	Done     int        `json:"done"`   // units
	Failed   int        `json:"failed"` // units
	Failures []*Failure `json:"failures"`
}

const statusSchema = "psi.batch.status/v1"

// Watch is a job that is looked at again and again.
type Watch struct {
	job   *Job
	where string
	out   *store.Location
	queue *queue.Queue // nil: none is running
}

// Look finds a job. Without a queue, what is done is seen by the parts alone.
func Look(ctx context.Context, at *QueueAt, where string) (*Watch, error) {
	w := &Watch{where: where}
	var err error
	if at == nil {
		if w.out, err = locationOf(ctx, where); err != nil {
			return nil, err
		}
		if w.job, err = Read(ctx, w.out); err != nil {
			return nil, errors.Join(err, w.out.Close())
		}
		return w, nil
	}
	w.queue, w.out, w.job, err = reach(ctx, *at, where)
	return w, err
}

// Find is where the result of a job lies, by what a queue knows.
func Find(ctx context.Context, at QueueAt, id string) (string, error) {
	q, err := queue.Connect(ctx, at)
	if err != nil {
		return "", err
	}
	defer q.Close()
	job, err := q.Job(ctx, id)
	return job.Out, err
}

// Jobs are those that a queue knows.
func Jobs(ctx context.Context, at QueueAt) ([]queue.Job, error) {
	q, err := queue.Connect(ctx, at)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	return q.Jobs(ctx)
}

// Status is how far the job is now.
func (w *Watch) Status(ctx context.Context) (*Status, error) {
	s := &Status{Schema: statusSchema, Job: w.job, Out: w.where, State: Planned, Failures: []*Failure{}}
	for f, err := range Failures(ctx, w.out) {
		if err != nil {
			return nil, err
		}
		if s.Failed++; len(s.Failures) < maxFailures {
			s.Failures = append(s.Failures, f)
		}
	}
	if w.queue == nil {
		return s, w.count(ctx, s)
	}
	known, err := w.queue.Job(ctx, w.job.ID)
	if errors.Is(err, queue.ErrNoJob) {
		return s, w.count(ctx, s)
	}
	if err != nil {
		return nil, err
	}
	s.State = known.State
	if s.State != Running {
		return s, w.count(ctx, s)
	}
	left, err := w.queue.Left(ctx, w.job.ID)
	s.Done = max(0, w.job.Units-s.Failed-max(0, left-1)) // one message is the word to finish
	return s, err
}

// count looks which parts are there.
func (w *Watch) count(ctx context.Context, s *Status) error {
	parts, err := w.job.done(ctx, w.out)
	if err != nil {
		return err
	}
	for unit := range w.job.Units {
		if parts.has(unit) {
			s.Done++
		}
	}
	if s.State == Planned && s.Done+s.Failed == w.job.Units {
		s.State = Finished
		if s.Failed > 0 {
			s.State = Failed
		}
	}
	return nil
}

// Summary is what came of the job, once it is finished.
func (w *Watch) Summary(ctx context.Context) (*Summary, error) {
	return ReadSummary(ctx, w.out, SummaryKey)
}

// Await looks at the job every moment until it is settled.
func (w *Watch) Await(ctx context.Context, every time.Duration, tell func(*Status)) (*Status, error) {
	for {
		s, err := w.Status(ctx)
		if err != nil {
			return nil, err
		}
		tell(s)
		if s.State != Running {
			return s, nil
		}
		select {
		case <-ctx.Done():
			return s, ctx.Err()
		case <-time.After(every):
		}
	}
}

// Close lets go of queue and place.
func (w *Watch) Close() error {
	if w.queue != nil {
		_ = w.queue.Close()
	}
	return w.out.Close()
}
