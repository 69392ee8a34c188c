package batch

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/psi-shapley/psi/batch/internal/queue"
)

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
		units:       prometheus.NewCounterVec(prometheus.CounterOpts{Name: "psi_batch_units_total", Help: "Units by what became of them."}, []string{"outcome"}),
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

func (m *metrics) did(outcome string, what moved, took time.Duration) {
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
