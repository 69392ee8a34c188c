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
		{nil, sound, "unchecked", "have not been compared"},
	} {
		if got := trust(c.audit, c.e); got.Level != c.level || !strings.Contains(got.Verdict, c.says) {
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
		if level := called(good.intervalGap()); level != "good" {
			t.Errorf("%d rows, %+v: %s", rows, good.Points, level)
		}
		var bins []CalibrationPoint
		for p := .05; p < 1; p += .1 {
			bins = append(bins, draw(p, p, rows/10))
		}
		if level := called((&Calibration{Points: bins}).probabilityGap()); level != "good" {
			t.Errorf("%d rows, %+v: %s", rows, bins, level)
		}
	}
	narrow := Calibration{Points: []CalibrationPoint{draw(.5, .47, 900), draw(.9, .84, 900)}}
	wild := Calibration{Points: []CalibrationPoint{draw(.5, .3, 900), draw(.9, .6, 900)}}
	bins := Calibration{Points: []CalibrationPoint{draw(.1, .25, 500), draw(.9, .75, 500)}}
	for want, got := range map[string]string{"fair": called(narrow.intervalGap()), "poor": called(wild.intervalGap())} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if level := called(bins.probabilityGap()); level != "poor" {
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
