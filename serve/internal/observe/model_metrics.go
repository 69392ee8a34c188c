package observe

import (
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

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
