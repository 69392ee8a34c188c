package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi"
)

// The baselines of a model are beside its metrics, in their order, and its warnings go with them.
func TestBaselinesAreReported(t *testing.T) {
	o := &outcomes{
		evaluator: (&psi.Model{}).NewEvaluator(),
		manifest: psi.Manifest{Task: psi.Regression, Metrics: map[string]float64{"rmse": 2}, Baselines: map[string]map[string]float64{
			"linear": {"rmse": 1.5, "r2": .5}, "mean": {"rmse": 3},
		}},
	}
	p := o.performance()
	if len(p.Baselines) != 2 || p.Baselines[0].Name != "mean" || p.Baselines[1].Label != "linear model" {
		t.Fatalf("baselines %+v", p.Baselines)
	}
	for i, m := range p.Metrics {
		want := map[string]float64{"rmse": 1.5, "r2": .5}[m.Name]
		if got := p.Baselines[1].Values[i]; (got == nil) != (want == 0) || got != nil && *got != want {
			t.Errorf("%s of the linear model is %v, expected %v", m.Name, got, want)
		}
	}
}

// Of a rare class the threshold that is shown first is near its share, else it is a half.
func TestFirstThreshold(t *testing.T) {
	list := thresholds()
	if !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != 126 || list[0] != .0001 || list[125] != .999 {
		t.Errorf("thresholds %v", list)
	}
	for share, want := range map[float64]float64{0: .0001, .0023: .002, .018: .02, .0999: .1, .1: .5, .24: .5, .9: .5, 1: .5} {
		if got := list[firstThreshold(share)]; got != want {
			t.Errorf("of a class of %g: %g, want %g", share, got, want)
		}
	}
}

// κ of half of the columns is √(e^b): .5 for b = −log 4, 1.5 for b = log 2.25.
func TestSlopeWords(t *testing.T) {
	for slope, want := range map[float64][]string{0: nil, -1.3862943611: {"nearer to the base rate", "multiplied by 0.50"}, 0.8109302162: {"farther from the base rate", "multiplied by 1.50"}} {
		got := slopeWords(psi.Calibration{Slope: slope}, "")
		if (got == "") != (want == nil) {
			t.Errorf("slope %g: %q", slope, got)
		}
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("slope %g: %q is not in %q", slope, part, got)
			}
		}
	}
	o := &outcomes{manifest: psi.Manifest{Calibration: psi.Calibration{Slope: -1}}}
	if words := o.stored(); !strings.Contains(strings.Join(words, " "), "multiplied by 0.61") {
		t.Errorf("without outcomes: %q", words)
	}
}
