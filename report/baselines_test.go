package report

import (
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
