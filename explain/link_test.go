package explain

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/psi-shapley/psi/table"
)

// A number whose log is normal: the centre and the spread that Normal finds from the log of its mean and the root-mean-square distance from that, and
// the standard deviation of the number, are those of the distribution.
func TestLinkOfLogs(t *testing.T) {
	for _, sigma := range []float64{0.05, 0.741, 1.5} {
		d := distuv.LogNormal{Mu: 2.2, Sigma: sigma}
		score := math.Log(d.Mean())
		rms := math.Sqrt(sigma*sigma + math.Pow(d.Mu-score, 2))
		link := Link{LogMean, true}
		centre, spread := link.Normal(score, rms)
		for what, pair := range map[string][2]float64{
			"centre": {centre, d.Mu}, "spread": {spread, sigma}, "mean": {link.Response(score), d.Mean()},
			"deviation of the mean": {link.Deviation(score, rms), d.StdDev()}, "median": {Link{Log, true}.Response(d.Mu), d.Quantile(0.5)},
			"deviation of the median": {Link{Log, true}.Deviation(d.Mu, sigma), d.StdDev()},
		} {
			if math.Abs(pair[0]/pair[1]-1) > 1e-9 {
				t.Errorf("σ %g: %s %g, want %g", sigma, what, pair[0], pair[1])
			}
		}
		score, logSlope := link.Score(7)
		if got, want := (distuv.Normal{Mu: d.Mu, Sigma: sigma}).LogProb(score)+logSlope, d.LogProb(7); math.Abs(got-want) > 1e-9 {
			t.Errorf("σ %g: log density %g, want %g", sigma, got, want)
		}
	}
	if v := (Link{Log, true}).Response(1e9); math.IsInf(v, 0) {
		t.Error("a score that is too large has no finite response")
	}
	if centre, spread := (Link{Identity, true}).Normal(-3, 2); centre != -3 || spread != 2 {
		t.Errorf("in its own units the distribution is about %g ± %g, want -3 ± 2", centre, spread)
	}
}

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
