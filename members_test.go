package psi_test

import (
	"math"
	"slices"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
)

// Members differ, and how far is told apart from σ_d.
func TestMembersDisagree(t *testing.T) {
	rows := people(t, newRand(t, 15), 200, 3)
	members := func(n int) func(*psi.Settings) {
		return func(s *psi.Settings) {
			quick(s)
			s.Members = n
		}
	}
	single := trained(t, rows, psi.Config{Change: members(1)})
	alone := explained(t, single, rows, psi.Explain{})
	if alone.ModelStd != nil {
		t.Error("one network disagrees with itself")
	}
	m := trained(t, rows, psi.Config{Change: members(2)})
	e := explained(t, m, rows, psi.Explain{})
	addUp(t, e)
	d := len(e.Players)
	for i, apart := range e.ModelStd {
		if there := e.Observed[i/d/3*d+i%d]; (apart > 0) != there {
			t.Fatalf("attribution %d, observed %v: members lie %v apart", i, there, apart)
		}
	}
	// The first member is the model of one, as it has the training's own seed; of two, each
	// lies |φ₁ − φ₂|/2 from the mean, and their standard deviation is √2 times that.
	scale := single.Manifest().Calibration.Scale / m.Manifest().Calibration.Scale // they are calibrated apart
	for i, mean := range e.Mean {
		near(t, "spread over members", e.ModelStd[i], math.Sqrt2*math.Abs(alone.Mean[i]/scale-mean))
	}
	lead := explained(t, m, rows, psi.Explain{Output: "top", Against: "low", Groups: body()})
	if len(lead.ModelStd) != len(lead.Mean) || len(lead.Players) != 3 || slices.Max(lead.ModelStd) == 0 {
		t.Errorf("%d numbers of %d attributions", len(lead.ModelStd), len(lead.Mean))
	}
	learned := trained(t, rows, psi.Config{Head: "learned", Change: func(s *psi.Settings) { moment(s); s.Members = 2 }})
	if fast := explained(t, learned, rows, psi.Explain{To: 5}); fast.ModelStd == nil {
		t.Error("members of the learned head do not disagree")
	}
	if exact := explained(t, learned, rows, psi.Explain{To: 5, Mode: explain.Exact}); exact.ModelStd != nil {
		t.Error("the spread of what the trunks say is told of other numbers")
	}
}
