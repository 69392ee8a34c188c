package explain

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/table"
)

// κ of each row is written beside it and read back, kept by joining and by choosing a class, and is not told of what has no
// probability.
func TestSlopeOfRows(t *testing.T) {
	part := func(first int, slope ...float64) *Explanation {
		n := len(slope)
		return &Explanation{
			Head: "exact", Mode: Fast, Z: 2, Top: 1, Outputs: []string{"a", "b", "c"}, Scale: Score, Players: []string{"x"},
			FirstRow: first, Rows: n, Slope: slope,
			Base: make([]float64, 3*n), Prediction: make([]float64, 3*n), PredictionStd: make([]float64, 3*n), HiddenStd: make([]float64, 3*n),
			Probability: make([]float64, 3*n), Residual: make([]float64, 3*n), Mean: make([]float64, 3*n), Std: make([]float64, 3*n),
			Observed: slices.Repeat([]bool{true}, n), Values: []*table.Column{table.NumberColumn("x", make([]float64, n), nil)},
		}
	}
	whole, err := Join([]*Explanation{part(0, 1, 1.5), part(2, 1.25)})
	if err != nil {
		t.Fatal(err)
	}
	want := []float64{1, 1.5, 1.25}
	document := writeJSON(t, whole)
	again, err := ReadJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	only, err := whole.Only("b")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(whole.Slope, want) || !slices.Equal(again.Slope, want) || !slices.Equal(only.Slope, want) {
		t.Errorf("joined %v, read %v, of one class %v; want %v", whole.Slope, again.Slope, only.Slope, want)
	}
	if !strings.Contains(string(document), `{"row":1,"probability_slope":1.5,"outputs":[`) {
		t.Errorf("no slope in %s", document)
	}
	contrast, err := whole.Contrast("a", "b")
	if err != nil {
		t.Fatal(err)
	}
	difference, err := whole.Minus(whole, 0)
	if err != nil {
		t.Fatal(err)
	}
	if contrast.Slope != nil || difference.Slope != nil {
		t.Error("differences have no probability, but a slope")
	}
	whole.Slope = want[:2]
	if err := whole.Validate(); err == nil {
		t.Error("two slopes of three rows are valid")
	}
}
