package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/batch/internal/queue"
)

// QueueAt says where the queue is, and who asks.
type QueueAt = queue.Options

// message is a unit on its way, or the word that all units are out and the job is to be finished.
type message struct {
	Out    string `json:"out"`
	Unit   *Unit  `json:"unit,omitempty"`
	Finish bool   `json:"finish,omitempty"`
}

// Worker explains units of whatever jobs are in a queue, one at a time.
type Worker struct {
	Queue   QueueAt
	Backend psi.Backend   // of the models; "" is Auto
	Drain   time.Duration // that a unit under way has when the worker is told to stop
	Log     *slog.Logger
	Metrics *Metrics

	UntilEmpty bool // end once the queue has nothing more, not even with other workers

	queue *queue.Queue
	tasks openTasks
}

// openJobs is how many jobs a worker has open at a time, each with its model.
const openJobs = 2

// settling is the time that telling the queue may take when the worker is about to end.
const settling = 5 * time.Second

// Run works until its context ends; then the unit under way is completed, if that can be done in time, or put back.
func (w *Worker) Run(ctx context.Context) error {
	var err error
	if w.queue, err = queue.Connect(ctx, w.Queue); err != nil {
		return err
	}
	defer w.queue.Close()
	defer w.tasks.close()
	w.Metrics.watch(w.queue)
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	context.AfterFunc(ctx, func() { time.AfterFunc(w.Drain, stop) })
	taking, enough := context.WithCancel(ctx)
	defer enough()
	if w.UntilEmpty {
		go w.awaitEmpty(taking, enough)
	}
	w.Log.Info("ready for units")
	for {
		d, err := w.queue.Take(taking)
		if taking.Err() != nil {
			if d != nil { // it came too late
				w.settle(d.Again, 0)
			}
			return nil
		}
		if err != nil {
			return err
		}
		w.handle(work, d)
	}
}

// awaitEmpty looks at the queue until nothing is left in it. What another worker has may come back, so it counts.
func (w *Worker) awaitEmpty(ctx context.Context, enough func()) {
	for {
		if s, err := w.queue.State(ctx); err == nil && s.Pending+s.InFlight == 0 {
			w.Log.Info("the queue is empty")
			enough()
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(2 * time.Second):
		}
	}
}

// handle does what a message says and settles it.
func (w *Worker) handle(ctx context.Context, d *queue.Delivery) {
	var m message
	if err := json.Unmarshal(d.Body, &m); err != nil || m.Unit == nil && !m.Finish {
		w.Log.Error("a message that is no unit was dropped", "job", d.Job)
		w.told(d.Drop(ctx, "this is no unit"))
		return
	}
	if d.Attempt > 1 && !m.Finish {
		w.Metrics.redelivered.Inc()
	}
	var t *task
	err := patiently(ctx, w.tell("the job cannot be opened", d.Job), func() (err error) {
		t, err = w.tasks.open(ctx, m.Out, d.Job, w.Backend)
		return err
	})
	switch {
	case ctx.Err() != nil:
		w.settle(d.Again, 0)
	case err != nil:
		// Nothing is known of the job, so nothing can be written down: the unit stays until somebody mends OUT or cancels.
		w.Log.Error("the job cannot be opened", "job", d.Job, "error", err)
		w.settle(d.Again, time.Minute)
	case m.Finish:
		w.finish(ctx, d, t, m.Out)
	default:
		w.unit(ctx, d, t, m.Unit)
	}
}

// unit explains a unit, or tries again, or gives it up.
func (w *Worker) unit(ctx context.Context, d *queue.Delivery, t *task, u *Unit) {
	about := w.Log.With("job", t.ID, "unit", u.Number, "file", t.file(u), "attempt", d.Attempt)
	if d.Attempt > deliveries {
		w.giveUp(ctx, d, t, failureOf(t.Job, u, fmt.Errorf("it was handed out %d times, and every worker died or found no store", d.Attempt-1), d.Attempt-1))
		return
	}
	start := time.Now()
	var did moved
	err := patiently(ctx, func(err error) { about.Warn("waiting", "error", err) }, func() (err error) {
		did, err = t.do(ctx, u)
		return err
	})
	switch {
	case err == nil:
		about.Info("done", "rows", did.rows, "seconds", time.Since(start).Seconds())
		w.Metrics.did(done, did, time.Since(start))
		w.told(d.Done(ctx))
	case ctx.Err() != nil:
		about.Info("put back, as this worker is stopping")
		w.settle(d.Again, 0)
	case passing(err):
		about.Warn("put back", "error", err)
		w.Metrics.did(retried, moved{}, time.Since(start))
		w.settle(d.Again, time.Minute)
	case d.Attempt < failures:
		about.Warn("failed, will be tried again", "error", err)
		w.Metrics.did(retried, moved{}, time.Since(start))
		w.settle(d.Again, firstRest<<d.Attempt)
	default:
		about.Error("given up", "error", err)
		w.giveUp(ctx, d, t, failureOf(t.Job, u, err, d.Attempt))
	}
}

// giveUp writes down why, and only then lets go of the unit.
func (w *Worker) giveUp(ctx context.Context, d *queue.Delivery, t *task, f *Failure) {
	err := patiently(ctx, w.tell("a failure cannot be written down", t.ID), func() error {
		return writing(writeJSON(ctx, t.out, failedKey(f.Unit), f))
	})
	if err != nil {
		w.settle(d.Again, time.Minute)
		return
	}
	w.Metrics.did(failed, moved{}, 0)
	w.told(d.Drop(ctx, f.Message))
}

// finish sums the job up if all its units are settled; else it waits in the queue.
func (w *Worker) finish(ctx context.Context, d *queue.Delivery, t *task, out string) {
	left, err := w.queue.Left(ctx, t.ID)
	if err != nil || left > 1 {
		w.settle(d.Again, 2*time.Second)
		return
	}
	var s *Summary
	err = patiently(ctx, w.tell("the job cannot be finished", t.ID), func() (err error) {
		s, err = t.finish(ctx)
		return err
	})
	if lost, is := errors.AsType[*lostError](err); is {
		w.Log.Warn("parts are not there: their units are done again", "job", t.ID, "units", len(lost.units))
		if err = put(ctx, w.queue, t.Job, out, listed(lost.units)); err == nil {
			w.told(d.Done(ctx))
			return
		}
	}
	if err == nil {
		err = remember(ctx, w.queue, t.Job, out, s.state())
	}
	if err != nil {
		w.Log.Error("the job cannot be finished", "job", t.ID, "error", err)
		w.settle(d.Again, time.Minute)
		return
	}
	w.Log.Info("the job is finished", "job", t.ID, "rows", s.Rows, "failed", s.Failed)
	w.told(d.Done(ctx))
}

// settle tells the queue although the worker may be about to end.
func (w *Worker) settle(how func(context.Context, time.Duration) error, after time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), settling)
	defer cancel()
	w.told(how(ctx, after))
}

// told notes what the queue did not hear. Nothing is lost: it hands the unit out again, and its part is written again as it was.
func (w *Worker) told(err error) {
	if err != nil {
		w.Log.Warn("the queue did not confirm; the unit may be done again", "error", err)
	}
}

func (w *Worker) tell(what, job string) func(error) {
	return func(err error) { w.Log.Warn(what+"; waiting", "job", job, "error", err) }
}

// openTasks is the jobs that a worker has open, the last used first.
type openTasks struct{ tasks []*task }

func (s *openTasks) open(ctx context.Context, out, job string, backend psi.Backend) (*task, error) {
	for i, t := range s.tasks {
		if t.ID == job {
			copy(s.tasks[1:i+1], s.tasks[:i])
			s.tasks[0] = t
			return t, nil
		}
	}
	t, err := open(ctx, out, backend)
	if err != nil {
		return nil, err
	}
	if t.ID != job {
		t.close()
		return nil, fmt.Errorf("%s holds the job %s, not %s", out, t.ID, job)
	}
	if s.tasks = append([]*task{t}, s.tasks...); len(s.tasks) > openJobs {
		s.tasks[openJobs].close()
		s.tasks = s.tasks[:openJobs]
	}
	return t, nil
}

func (s *openTasks) close() {
	for _, t := range s.tasks {
		t.close()
	}
}
