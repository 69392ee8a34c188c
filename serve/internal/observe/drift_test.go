package observe

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

func newRand(t testing.TB) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// rowsOf explains rows of one output, y, by players x0, x1, …; a NaN is a missing cell. σ is a tenth of |f|.
func rowsOf(f [][]float64) *explain.Explanation {
	e := &explain.Explanation{
		Head: "exact", Mode: explain.Fast, Exact: true, Z: 2, Top: 1, Outputs: []string{"y"}, Scale: explain.Identity, Rows: len(f),
		Base: make([]float64, len(f)), Prediction: make([]float64, len(f)), PredictionStd: make([]float64, len(f)), HiddenStd: make([]float64, len(f)), Residual: make([]float64, len(f)),
	}
	for d := range f[0] {
		e.Players = append(e.Players, fmt.Sprint("x", d))
	}
	values := make([][]float64, len(f[0]))
	for _, row := range f {
		for d, v := range row {
			e.Observed = append(e.Observed, !math.IsNaN(v))
			values[d] = append(values[d], 1000+v)
			if math.IsNaN(v) {
				v = 0
			}
			e.Mean, e.Std = append(e.Mean, v), append(e.Std, math.Abs(v)/10)
		}
	}
	for d, name := range e.Players {
		e.Values = append(e.Values, table.NumberColumn(name, values[d], nil))
	}
	return e
}

// gauges are what a collector shows, by name and labels.
func gauges(t *testing.T, c prometheus.Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			value := metric.GetGauge().GetValue()
			if family.GetType() == dto.MetricType_COUNTER {
				value = metric.GetCounter().GetValue()
			}
			name := []string{family.GetName()}
			for _, label := range metric.GetLabel() {
				name = append(name, label.GetValue())
			}
			got[strings.Join(name, " ")] = value
		}
	}
	return got
}

func expectGauges(t *testing.T, c prometheus.Collector, want map[string]float64) {
	t.Helper()
	got := gauges(t, c)
	for name, v := range want {
		if g, ok := got[name]; !ok || !(math.Abs(g-v) <= 1e-12*max(1, math.Abs(v))) {
			t.Errorf("%s = %v (shown: %v), want %v", name, g, ok, v)
		}
	}
	for name, v := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s = %v is shown too", name, v)
		}
	}
}

// watched is a drift with one model of players x0, x1, ….
func watched(t testing.TB, now func() time.Time, reference ...float64) (*Drift, *DriftWindow) {
	t.Helper()
	d := NewDrift(now)
	var players []string
	for i := range reference {
		players = append(players, fmt.Sprint("x", i))
	}
	w, err := d.Watch("m", []string{"y"}, players, [][]float64{reference})
	if err != nil {
		t.Fatal(err)
	}
	return d, w
}

func TestDriftByHand(t *testing.T) {
	d, w := watched(t, time.Now, 3, 2, 1)
	expectGauges(t, d, map[string]float64{"psi_drift_rows m": 0})
	nan := math.NaN()
	w.Observe(rowsOf([][]float64{{1, -4, nan}, {-3, 4, 12}}))
	w.Observe(rowsOf([][]float64{{2, 1, nan}}))
	expectGauges(t, d, map[string]float64{
		"psi_drift_rows m":                3,
		"psi_missing_ratio m x0":          0,
		"psi_missing_ratio m x1":          0,
		"psi_missing_ratio m x2":          2. / 3,
		"psi_attribution_abs_mean m y x0": 2,
		"psi_attribution_abs_mean m y x1": 3,
		"psi_attribution_abs_mean m y x2": 4,
		"psi_attribution_std_mean m y x0": .2,
		"psi_attribution_std_mean m y x1": .3,
		"psi_attribution_std_mean m y x2": .4,
		// The order is now x2, x1, x0: (1 + 2/log₂3 + 3/2) / (3 + 2/log₂3 + 1/2).
		"psi_importance_ndcg m y": 0.7899980042460358,
	})
	w.Close()
	expectGauges(t, d, nil)
}

// Without training's ranking there is none to compare with; all else is shown.
func TestDriftWithoutReference(t *testing.T) {
	d := NewDrift(time.Now)
	w, err := d.Watch("m", []string{"y"}, []string{"x0"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.Observe(rowsOf([][]float64{{-7}}))
	expectGauges(t, d, map[string]float64{"psi_drift_rows m": 1, "psi_missing_ratio m x0": 0, "psi_attribution_abs_mean m y x0": 7, "psi_attribution_std_mean m y x0": .7})
	for _, wrong := range [][][]float64{{}, {{1, 2}}, {{1}, {1}}} {
		if _, err := d.Watch("m", []string{"y"}, []string{"x0"}, wrong); err == nil {
			t.Errorf("a reference %v of one output and one player is taken", wrong)
		}
	}
}

// The window is of the attributions as they were given, whatever the number of outputs, chunks and requests.
func TestDriftAgainstOneSum(t *testing.T) {
	rng := newRand(t)
	const outputs, players, chunks = 3, 5, 40
	d := NewDrift(time.Now)
	e := explain.Explanation{}
	for c := range outputs {
		e.Outputs = append(e.Outputs, fmt.Sprint("class", c))
	}
	for i := range players {
		e.Players = append(e.Players, fmt.Sprint("x", i))
	}
	w, err := d.Watch("m", e.Outputs, e.Players, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{}
	var total float64
	var wait sync.WaitGroup
	for range chunks {
		part := e
		part.Rows = 1 + rng.IntN(20)
		total += float64(part.Rows)
		for range part.Rows {
			for i := range players {
				part.Observed = append(part.Observed, rng.IntN(3) > 0)
				if !part.Observed[len(part.Observed)-1] {
					want["psi_missing_ratio m "+e.Players[i]]++
				}
			}
			for _, output := range e.Outputs {
				for _, player := range e.Players {
					f, std := rng.NormFloat64(), rng.Float64()
					part.Mean, part.Std = append(part.Mean, f), append(part.Std, std)
					want["psi_attribution_abs_mean m "+output+" "+player] += math.Sqrt(f * f)
					want["psi_attribution_std_mean m "+output+" "+player] += std
				}
			}
		}
		part.Residual = make([]float64, part.Rows*outputs)
		wait.Go(func() { w.Observe(&part) })
	}
	wait.Wait()
	for name := range want {
		want[name] /= total
	}
	want["psi_drift_rows m"] = total
	expectGauges(t, d, want)
}

func TestDriftLeavesOutWhatIsNoAttribution(t *testing.T) {
	d, w := watched(t, time.Now, 2, 1)
	against := rowsOf([][]float64{{1, 1}})
	against.Against = "row 8"
	contrast := rowsOf([][]float64{{1, 1}})
	contrast.Outputs = []string{"y − z"}
	infinite := rowsOf([][]float64{{1, 1}})
	infinite.Mean[1] = math.Inf(1)
	grouped := rowsOf([][]float64{{1}})
	for _, e := range []*explain.Explanation{against, contrast, infinite, grouped} {
		w.Observe(e)
	}
	expectGauges(t, d, map[string]float64{"psi_drift_rows m": 0})
}

// A request may ask for one class of several.
func TestDriftOfSomeOutputs(t *testing.T) {
	d := NewDrift(time.Now)
	w, err := d.Watch("m", []string{"z", "y"}, []string{"x0"}, [][]float64{{1}, {1}})
	if err != nil {
		t.Fatal(err)
	}
	w.Observe(rowsOf([][]float64{{-7}}))
	expectGauges(t, d, map[string]float64{
		"psi_drift_rows m": 1, "psi_missing_ratio m x0": 0,
		"psi_attribution_abs_mean m y x0": 7, "psi_attribution_std_mean m y x0": .7, "psi_importance_ndcg m y": 1,
	})
}

func TestWindowSlides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, w := watched(t, time.Now, 1)
		size := func() float64 { return gauges(t, d)["psi_attribution_abs_mean m y x0"] }
		for minute := range 30 {
			w.Observe(rowsOf([][]float64{{float64(minute)}}))
			// The mean of this minute and the nine before.
			first := max(0, minute-9)
			if got, want := size(), float64(first+minute)/2; got != want {
				t.Errorf("minute %d: %v, want %v", minute, got, want)
			}
			time.Sleep(time.Minute)
		}
		time.Sleep(8 * time.Minute)
		if got := size(); got != 29 {
			t.Errorf("nine minutes after the last row: %v, want 29", got)
		}
		time.Sleep(time.Minute)
		expectGauges(t, d, map[string]float64{"psi_drift_rows m": 0})
	})
}

// A clock that is set forward, back, and back before the start.
func TestWindowSurvivesClockJumps(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	d, w := watched(t, func() time.Time { return now }, 1)
	rows := func() float64 { return gauges(t, d)["psi_drift_rows m"] }
	for _, jump := range []time.Duration{0, time.Hour, -30 * time.Minute, -4 * time.Minute, -5 * time.Hour, 100 * 365 * 24 * time.Hour, -200 * 365 * 24 * time.Hour} {
		now = now.Add(jump)
		w.Observe(rowsOf([][]float64{{1}}))
		if got := rows(); got != 1 && jump.Abs() >= buckets*bucketTime || got < 1 {
			t.Errorf("%v after a jump of %v: %v rows, want the last alone", now, jump, got)
		}
		// Once a steady clock is ten minutes past where it was, the window is what it would be without the jump.
		for range 15 {
			now = now.Add(time.Minute)
			w.Observe(rowsOf([][]float64{{1}}))
		}
		if got := rows(); got != buckets {
			t.Errorf("fifteen minutes after a jump of %v: %v rows, want %d", jump, got, buckets)
		}
	}
}

// Of very many players those are shown that matter most, so that a model cannot flood Prometheus.
func TestDriftShowsSoManyPlayers(t *testing.T) {
	reference := make([]float64, maxSeries+500)
	row := make([]float64, len(reference))
	for i := range reference {
		reference[i], row[i] = float64(i), float64(i)
	}
	d, w := watched(t, time.Now, reference...)
	w.Observe(rowsOf([][]float64{row}))
	got := gauges(t, d)
	if n := len(got); n != 3*maxSeries+2 {
		t.Errorf("%d series, want %d", n, 3*maxSeries+2)
	}
	if _, least := got["psi_attribution_abs_mean m y x499"]; least || got["psi_attribution_abs_mean m y x500"] != 500 {
		t.Errorf("x499 shown: %v; x500: %v", least, got["psi_attribution_abs_mean m y x500"])
	}
	if got["psi_importance_ndcg m y"] != 1 {
		t.Errorf("nDCG %v, want that of all players, 1", got["psi_importance_ndcg m y"])
	}
}

// Of two versions that is shown which answers most, whatever their outputs and players are.
func TestDriftOfVersions(t *testing.T) {
	d, old := watched(t, time.Now, 1)
	next, err := d.Watch("m", []string{"y"}, []string{"x0", "x1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ofOld := map[string]float64{"psi_drift_rows m": 1, "psi_missing_ratio m x0": 0, "psi_attribution_abs_mean m y x0": 5, "psi_attribution_std_mean m y x0": .5, "psi_importance_ndcg m y": 1}
	old.Observe(rowsOf([][]float64{{5}}))
	expectGauges(t, d, ofOld)
	next.Observe(rowsOf([][]float64{{3, 4}}))
	expectGauges(t, d, map[string]float64{
		"psi_drift_rows m": 1, "psi_missing_ratio m x0": 0, "psi_missing_ratio m x1": 0,
		"psi_attribution_abs_mean m y x0": 3, "psi_attribution_std_mean m y x0": .3, "psi_attribution_abs_mean m y x1": 4, "psi_attribution_std_mean m y x1": .4,
	})
	next.Close()
	expectGauges(t, d, ofOld)
	old.Close()
	old.Close()
	expectGauges(t, d, nil)
	old.Observe(rowsOf([][]float64{{5}}))
	expectGauges(t, d, nil)
}

func BenchmarkObserve(b *testing.B) {
	_, w := watched(b, time.Now, make([]float64, 14)...)
	rows := make([][]float64, 64)
	for i := range rows {
		rows[i] = make([]float64, 14)
		for d := range rows[i] {
			rows[i][d] = float64(d - i)
		}
	}
	e := rowsOf(rows)
	b.ReportAllocs()
	for b.Loop() {
		w.Observe(e)
	}
}
