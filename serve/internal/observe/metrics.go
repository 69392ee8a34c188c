package observe

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Unknown is what the label model says of a name that no loaded model has, so that callers cannot make labels.
const Unknown = "unknown"

// Refusal is why a request was turned away.
type Refusal string

// The refusals.
const (
	QueueFull    Refusal = "queue_full"     // more rows wait than may
	MemoryFull   Refusal = "memory_full"    // more bytes of requests are held than may
	TooManyRows  Refusal = "too_many_rows"  // in one request
	BodyTooLarge Refusal = "body_too_large" // of one request
	RateLimit    Refusal = "rate_limit"     // of one caller
	Denied       Refusal = "denied"         // who it is, or what it may
	Deadline     Refusal = "deadline"       // the request's time was over before its pass
	Draining     Refusal = "draining"       // the server is about to end
)

var refusals = []Refusal{QueueFull, MemoryFull, TooManyRows, BodyTooLarge, RateLimit, Denied, Deadline, Draining}

// What times and rows are counted by: from half a millisecond to half a minute, and from one row to more than a pass.
var (
	timeBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	rowBuckets  = prometheus.ExponentialBuckets(1, 2, 13)
)

// Metrics counts what a server does. All methods may be called concurrently.
type Metrics struct {
	registry *prometheus.Registry

	requests         *prometheus.CounterVec
	requestDuration  *prometheus.HistogramVec
	rows             *prometheus.CounterVec
	passDuration     *prometheus.HistogramVec
	passRows         *prometheus.HistogramVec
	queueRows        *prometheus.GaugeVec
	queueWait        *prometheus.HistogramVec
	refused          map[Refusal]prometheus.Counter
	inflightRequests prometheus.Gauge
	inflightBytes    prometheus.Gauge
	info             *prometheus.GaugeVec
	loads            *prometheus.CounterVec
	stages           [stageCount]*prometheus.HistogramVec

	// mu is held for reading while a label of a model may be made, and for writing while those of a model are deleted:
	// or a request that ends late would bring back a model that is gone.
	mu     sync.RWMutex
	loaded map[string]map[ModelInfo]int // by name: how often each was loaded
}

// NewMetrics has counters at 0, and those of Go and of the process.
func NewMetrics() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), loaded: map[string]map[ModelInfo]int{}, refused: map[Refusal]prometheus.Counter{}}
	m.Register(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))

	m.requests = m.counters("psi_requests_total", "Requests that ended.", "protocol", "route", "model", "code")
	m.requestDuration = m.histograms("psi_request_duration_seconds", "Time from a request's first byte to its answer's last.", timeBuckets, "protocol", "route")
	m.rows = m.counters("psi_rows_total", "Rows that went through a pass, by how much the pass found out.", "model", "version", "depth")
	m.passDuration = m.histograms("psi_pass_duration_seconds", "Time of a pass through the network.", timeBuckets, "model")
	m.passRows = m.histograms("psi_pass_rows", "Rows of all requests that shared a pass.", rowBuckets, "model")
	m.queueRows = m.gauges("psi_queue_rows", "Rows that wait for a pass.", "model")
	m.queueWait = m.histograms("psi_queue_wait_seconds", "Time that a request's rows waited for their pass.", timeBuckets, "model")
	refused := m.counters("psi_refused_total", "Requests that were turned away.", "reason")
	for _, reason := range refusals {
		m.refused[reason] = refused.WithLabelValues(string(reason))
	}
	m.inflightRequests = m.gauges("psi_inflight_requests", "Requests under way.").WithLabelValues()
	m.inflightBytes = m.gauges("psi_inflight_bytes", "Bytes of the bodies of requests under way.").WithLabelValues()
	m.info = m.gauges("psi_model_info", "Models that are loaded; always 1.", "model", "version", "digest", "head", "backend")
	m.loads = m.counters("psi_model_loads_total", "Loads of models, by whether they succeeded.", "model", "outcome")
	for stage := range m.stages {
		m.stages[stage] = m.histograms("request_"+stageNames[stage]+"_seconds", stageHelps[stage], timeBuckets, "model_name")
	}
	return m
}

func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.Register(v)
	return v
}

func (m *Metrics) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	m.Register(v)
	return v
}

func (m *Metrics) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	m.Register(v)
	return v
}

// Register adds collectors, such as a Drift and an ExplanationLog. It panics if one of the same metrics is there.
func (m *Metrics) Register(more ...prometheus.Collector) { m.registry.MustRegister(more...) }

// Handler answers with all metrics, as Prometheus's text or as OpenMetrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		EnableOpenMetrics: true,
		ErrorHandling:     promhttp.ContinueOnError, // the rest is worth having
	})
}

// Refused counts a request that was turned away.
func (m *Metrics) Refused(reason Refusal) { m.refused[reason].Inc() }

// HeldBytes adds to the bytes of bodies that are held, or takes from them.
func (m *Metrics) HeldBytes(change int) { m.inflightBytes.Add(float64(change)) }

// Route counts the requests of one protocol and route.
type Route struct {
	metrics         *Metrics
	protocol, route string
	duration        prometheus.Observer
}

// Route is made once for each route, which is a pattern such as /v2/models/{model}/infer and never a path.
func (m *Metrics) Route(protocol, route string) *Route {
	return &Route{m, protocol, route, m.requestDuration.WithLabelValues(protocol, route)}
}

// Started counts a request as under way.
func (r *Route) Started() { r.metrics.inflightRequests.Inc() }

// Ended counts a request that had Started. The model is the name that was asked for, or empty on a route without
// one; a name that no loaded model has is counted as Unknown. The code is of the protocol: "200", "OK".
func (r *Route) Ended(model, code string, took time.Duration) {
	m := r.metrics
	m.inflightRequests.Dec()
	r.duration.Observe(took.Seconds())
	m.mu.RLock()
	defer m.mu.RUnlock()
	m.requests.WithLabelValues(r.protocol, r.route, m.label(model), code).Inc()
}

// label is what the label model says of a name. The caller holds mu.
func (m *Metrics) label(model string) string {
	if model == "" || m.loaded[model] != nil {
		return labelValue(model)
	}
	return Unknown
}

// labelValue is text as labels may have it.
func labelValue(text string) string { return strings.ToValidUTF8(text, "�") }
