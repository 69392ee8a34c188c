package observe

import (
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Unknown is the label model of a name that no loaded model has, so that callers cannot create labels.
const Unknown = "unknown"

// Refusal is the reason why a request was refused, as a label.
type Refusal string

// The refusals.
const (
	QueueFull    Refusal = "queue_full"     // too many rows wait
	MemoryFull   Refusal = "memory_full"    // requests hold too many bytes
	TooManyRows  Refusal = "too_many_rows"  // in one request
	BodyTooLarge Refusal = "body_too_large" // of one request
	RateLimit    Refusal = "rate_limit"     // of one caller
	Denied       Refusal = "denied"         // authentication or permission
	Deadline     Refusal = "deadline"       // the request timed out before its pass
	Draining     Refusal = "draining"       // the server is starting or stopping
)

var refusals = []Refusal{QueueFull, MemoryFull, TooManyRows, BodyTooLarge, RateLimit, Denied, Deadline, Draining}

// Buckets of times, from half a millisecond to half a minute, and of rows, from one to more than a pass.
var (
	timeBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	rowBuckets  = prometheus.ExponentialBuckets(1, 2, 13)
)

// Metrics holds the Prometheus metrics of a server. It is safe for concurrent use.
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

	// mu is held for reading while a label of a model may be created, and for writing while those of a model are deleted.
	// Else a request that ends late would bring back a model that is gone.
	mu     sync.RWMutex
	loaded map[string]map[ModelInfo]int // by name: how often each was loaded
}

// NewMetrics returns metrics at 0, with those of Go and of the process.
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
	m.inflightRequests = m.gauges("psi_inflight_requests", "Requests in progress.").WithLabelValues()
	m.inflightBytes = m.gauges("psi_inflight_bytes", "Bytes of the bodies of requests in progress.").WithLabelValues()
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

// Register adds collectors, such as a Drift and an ExplanationLog. It panics if a metric is registered already.
func (m *Metrics) Register(more ...prometheus.Collector) { m.registry.MustRegister(more...) }

// Handler returns a handler of all metrics, as Prometheus text or OpenMetrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		EnableOpenMetrics: true,
		ErrorHandling:     promhttp.ContinueOnError, // the rest is worth having
	})
}

// Refused counts a refused request.
func (m *Metrics) Refused(reason Refusal) { m.refused[reason].Inc() }

// HeldBytes changes the number of bytes that requests hold by n.
func (m *Metrics) HeldBytes(change int) { m.inflightBytes.Add(float64(change)) }

// Route counts the requests of one protocol and route.
type Route struct {
	metrics         *Metrics
	protocol, route string
	duration        prometheus.Observer
}

// Route returns the counters of a route, which is a pattern such as /v2/models/{model}/infer and never a path. Create it
// once.
func (m *Metrics) Route(protocol, route string) *Route {
	return &Route{m, protocol, route, m.requestDuration.WithLabelValues(protocol, route)}
}

// Started counts a request in progress.
func (r *Route) Started() { r.metrics.inflightRequests.Inc() }

// Ended counts the end of a request after Started. model is the name that the caller asked for, or "" on a route without
// one; names of no loaded model count as Unknown. code is the status of the protocol: "200", "OK".
func (r *Route) Ended(model, code string, took time.Duration) {
	m := r.metrics
	m.inflightRequests.Dec()
	r.duration.Observe(took.Seconds())
	m.mu.RLock()
	defer m.mu.RUnlock()
	m.requests.WithLabelValues(r.protocol, r.route, m.label(model), code).Inc()
}

// label returns the value of the label model for a name. The caller holds mu.
func (m *Metrics) label(model string) string {
	if model == "" || m.loaded[model] != nil {
		return labelValue(model)
	}
	return Unknown
}

// labelValue makes a text valid as a label.
func labelValue(text string) string { return strings.ToValidUTF8(text, "�") }

// Stage is a stage of a request, with the names of KServe's metrics.
type Stage int

// The stages.
const (
	Preprocess Stage = iota
	Predict
	Explain
	Postprocess

	stageCount = iota
)

var (
	stageNames = [stageCount]string{"preprocess", "predict", "explain", "postprocess"}
	stageHelps = [stageCount]string{
		"Time to read the rows of a request.",
		"Time to predict the rows of a request.",
		"Time to explain the rows of a request.",
		"Time to write the answer to a request.",
	}
)

// ModelInfo identifies a loaded model.
type ModelInfo struct{ Model, Version, Digest, Head, Backend string }

// ModelMetrics holds the metrics of one loaded model.
type ModelMetrics struct {
	metrics  *Metrics
	info     ModelInfo
	unloaded sync.Once

	passDuration, passRows, queueWait prometheus.Observer
	queueRows                         prometheus.Gauge
	stages                            [stageCount]prometheus.Observer
}

// Loaded counts a load and returns the metrics of the model. Versions of one name share all metrics without the label
// version. To replace a model without resetting counters, load the new one before the old one is Unloaded.
func (m *Metrics) Loaded(info ModelInfo) *ModelMetrics {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.loaded[info.Model] == nil {
		m.loaded[info.Model] = map[ModelInfo]int{}
	}
	m.loaded[info.Model][info]++
	name := labelValue(info.Model)
	m.info.WithLabelValues(name, labelValue(info.Version), info.Digest, info.Head, info.Backend).Set(1)
	m.loads.WithLabelValues(name, "failed") // so that the series exists at 0
	m.loads.WithLabelValues(name, "loaded").Inc()
	x := &ModelMetrics{
		metrics: m, info: info,
		passDuration: m.passDuration.WithLabelValues(name),
		passRows:     m.passRows.WithLabelValues(name),
		queueWait:    m.queueWait.WithLabelValues(name),
		queueRows:    m.queueRows.WithLabelValues(name),
	}
	for stage, v := range m.stages {
		x.stages[stage] = v.WithLabelValues(name)
	}
	return x
}

// LoadFailed counts a failed load. It counts as Unknown unless another version of the model is loaded; the log has the name.
func (m *Metrics) LoadFailed(model string) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	m.loads.WithLabelValues(m.label(model), "failed").Inc()
}

// Unloaded deletes the labels of the model, except those that another loaded model shares. Later counts are not shown.
func (x *ModelMetrics) Unloaded() {
	x.unloaded.Do(func() {
		x.metrics.mu.Lock()
		defer x.metrics.mu.Unlock()
		x.metrics.unload(x.info)
	})
}

// unload does the work of Unloaded. The caller holds mu.
func (m *Metrics) unload(info ModelInfo) {
	same := m.loaded[info.Model]
	same[info]--
	if same[info] > 0 {
		return
	}
	delete(same, info)
	name, version := labelValue(info.Model), labelValue(info.Version)
	m.info.DeleteLabelValues(name, version, info.Digest, info.Head, info.Backend)
	sameVersion := false
	for other := range maps.Keys(same) {
		sameVersion = sameVersion || other.Version == info.Version
	}
	if !sameVersion {
		m.rows.DeletePartialMatch(prometheus.Labels{"model": name, "version": version})
	}
	if len(same) > 0 {
		return
	}
	delete(m.loaded, info.Model)
	model := prometheus.Labels{"model": name}
	m.requests.DeletePartialMatch(model)
	m.loads.DeletePartialMatch(model)
	for _, v := range []*prometheus.HistogramVec{m.passDuration, m.passRows, m.queueWait} {
		v.DeleteLabelValues(name)
	}
	m.queueRows.DeleteLabelValues(name)
	for _, v := range m.stages {
		v.DeleteLabelValues(name)
	}
}

// Pass counts a pass and the rows of all requests in it. depth must be a constant of the program, never a caller's text.
func (x *ModelMetrics) Pass(depth string, rows int, took time.Duration) {
	x.passDuration.Observe(took.Seconds())
	x.passRows.Observe(float64(rows))
	m := x.metrics
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.loaded[x.info.Model][x.info] > 0 {
		m.rows.WithLabelValues(labelValue(x.info.Model), labelValue(x.info.Version), depth).Add(float64(rows))
	}
}

// Queued changes the number of rows that wait for a pass by n.
func (x *ModelMetrics) Queued(change int) { x.queueRows.Add(float64(change)) }

// Waited records how long a request waited for its pass.
func (x *ModelMetrics) Waited(d time.Duration) { x.queueWait.Observe(d.Seconds()) }

// Took records the duration of a stage.
func (x *ModelMetrics) Took(stage Stage, d time.Duration) { x.stages[stage].Observe(d.Seconds()) }
