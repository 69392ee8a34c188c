package observe

import (
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Stage is a part of a request's way, as KServe's own metrics name them.
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

// ModelInfo is what tells one loaded model from another.
type ModelInfo struct{ Model, Version, Digest, Head, Backend string }

// ModelMetrics counts what one loaded model does.
type ModelMetrics struct {
	metrics  *Metrics
	info     ModelInfo
	unloaded sync.Once

	passDuration, passRows, queueWait prometheus.Observer
	queueRows                         prometheus.Gauge
	stages                            [stageCount]prometheus.Observer
}

// Loaded counts a load. Versions of one name share all metrics without the label version. A model is replaced by
// loading the new one before the old one is Unloaded: then no counter starts anew.
func (m *Metrics) Loaded(info ModelInfo) *ModelMetrics {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.loaded[info.Model] == nil {
		m.loaded[info.Model] = map[ModelInfo]int{}
	}
	m.loaded[info.Model][info]++
	name := labelValue(info.Model)
	m.info.WithLabelValues(name, labelValue(info.Version), info.Digest, info.Head, info.Backend).Set(1)
	m.loads.WithLabelValues(name, "failed") // 0 is there before it is needed
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

// LoadFailed counts a load that failed. Unless another version of the model is loaded, it is counted as Unknown: the
// log has the name.
func (m *Metrics) LoadFailed(model string) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	m.loads.WithLabelValues(m.label(model), "failed").Inc()
}

// Unloaded deletes the model's labels, but for those that another loaded model has too. What is still counted after
// that is not shown.
func (x *ModelMetrics) Unloaded() {
	x.unloaded.Do(func() {
		x.metrics.mu.Lock()
		defer x.metrics.mu.Unlock()
		x.metrics.unload(x.info)
	})
}

// unload is called with mu held.
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

// Pass counts a pass and the rows of all requests in it. The depth is one of the program's own, not a caller's word.
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

// Queued adds to the rows that wait for a pass, or takes from them.
func (x *ModelMetrics) Queued(change int) { x.queueRows.Add(float64(change)) }

// Waited counts how long a request's rows waited for their pass.
func (x *ModelMetrics) Waited(d time.Duration) { x.queueWait.Observe(d.Seconds()) }

// Took counts how long a stage of a request took.
func (x *ModelMetrics) Took(stage Stage, d time.Duration) { x.stages[stage].Observe(d.Seconds()) }
