package report

import (
	"strings"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
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
