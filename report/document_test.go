package report

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// Intervals go by doubt where it is known. The quantile is that of a printed table of Student's t with 7 degrees of freedom.
func TestIntervals(t *testing.T) {
	e := &explain.Explanation{Z: 1.959964, Bags: 8, Mean: []float64{1}, Std: []float64{3}}
	if got, want := intervalsOf(e), (Intervals{Z: 1.959964, Interval: explain.BySpread, Reach: 1.959964}); got != want {
		t.Errorf("without doubt %+v, want %+v", got, want)
	}
	e.ModelStd = []float64{.5}
	got := intervalsOf(e)
	if got.Interval != explain.ByDoubt || got.Bags != 8 || math.Abs(got.Reach-2.364624) > 1e-5 {
		t.Errorf("with doubt %+v", got)
	}
	var head map[string]any
	if text, err := json.Marshal(&Report{Intervals: got}); err != nil || json.Unmarshal(text, &head) != nil || head["interval"] != "doubt" || head["bags"] != 8.0 || head["reach"] != got.Reach || head["z"] != got.Z {
		t.Errorf("%v: the document says %v, %v, %v, %v", err, head["interval"], head["bags"], head["reach"], head["z"])
	}
}

// The rows of a page have the doubt of their own attributions, and none where it is not known.
func TestRowsCarryDoubt(t *testing.T) {
	e := &explain.Explanation{
		Outputs: []string{"a", "b"}, Players: []string{"x"}, Rows: 3, Bags: 8, Observed: []bool{true, true, true},
		Prediction: make([]float64, 6), PredictionStd: make([]float64, 6), HiddenStd: make([]float64, 6),
		Mean: make([]float64, 6), Std: []float64{1, 2, 3, 4, 5, 6}, ModelStd: []float64{.1, .2, .3, .4, .5, .6},
	}
	columns := []*table.Column{table.NumberColumn("x", []float64{7, 8, 9}, nil)}
	r := rowsOfPage(e, columns, []int{10, 20, 30}, nil, []int{0, 2})
	if !slices.Equal(r.Std, Attributions{1, 2, 5, 6}) || !slices.Equal(r.ModelStd, Attributions{.1, .2, .5, .6}) {
		t.Errorf("spread %v, doubt %v", r.Std, r.ModelStd)
	}
	e.ModelStd = nil
	if r = rowsOfPage(e, columns, []int{10, 20, 30}, nil, []int{0, 2}); r.ModelStd != nil {
		t.Errorf("doubt that is not known is %v", r.ModelStd)
	}
}
