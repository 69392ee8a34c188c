package explain

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/table"
)

// What ranges are by is written beside each prediction and read back, kept by joining and by choosing an output, shown as ±, and adds up
// as variances in a difference.
func TestRangeOfPredictions(t *testing.T) {
	part := func(first int, by ...float64) *Explanation {
		n := len(by)
		return &Explanation{
			Head: "exact", Mode: Fast, Z: 2, Top: 1, Outputs: []string{"y"}, Scale: Identity, Players: []string{"x"}, FirstRow: first, Rows: n,
			Base: make([]float64, n), Prediction: slices.Repeat([]float64{100}, n), PredictionStd: slices.Repeat([]float64{7}, n), RangeStd: by,
			HiddenStd: make([]float64, n), Residual: make([]float64, n), Mean: slices.Repeat([]float64{100}, n), Std: make([]float64, n),
			Observed: slices.Repeat([]bool{true}, n), Values: []*table.Column{table.NumberColumn("x", make([]float64, n), nil)},
		}
	}
	want := []float64{3, 4, 12}
	whole, err := Join([]*Explanation{part(0, 3, 4), part(2, 12)})
	if err != nil {
		t.Fatal(err)
	}
	document := writeJSON(t, whole)
	again, err := ReadJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	only, err := whole.Only("y")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(whole.RangeStd, want) || !slices.Equal(again.RangeStd, want) || !slices.Equal(only.RangeStd, want) {
		t.Errorf("joined %v, read %v, of one output %v; want %v", whole.RangeStd, again.RangeStd, only.RangeStd, want)
	}
	if !strings.Contains(string(document), `"prediction":100,"prediction_std":7,"range_std":4,"hidden_std":0`) {
		t.Errorf("no range_std in %s", document)
	}
	difference, err := whole.Minus(whole, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, by := range difference.RangeStd {
		if by != math.Hypot(want[i], 3) {
			t.Errorf("row %d less row 0: ranges by %v", i, by)
		}
	}
	var text bytes.Buffer
	if err := Text(&text, whole, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "100.0 ± 24.0") && !strings.Contains(text.String(), "100 ± 24") {
		t.Errorf("the range of row 2 is not 2 · 12 wide: %s", text.String())
	}
	whole.RangeStd = nil
	if whole.RangeOf(1) != 7 || strings.Contains(string(writeJSON(t, whole)), "range_std") {
		t.Error("without ranges of its own, a prediction's are by its deviation, and nothing is written")
	}
	whole.RangeStd = want[:2]
	if whole.Validate() == nil {
		t.Error("ranges of two of three rows are valid")
	}
}
