package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/batch/internal/queue"
)

// message is a unit in the queue, or the order to finish the job after its last unit.
type message struct {
	Out    string `json:"out"`
	Unit   *unit  `json:"unit,omitempty"`
	Finish bool   `json:"finish,omitempty"`
}

// Worker runs units of any job in a shared queue, one at a time. It uses about one core: start one for each.
type Worker struct {
	Queue      Queue
	Backend    psi.Backend   // backend of the models; "" means psi.Auto
	Drain      time.Duration // shutdown timeout: how long the current unit may still run
	Log        *slog.Logger  // nil means none
	UntilEmpty bool          // stop when the queue is empty and no worker has a unit

	once    sync.Once
	metrics *metrics
	queue   *queue.Queue
	tasks   openTasks
}

// openJobs is the maximum number of jobs that a worker has open, each with its model.
const openJobs = 2

// settleTimeout is the timeout of the last message to the queue when the worker stops.
const settleTimeout = 5 * time.Second

// Run runs units until the context ends, or with UntilEmpty until no unit is left. Then it finishes the current unit within
// Drain, or returns it to the queue. Errors of units are logged and recorded in the results; Run itself fails only if the
// queue refuses it.
func (w *Worker) Run(ctx context.Context) error {
	w.prepare()
	var err error
	if w.queue, err = w.Queue.connect(ctx); err != nil {
		return err
	}
	defer w.queue.Close()
	defer w.tasks.close()
	w.metrics.watch(w.queue)
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
				w.settle(d.Requeue, 0)
			}
			return nil
		}
		if err != nil {
			return err
		}
		w.handle(work, d)
	}
}

// Metrics returns a handler of Prometheus metrics: the units, rows and bytes of this worker, and the state of the queue.
func (w *Worker) Metrics() http.Handler {
	w.prepare()
	return w.metrics.handler()
}

// prepare sets what Run and Metrics need.
func (w *Worker) prepare() {
	w.once.Do(func() {
		w.metrics = newMetrics()
		if w.Log == nil {
			w.Log = slog.New(slog.DiscardHandler)
		}
	})
}

// awaitEmpty waits until the queue is empty. Units of other workers count, since they may come back.
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

// handle executes a message and settles it.
func (w *Worker) handle(ctx context.Context, d *queue.Delivery) {
	var m message
	if err := json.Unmarshal(d.Body, &m); err != nil || m.Unit == nil && !m.Finish {
		w.Log.Error("dropped a message that is not a unit", "job", d.Job)
		w.logUnconfirmed(d.Drop(ctx, "not a unit"))
		return
	}
	if d.Attempt > 1 && !m.Finish {
		w.metrics.redelivered.Inc()
	}
	var t *task
	err := retry(ctx, w.logRetry("the job cannot be opened", d.Job), func() (err error) {
		t, err = w.tasks.open(ctx, m.Out, d.Job, w.Backend)
		return err
	})
	switch {
	case ctx.Err() != nil:
		w.settle(d.Requeue, 0)
	case err != nil:
		// Without the job no failure can be recorded: the unit stays until OUT is readable again or the job is cancelled.
		w.Log.Error("the job cannot be opened", "job", d.Job, "error", err)
		w.settle(d.Requeue, time.Minute)
	case m.Finish:
		w.finish(ctx, d, t, m.Out)
	default:
		w.unit(ctx, d, t, m.Unit)
	}
}

// unit runs a unit. If that fails, the unit is tried again or, after too many attempts, recorded as failed.
func (w *Worker) unit(ctx context.Context, d *queue.Delivery, t *task, u *unit) {
	about := w.Log.With("job", t.ID, "unit", u.Number, "file", t.file(u), "attempt", d.Attempt)
	if d.Attempt > deliveries {
		w.giveUp(ctx, d, t, failureOf(t.Job, u, fmt.Errorf("it was handed out %d times, and every worker died or found no store", d.Attempt-1), d.Attempt-1))
		return
	}
	start := time.Now()
	var did unitStats
	err := retry(ctx, func(err error) { about.Warn("waiting", "error", err) }, func() (err error) {
		did, err = t.do(ctx, u)
		return err
	})
	switch {
	case err == nil:
		about.Info("done", "rows", did.rows, "seconds", time.Since(start).Seconds())
		w.metrics.did(done, did, time.Since(start))
		w.logUnconfirmed(d.Done(ctx))
	case ctx.Err() != nil:
		about.Info("put back, as this worker is stopping")
		w.settle(d.Requeue, 0)
	case isTransient(err):
		about.Warn("put back", "error", err)
		w.metrics.did(retried, unitStats{}, time.Since(start))
		w.settle(d.Requeue, time.Minute)
	case d.Attempt < failures:
		about.Warn("failed, will be tried again", "error", err)
		w.metrics.did(retried, unitStats{}, time.Since(start))
		w.settle(d.Requeue, minBackoff<<d.Attempt)
	default:
		about.Error("given up", "error", err)
		w.giveUp(ctx, d, t, failureOf(t.Job, u, err, d.Attempt))
	}
}

// giveUp records a failure, and only then removes the unit from the queue.
func (w *Worker) giveUp(ctx context.Context, d *queue.Delivery, t *task, f *Failure) {
	err := retry(ctx, w.logRetry("a failure cannot be written down", t.ID), func() error {
		return writing(writeJSON(ctx, t.out, failedKey(f.Unit), f))
	})
	if err != nil {
		w.settle(d.Requeue, time.Minute)
		return
	}
	w.metrics.did(failed, unitStats{}, 0)
	w.logUnconfirmed(d.Drop(ctx, f.Message))
}

// finish writes the summary of the job if all its units are settled. Else the order goes back to the queue.
func (w *Worker) finish(ctx context.Context, d *queue.Delivery, t *task, out string) {
	left, err := w.queue.Left(ctx, t.ID)
	if err != nil || left > 1 {
		w.settle(d.Requeue, 2*time.Second)
		return
	}
	var s *Summary
	err = retry(ctx, w.logRetry("the job cannot be finished", t.ID), func() (err error) {
		s, err = t.finish(ctx)
		return err
	})
	if lost, is := errors.AsType[*lostError](err); is {
		w.Log.Warn("parts are missing: repeating their units", "job", t.ID, "units", len(lost.units))
		if err = put(ctx, w.queue, t.Job, out, listed(lost.units)); err == nil {
			w.logUnconfirmed(d.Done(ctx))
			return
		}
	}
	if err == nil {
		err = remember(ctx, w.queue, t.Job, out, s.state())
	}
	if err != nil {
		w.Log.Error("the job cannot be finished", "job", t.ID, "error", err)
		w.settle(d.Requeue, time.Minute)
		return
	}
	w.Log.Info("the job is finished", "job", t.ID, "rows", s.Rows, "failed", s.Failed)
	w.logUnconfirmed(d.Done(ctx))
}

// settle returns a delivery to the queue, even if the context of the worker has ended.
func (w *Worker) settle(how func(context.Context, time.Duration) error, after time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), settleTimeout)
	defer cancel()
	w.logUnconfirmed(how(ctx, after))
}

// logUnconfirmed logs that the queue did not confirm. Nothing is lost: the queue hands the unit out again, and the same
// part is written again.
func (w *Worker) logUnconfirmed(err error) {
	if err != nil {
		w.Log.Warn("the queue did not confirm; the unit may be done again", "error", err)
	}
}

func (w *Worker) logRetry(what, job string) func(error) {
	return func(err error) { w.Log.Warn(what+"; waiting", "job", job, "error", err) }
}

// openTasks holds the jobs that a worker has open, the last used first.
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

// Outcomes of a unit.
const (
	done    = "done"
	retried = "retried"
	failed  = "failed"
)

// metrics counts what a worker does. A scrape also asks the queue for its state.
type metrics struct {
	registry    *prometheus.Registry
	units       *prometheus.CounterVec
	rows        prometheus.Counter
	bytes       *prometheus.CounterVec
	seconds     prometheus.Histogram
	redelivered prometheus.Counter
}

func newMetrics() *metrics {
	m := &metrics{
		registry:    prometheus.NewRegistry(),
		units:       prometheus.NewCounterVec(prometheus.CounterOpts{Name: "psi_batch_units_total", Help: "Units by outcome."}, []string{"outcome"}),
		rows:        prometheus.NewCounter(prometheus.CounterOpts{Name: "psi_batch_rows_total", Help: "Rows explained."}),
		bytes:       prometheus.NewCounterVec(prometheus.CounterOpts{Name: "psi_batch_bytes_total", Help: "Bytes read from and written to where tables lie."}, []string{"direction"}),
		seconds:     prometheus.NewHistogram(prometheus.HistogramOpts{Name: "psi_batch_unit_seconds", Help: "Time of a unit that was done.", Buckets: prometheus.ExponentialBuckets(.25, 2, 12)}),
		redelivered: prometheus.NewCounter(prometheus.CounterOpts{Name: "psi_batch_redelivered_total", Help: "Units that were handed out before."}),
	}
	m.registry.MustRegister(m.units, m.rows, m.bytes, m.seconds, m.redelivered, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, outcome := range []string{done, retried, failed} {
		m.units.WithLabelValues(outcome)
	}
	return m
}

func (m *metrics) did(outcome string, what unitStats, took time.Duration) {
	m.units.WithLabelValues(outcome).Inc()
	if outcome != done {
		return
	}
	m.rows.Add(float64(what.rows))
	m.bytes.WithLabelValues("read").Add(float64(what.read))
	m.bytes.WithLabelValues("written").Add(float64(what.wrote))
	m.seconds.Observe(took.Seconds())
}

// watch adds the state of the queue.
func (m *metrics) watch(q *queue.Queue) { m.registry.MustRegister(&depth{q}) }

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// depth collects the state of the queue.
type depth struct{ queue *queue.Queue }

var (
	pendingDesc  = prometheus.NewDesc("psi_batch_queue_pending", "Units in the queue that no worker has.", nil, nil)
	inFlightDesc = prometheus.NewDesc("psi_batch_queue_in_flight", "Units that workers have.", nil, nil)
	waitingDesc  = prometheus.NewDesc("psi_batch_queue_waiting", "Workers that wait for a unit.", nil, nil)
)

// Describe implements prometheus.Collector.
func (*depth) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{pendingDesc, inFlightDesc, waitingDesc} {
		to <- desc
	}
}

// Collect implements prometheus.Collector. A queue that does not answer has no metrics.
func (d *depth) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	s, err := d.queue.State(ctx)
	if err != nil {
		return
	}
	for desc, value := range map[*prometheus.Desc]int{pendingDesc: s.Pending, inFlightDesc: s.InFlight, waitingDesc: s.Waiting} {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value))
	}
}
