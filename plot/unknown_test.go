package plot

import (
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/explain"
)

// trees returns the explanation without what trees of another program do not tell.
func trees(e *explain.Explanation) *explain.Explanation {
	e.Game, e.Head, e.Bags = explain.PathDependent, "trees", 0
	e.Std, e.ModelStd, e.ByBag, e.HiddenStd, e.PredictionStd, e.RangeStd = nil, nil, nil, nil, nil, nil
	return e
}

// Where the uncertainty is not known, no picture draws an interval or claims one.
func TestUnknownUncertainty(t *testing.T) {
	e := trees(sample(t, 30))
	if err := e.Validate(); err != nil {
		t.Fatal(err)
	}
	intervals := map[string]bool{"beeswarm": true, "waterfall": true, "force": true, "dependence": true, "heatmap": true}
	for kind, draw := range drawers {
		o := Options{}
		if kind == "groups" {
			o.Columns = []string{"town"}
		}
		p, err := draw(e, o)
		if kind == "ranking" {
			if err == nil || !strings.Contains(err.Error(), "not known") {
				t.Errorf("a ranking by z without standard deviations: %v", err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		said := p.Title + " " + p.Read
		for _, claim := range []string{"±", "standard deviation", "NaN", "thin lines are", "..", " ."} {
			if strings.Contains(said, claim) {
				t.Errorf("%s claims %q: %s", kind, claim, said)
			}
		}
		if strings.Contains(said, unknownUncertainty) != intervals[kind] {
			t.Errorf("%s: %s", kind, said)
		}
		for _, name := range []string{"std", "share_of_variance"} {
			if c := p.Data.Column(name); c != nil {
				if row := slices.Index(c.Observed, true); row >= 0 {
					t.Errorf("%s: row %d has a %s of %g", kind, row, name, c.Numbers[row])
				}
			}
		}
	}
}

// Of a prediction whose uncertainty is not known, only the prediction is told.
func TestUnknownRangeOfAPrediction(t *testing.T) {
	e := trees(house(t, 3))
	for scale, want := range map[explain.Scale]string{explain.Identity: "is ", explain.LogMean: "(in original units: "} {
		e.Scale = scale
		p, err := Waterfall(e, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(p.Title, want) || strings.Contains(p.Title, " to ") || strings.Contains(p.Title, "±") || strings.Contains(p.Title, "NaN") {
			t.Errorf("%s: %s", scale, p.Title)
		}
	}
}
