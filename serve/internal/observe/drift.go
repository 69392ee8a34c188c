package observe

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/psi-shapley/psi/eval"
	"github.com/psi-shapley/psi/explain"
)

// A window is the last ten minutes, in buckets of a minute: at most that much older than the scrape.
const (
	bucketTime = time.Minute
	buckets    = 10
)

// maxSeries is the maximum number of pairs of an output and a player that are shown of one model. If a model has more, the
// players with the largest importance in training are shown.
const maxSeries = 1000

// Drift reports the attributions of each model in the last ten minutes. For player d, over the rows of the window:
//
//	psi_attribution_abs_mean  mean of |f_d|, 0 where it is missing
//	psi_attribution_std_mean  mean of σ_d, 0 where it is missing; left out if the model does not know it
//	psi_missing_ratio         share of the rows that lack it
//	psi_importance_ndcg       Σ_i a(i) / log₂(i + 1) over the same sum in training's order,
//
// where a is the mean |f_d| in training, and the i-th player is the i-th by mean |f_d| in the window. It is 1 if the order
// is that of training, and less if players that mattered much then matter less now ([eval.NDCG]).
//
// Drift is a prometheus.Collector, which reads the windows at each scrape. Its memory does not grow with rows.
type Drift struct {
	now   func() time.Time
	start time.Time

	mu     sync.Mutex
	models map[string][]*DriftWindow // of the versions that are loaded
}

// NewDrift returns a Drift without models. now is its clock, such as time.Now.
func NewDrift(now func() time.Time) *Drift {
	return &Drift{now: now, start: now(), models: map[string][]*DriftWindow{}}
}

// DriftWindow holds the attributions of one version of a model in the last ten minutes. It is safe for concurrent use.
type DriftWindow struct {
	drift            *Drift
	model            string
	outputs, players []string
	reference        [][]float64
	shown            []int // players

	mu      sync.Mutex
	buckets [buckets]bucket
	scratch sync.Pool // of *explain.Tally
}

// bucket holds the rows of one minute.
type bucket struct {
	minute int64 // since the drift's start
	*explain.Tally
}

// Watch starts a window for a version of a model. The reference is the mean |f_d| of each output and player in training; nil
// if not known. If several versions of a name are loaded, the one with the most rows is shown, and of equal ones the last.
// That suits updates, rollbacks and versions that get few requests.
func (d *Drift) Watch(model string, outputs, players []string, reference [][]float64) (*DriftWindow, error) {
	if reference != nil && len(reference) != len(outputs) {
		return nil, fmt.Errorf("model %q: the reference has %d outputs, not %d", model, len(reference), len(outputs))
	}
	for c, list := range reference {
		if len(list) != len(players) {
			return nil, fmt.Errorf("model %q: the reference of output %q has %d players, not %d", model, outputs[c], len(list), len(players))
		}
	}
	w := &DriftWindow{drift: d, model: model, outputs: outputs, players: players, reference: reference}
	w.shown = shownPlayers(len(outputs), len(players), reference)
	for i := range w.buckets {
		w.buckets[i] = bucket{math.MinInt64, explain.NewTally(outputs, players)}
	}
	w.scratch.New = func() any { return explain.NewTally(outputs, players) }
	d.mu.Lock()
	defer d.mu.Unlock()
	d.models[model] = append(d.models[model], w)
	return w, nil
}

// shownPlayers returns all players, or those with the largest importance in training.
func shownPlayers(outputs, players int, reference [][]float64) []int {
	list, weight := make([]int, players), make([]float64, players)
	for i := range list {
		list[i] = i
	}
	for _, sizes := range reference {
		for i, size := range sizes {
			weight[i] += size
		}
	}
	limit := max(1, maxSeries/outputs)
	if players <= limit {
		return list
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(weight[b], weight[a]) })
	return list[:limit]
}

// Close removes the window.
func (w *DriftWindow) Close() {
	w.drift.mu.Lock()
	defer w.drift.mu.Unlock()
	others := slices.DeleteFunc(w.drift.models[w.model], func(v *DriftWindow) bool { return v == w })
	if w.drift.models[w.model] = others; len(others) == 0 {
		delete(w.drift.models, w.model)
	}
}

// Observe adds the rows of an explanation to the window. It leaves out rows that are no attributions of the model
// ([explain.Tally.Add]) or have sums that are not finite.
func (w *DriftWindow) Observe(e *explain.Explanation) {
	t := w.scratch.Get().(*explain.Tally)
	defer w.scratch.Put(t)
	t.Clear()
	if !t.Add(e) || t.Rows == 0 {
		return
	}
	minute := w.drift.minute()
	w.mu.Lock()
	defer w.mu.Unlock()
	b := &w.buckets[((minute%buckets)+buckets)%buckets]
	if b.minute != minute { // of another ten minutes, before or, if the clock was set back, after
		b.minute = minute
		b.Clear()
	}
	b.Merge(t)
}

// minute returns the number of the current minute. The difference of two readings of time.Now does not depend on the wall
// clock.
func (d *Drift) minute() int64 {
	return int64(math.Floor(float64(d.now().Sub(d.start)) / float64(bucketTime)))
}

// total returns the tally of the window.
func (w *DriftWindow) total() *explain.Tally {
	now := w.drift.minute()
	all := explain.NewTally(w.outputs, w.players)
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.buckets {
		if b := &w.buckets[i]; b.minute > now-buckets && b.minute <= now {
			all.Merge(b.Tally)
		}
	}
	return all
}

var (
	sizeDesc    = prometheus.NewDesc("psi_attribution_abs_mean", "Mean size of a player's attributions in the last ten minutes.", []string{"model", "output", "player"}, nil)
	stdDesc     = prometheus.NewDesc("psi_attribution_std_mean", "Mean standard deviation of a player's attributions in the last ten minutes.", []string{"model", "output", "player"}, nil)
	missingDesc = prometheus.NewDesc("psi_missing_ratio", "Share of the rows of the last ten minutes that lack the player.", []string{"model", "player"}, nil)
	ndcgDesc    = prometheus.NewDesc("psi_importance_ndcg", "How far players rank in the last ten minutes as they did in training; 1 is alike.", []string{"model", "output"}, nil)
	driftDesc   = prometheus.NewDesc("psi_drift_rows", "Explained rows of the last ten minutes.", []string{"model"}, nil)
)

// Describe implements prometheus.Collector.
func (d *Drift) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{sizeDesc, stdDesc, missingDesc, ndcgDesc, driftDesc} {
		to <- desc
	}
}

// Collect implements prometheus.Collector. A window without rows reports only their number.
func (d *Drift) Collect(to chan<- prometheus.Metric) {
	d.mu.Lock()
	models := make([][]*DriftWindow, 0, len(d.models))
	for _, versions := range d.models {
		models = append(models, slices.Clone(versions))
	}
	d.mu.Unlock()
	for _, versions := range models {
		shown, largest := versions[0], versions[0].total()
		for _, w := range versions[1:] {
			if all := w.total(); all.Rows >= largest.Rows {
				shown, largest = w, all
			}
		}
		shown.collect(largest, to)
	}
}

func (w *DriftWindow) collect(all *explain.Tally, to chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	model := labelValue(w.model)
	gauge(driftDesc, float64(all.Rows), model)
	if all.Rows == 0 {
		return
	}
	for _, d := range w.shown {
		gauge(missingDesc, float64(all.Missing[d])/float64(all.Rows), model, labelValue(w.players[d]))
	}
	for c, output := range w.outputs {
		size, std := all.MeanSize(c), all.MeanStd(c)
		if size == nil {
			continue
		}
		for _, d := range w.shown {
			player := labelValue(w.players[d])
			gauge(sizeDesc, size[d], model, labelValue(output), player)
			if std != nil {
				gauge(stdDesc, std[d], model, labelValue(output), player)
			}
		}
		if w.reference == nil {
			continue
		}
		if ndcg := eval.NDCG(w.reference[c], size); !math.IsNaN(ndcg) {
			gauge(ndcgDesc, ndcg, model, labelValue(output))
		}
	}
}
