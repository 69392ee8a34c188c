package report

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// judged is a report with a metric here and on validation rows, and two columns.
func judged(task psi.Task, metrics ...Metric) *Report {
	r := &Report{
		Model: Model{Task: task, Target: "y"}, Data: Data{Name: "t.csv", Rows: 1000, Explained: 100},
		Players:     []Player{{"a", []int{0}}, {"b", []int{1}}, {"c", []int{2}}, {"d", []int{3}}},
		Columns:     []Column{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}},
		Performance: Performance{Metrics: metrics},
		Importances: [][]Importance{{{Player: 1, Mean: 5, Observed: 100}, {Player: 0, Mean: 3, Observed: 50}, {Player: 2, Mean: 1, Observed: 100}, {Player: 3, Mean: 1, Observed: 100}}},
	}
	switch task {
	case psi.Binary:
		r.Model.Classes = []string{"no", "yes"}
	case psi.Multiclass:
		r.Model.Classes = []string{"i", "ii", "iii"}
	}
	return r
}

func metric(name string, here, aside float64) Metric {
	return Metric{Name: name, Value: &here, Validation: &aside}
}

// How well is said of the rows that the model does worse on; what a plain model does as well, or what is too good, is never praised.
func TestHowWell(t *testing.T) {
	mean := Plain{Name: "mean", Values: []*float64{new(float64), new(float64)}}
	*mean.Values[1] = 184.6
	for _, c := range []struct {
		task    psi.Task
		metrics []Metric
		kind    string
		want    string
	}{
		{psi.Regression, []Metric{metric("r2", .99, .62), metric("rmse", 1, 35.78)}, "", "The model predicts y moderately well: its typical error is 35.8 (always predicting the mean: 185), on rows held out from training."},
		{psi.Regression, []Metric{metric("r2", .5, .95), metric("rmse", 12345, 3)}, "", "The model predicts y moderately well: its typical error is 12,345, on the rows of t.csv."},
		{psi.Regression, []Metric{metric("r2", .5, .45), metric("mae", 12, 13)}, "", "The model predicts y moderately well: the mean absolute error of its medians is 13 (always predicting the mean: 185), on rows held out from training."},
		{psi.Regression, []Metric{metric("r2", 1, .9995), metric("rmse", 1, 3)}, "", "The model predicts y almost without error. This rarely holds on new rows: find out why before you rely on it."},
		{psi.Regression, []Metric{metric("r2", -.2, .02), metric("rmse", 1, 3)}, psi.NoBetterThanMean, "The model predicts y no better than always predicting the mean: its typical error is 1, on the rows of t.csv."},
		{psi.Binary, []Metric{metric("auroc", .94, .9299)}, "", "The model predicts whether y is yes very well: it ranks two rows of different classes correctly in 92 of 100 cases (chance: 50), on rows held out from training."},
		{psi.Binary, []Metric{metric("auroc", .9995, .9999)}, psi.NoBetterThanLinear, "The model predicts whether y is yes no better than a linear model: it ranks two rows"},
		{psi.Binary, []Metric{metric("auroc", .51, .9)}, "", "The model predicts whether y is yes hardly at all"},
		{psi.Multiclass, []Metric{metric("macro_auroc", .85, .87), metric("accuracy", .7, .8)}, "", "The model predicts which of 3 classes y is well: it predicts the right class in 70 % of cases, on the rows of t.csv."},
		{psi.Regression, nil, "", "The model predicts y; its accuracy is not known."},
	} {
		r := judged(c.task, c.metrics...)
		r.Performance.Baselines = []Plain{mean}
		if metricOf(c.metrics, "mae").Value != nil {
			r.Scale = explain.Log
		}
		if c.kind != "" {
			r.Warnings = []Warning{{Kind: c.kind, Change: 1}}
		}
		if got := r.howWell(); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// Warnings go by how much they change: the model's first, then columns by the share of attributions in the rows they are about.
func TestWarningsAreOrdered(t *testing.T) {
	r := judged(psi.Regression)
	r.Columns[0].Missing = 500                       // half of a: 3/10 on half of the rows, twice as much where it is
	r.Columns[2].Outside = 900                       // 9/10 of c
	r.Columns[3].Levels, r.Columns[3].Rare = 9, 2    // of d
	r.Columns[3].InRare, r.Columns[3].Unknown = 7, 3 // in few rows
	r.Associations = []Association{{0, 1, .9, spearman}}
	r.Calibration = Calibration{Level: "poor", Verdict: "Too sure."}
	r.Warnings = r.warnings([]psi.Warning{{Kind: psi.Leak, Message: "A leak.", Remedy: "Ask."}})
	var kinds []string
	for i, w := range r.Warnings {
		kinds = append(kinds, w.Kind)
		if i > 0 && w.Change > r.Warnings[i-1].Change {
			t.Errorf("%s changes %g, %s before it %g", w.Kind, w.Change, kinds[i-1], r.Warnings[i-1].Change)
		}
	}
	if got, want := strings.Join(kinds, " "), "leak calibration associated missing outside rare unknown"; got != want {
		t.Errorf("warnings %s, want %s", got, want)
	}
	for i, want := range map[int]float64{0: 1, 2: .5, 3: .3, 4: .09, 5: .0007} {
		if got := r.Warnings[i].Change; got < want-1e-9 || got > want+1e-9 {
			t.Errorf("%s changes %g, want %g", r.Warnings[i].Kind, got, want)
		}
	}
}

// The three sentences name what drives predictions and what to watch.
func TestVerdict(t *testing.T) {
	r := judged(psi.Regression, metric("r2", .8, .8), metric("rmse", 1, 1))
	suspects := []psi.Suspect{{Column: "c"}}
	r.Warnings = []Warning{}
	got := r.verdict(suspects)
	if len(got) != 3 || got[1] != "b has the most influence, followed by a and c; together they have 90 % of the total importance." || !strings.HasPrefix(got[2], "No check found") {
		t.Errorf("verdict %q", got)
	}
	for kind, want := range map[string]string{
		psi.Leak: "First check whether c is known", psi.TooGood: "known only after", psi.StillFalling: "Longer training", psi.NoBetterThanMean: "Do not use it",
		kindMissing: "Watch a, b: many", kindAssociated: "Watch a and b together", kindUnknown: "absent or very rare in training", kindOutside: "outside the training range", kindConstant: "one value", kindRare: "rare",
		kindCalibration: "stated uncertainty", kindAttributions: "roughly right",
	} {
		r.Warnings = []Warning{{Kind: kind, Columns: []int{0, 1}, Change: .2}}
		if got := r.watch(suspects); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
		if r.Warnings[0].Change = .001; strings.Contains(r.watch(suspects), want) {
			t.Errorf("%s is watched though it changes nothing", kind)
		}
	}
	r.Players, r.Importances = r.Players[:1], [][]Importance{{{Player: 0, Mean: 1, Observed: 9}}}
	if got := r.drivers(); got != "a alone drives its predictions." {
		t.Error(got)
	}
}

func auditOf(head, method string, relative, subgame float64) *psi.Audit {
	return &psi.Audit{Head: head, Method: method, Rows: 200, Coalitions: 12345, RelativeRMSE: &relative, SubgameRelativeRMSE: &subgame, Top1: &[]float64{.9}[0]}
}

func TestVerdicts(t *testing.T) {
	sound := &explain.Explanation{Exact: true, Rows: 2, Base: []float64{0, 0}, Prediction: []float64{3, -4}, Residual: []float64{1e-6, 0}}
	learned, broken := *sound, *sound
	learned.Exact, broken.Residual = false, []float64{.5, 0}
	for _, c := range []struct {
		audit *psi.Audit
		e     *explain.Explanation
		level string
		says  string
	}{
		{auditOf("exact", "exact", 3e-7, 2e-7), sound, "exact", "one part in 1,000,000"},
		{auditOf("exact", "permutation", 8e-4, 8e-8), sound, "exact", "one part in 10,000,000"},
		{auditOf("exact", "exact", .2, .2), sound, "rough", "20 %"}, // a head that is not what it says is not believed
		{auditOf("exact", "exact", 3e-7, 2e-7), &broken, "close", "off by"},
		{auditOf("learned", "exact", .05, .05), &learned, "close", "5.0 %"},
		{auditOf("learned", "exact", .2, .2), &learned, "rough", "20 %"},
		{auditOf("learned", "exact", .6, .6), &learned, "poor", "60 %"},
		{auditOf("learned", "permutation", .05, 1e-9), &learned, "close", "5.0 %"},
		{auditOf("trees", "permutation", .02, 2e-8), sound, "exact", "one part in 10,000,000"}, // the error of sampling is not that of attributions
		{nil, sound, "unchecked", "have not been compared"},
	} {
		if got := trust(c.audit, c.e, "the attributions of %s", "no audit"); got.Level != c.level || !strings.Contains(got.Verdict, c.says) {
			t.Errorf("%+v: %s: %s; want %s and %q", c.audit, got.Level, got.Verdict, c.level, c.says)
		}
	}
}

func TestWarnings(t *testing.T) {
	one, two := 1.0, 2.0
	r := &Report{
		Data: Data{Rows: 1000},
		Columns: []Column{
			{Name: "gone", Missing: 1000, Least: nil},
			{Name: "holes", Missing: 300, Least: &one, Greatest: &two},
			{Name: "flat", Least: &one, Greatest: &one},
			{Name: "far", Least: &one, Greatest: &two, Outside: 40},
			{Name: "town", Labels: []Label{{"a", 500}}, Levels: 40, Rare: 3, Unknown: 1, Kind: table.Category},
			{Name: "fine", Least: &one, Greatest: &two, Outside: 1, Missing: 10},
		},
		Associations: []Association{{1, 3, -.95, spearman}, {3, 5, .85, spearman}, {0, 4, .6, ratio}},
	}
	var got []string
	for _, w := range r.warnings(nil) {
		got = append(got, w.Kind+": "+w.Words)
	}
	for _, want := range []string{
		"missing: gone is missing in every row", "missing: holes is missing in 30 %", "constant: flat", "outside: 40 cells of far lie",
		"unknown: 1 cell of town has", "rare: 3 of the 40 labels of town are", "associated: holes, far and fine carry much the same information (association 0.85 to 0.95 of 1)",
	} {
		if !slices.ContainsFunc(got, func(w string) bool { return strings.HasPrefix(w, want) }) {
			t.Errorf("no warning %q in\n%s", want, strings.Join(got, "\n"))
		}
	}
	if len(got) != 7 {
		t.Errorf("%d warnings:\n%s", len(got), strings.Join(got, "\n"))
	}
}

func TestPercent(t *testing.T) {
	for share, want := range map[float64]string{0: "0.0 %", .0001: "under 0.1 %", .034: "3.4 %", .5: "50 %", .999999: "99.9 %", 1: "100 %"} {
		if got := percent(share); got != want {
			t.Errorf("%g is %q, want %q", share, got, want)
		}
	}
	if got := part(3e-7); got != "less than one part in 1,000,000" {
		t.Errorf("3e-7 is %s", got)
	}
}

// A perfect calibration is called good with few rows and with many; a broken one is not, with many.
func TestCalibrationIsJudgedBeyondChance(t *testing.T) {
	const seed = 12
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	draw := func(nominal, share float64, rows int) CalibrationPoint {
		observed := 0
		for range rows {
			if rng.Float64() < share {
				observed++
			}
		}
		return CalibrationPoint{nominal, float64(observed) / float64(rows), rows}
	}
	for _, rows := range []int{60, 900, 20_000} {
		good := Calibration{Points: []CalibrationPoint{draw(.5, .5, rows), draw(.9, .9, rows)}}
		if level := gapRating(good.intervalGap()); level != "good" {
			t.Errorf("%d rows, %+v: %s", rows, good.Points, level)
		}
		var bins []CalibrationPoint
		for p := .05; p < 1; p += .1 {
			bins = append(bins, draw(p, p, rows/10))
		}
		if level := gapRating((&Calibration{Points: bins}).probabilityGap()); level != "good" {
			t.Errorf("%d rows, %+v: %s", rows, bins, level)
		}
	}
	narrow := Calibration{Points: []CalibrationPoint{draw(.5, .47, 900), draw(.9, .84, 900)}}
	wild := Calibration{Points: []CalibrationPoint{draw(.5, .3, 900), draw(.9, .6, 900)}}
	bins := Calibration{Points: []CalibrationPoint{draw(.1, .25, 500), draw(.9, .75, 500)}}
	for want, got := range map[string]string{"fair": gapRating(narrow.intervalGap()), "poor": gapRating(wild.intervalGap())} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if level := gapRating(bins.probabilityGap()); level != "poor" {
		t.Errorf("%+v: %s", bins.Points, level)
	}
}

// Ranges that hold too much of rows that the model may have learned from are judged by those kept aside.
func TestRangesOfRowsLearnedFrom(t *testing.T) {
	for _, c := range []struct {
		half, nine  float64 // held of the rows kept aside
		level, want string
	}{
		{.51, .905, "good", "Its prediction intervals are about right. The 90 % intervals contain 90.5 % of the outcomes."},
		{.57, .91, "fair", "Its 90 % prediction intervals are about right, others are less so. The 50 % intervals contain 57 % of the outcomes."},
		{.7, .99, "poor", "Its prediction intervals are too wide: the model is less certain than it could be. The 50 % intervals contain 57 % of the outcomes."},
	} {
		o := &outcomes{manifest: psi.Manifest{
			Task: psi.Regression, Metrics: map[string]float64{"coverage_50": c.half, "coverage_90": c.nine}, Provenance: psi.Provenance{ValidationRows: 2000},
		}}
		got := o.judged(Calibration{Points: []CalibrationPoint{{.5, .57, 20_000}, {.9, .93, 20_000}}})
		if got.Level != c.level || got.Verdict != c.want || len(got.Words) != map[bool]int{true: 2, false: 1}[c.half < .6] {
			t.Errorf("%.2f and %.2f of the rows kept aside: %s, %q, %q", c.half, c.nine, got.Level, got.Verdict, got.Words)
		}
	}
}
