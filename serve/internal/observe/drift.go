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

// maxSeries is how many pairs of an output and a player of one model are shown. Of a model with more, the players
// of most weight in training are.
const maxSeries = 1000

// Drift shows, for each model, what its attributions were like in the last ten minutes. Of player d, over the rows of
// the window:
//
//	psi_attribution_abs_mean  mean of |f_d|, 0 where it is missing
//	psi_attribution_std_mean  mean of σ_d, 0 where it is missing
//	psi_missing_ratio         share of the rows that lack it
//	psi_importance_ndcg       Σ_i a(i) / log₂(i + 1) over the same sum in training's order,
//
// where a is training's mean |f_d|, and the i-th player is that of the window's order by mean |f_d|: 1 if the order is
// training's, less if players that mattered much then matter less now ([eval.NDCG]).
//
// It is a prometheus.Collector that reads the windows when it is asked. Buckets hold tallies, so its memory does not grow with rows.
type Drift struct {
	now   func() time.Time
	start time.Time

	mu     sync.Mutex
	models map[string][]*DriftWindow // of the versions that are loaded
}

// NewDrift takes the time from now, such as time.Now.
func NewDrift(now func() time.Time) *Drift {
	return &Drift{now: now, start: now(), models: map[string][]*DriftWindow{}}
}

// DriftWindow is the last ten minutes of one version of a model.
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

// bucket is the rows of one minute.
type bucket struct {
	minute int64 // since the drift's start
	*explain.Tally
}

// Watch starts a window for a version of a model. The reference is training's mean |f_d| of each output and player; nil
// if it is not known. Of several versions of a name the one with most rows is shown, of equal ones the last: so it is after
// an update, after a return to the old version, and beside a version that is tried out on a few.
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

// shownPlayers are all, or those of most weight in training.
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
	most := max(1, maxSeries/outputs)
	if players <= most {
		return list
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(weight[b], weight[a]) })
	return list[:most]
}

// Close ends the window.
func (w *DriftWindow) Close() {
	w.drift.mu.Lock()
	defer w.drift.mu.Unlock()
	others := slices.DeleteFunc(w.drift.models[w.model], func(v *DriftWindow) bool { return v == w })
	if w.drift.models[w.model] = others; len(others) == 0 {
		delete(w.drift.models, w.model)
	}
}

// Observe takes the rows of an explanation into the window, but not what is no attribution of the model ([explain.Tally.Add])
// and not numbers whose sums are not finite.
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

// minute is the number of the present one. Of two readings of time.Now the difference does not depend on the wall clock.
func (d *Drift) minute() int64 {
	return int64(math.Floor(float64(d.now().Sub(d.start)) / float64(bucketTime)))
}

// total is the tally of the window.
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

// Describe is of prometheus.Collector.
func (d *Drift) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{sizeDesc, stdDesc, missingDesc, ndcgDesc, driftDesc} {
		to <- desc
	}
}

// Collect is of prometheus.Collector. A window without rows shows only that.
func (d *Drift) Collect(to chan<- prometheus.Metric) {
	d.mu.Lock()
	models := make([][]*DriftWindow, 0, len(d.models))
	for _, versions := range d.models {
		models = append(models, slices.Clone(versions))
	}
	d.mu.Unlock()
	for _, versions := range models {
		shown, most := versions[0], versions[0].total()
		for _, w := range versions[1:] {
			if all := w.total(); all.Rows >= most.Rows {
				shown, most = w, all
			}
		}
		shown.collect(most, to)
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
			gauge(stdDesc, std[d], model, labelValue(output), player)
		}
		if w.reference == nil {
			continue
		}
		if ndcg := eval.NDCG(w.reference[c], size); !math.IsNaN(ndcg) {
			gauge(ndcgDesc, ndcg, model, labelValue(output))
		}
	}
}
