package explain

import (
	"math"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/table"
)

func TestValidate(t *testing.T) {
	fresh := func() *Explanation {
		return randomExplanation(fixedRand(t, 1), shape{rows: 4, outputs: 2, players: 5, probability: true, sampled: true, interactions: true, doubt: true})
	}
	if err := fresh().Validate(); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(e *Explanation){
		"mode":                      func(e *Explanation) { e.Mode = "slow" },
		"scale":                     func(e *Explanation) { e.Scale = "" },
		"z is":                      func(e *Explanation) { e.Z = math.NaN() },
		"at least 1":                func(e *Explanation) { e.Top = 0 },
		"rows from row":             func(e *Explanation) { e.FirstRow = -1 },
		"no output":                 func(e *Explanation) { e.Outputs = nil },
		"no player":                 func(e *Explanation) { e.Players = nil },
		"without a name":            func(e *Explanation) { e.Players[0] = "" },
		`players are named "x1"`:    func(e *Explanation) { e.Players[0] = "x1" },
		"Base has 7":                func(e *Explanation) { e.Base = e.Base[1:] },
		"Prediction has":            func(e *Explanation) { e.Prediction = nil },
		"PredictionStd has":         func(e *Explanation) { e.PredictionStd = nil },
		"HiddenStd has":             func(e *Explanation) { e.HiddenStd = nil },
		"Probability has":           func(e *Explanation) { e.Probability = e.Probability[:0] },
		"Residual has":              func(e *Explanation) { e.Residual = nil },
		"Mean has":                  func(e *Explanation) { e.Mean = nil },
		"Std has":                   func(e *Explanation) { e.Std = nil },
		"StandardError has 39":      func(e *Explanation) { e.StandardError = e.StandardError[1:] },
		"ModelStd has":              func(e *Explanation) { e.ModelStd = e.ModelStd[1:] },
		"Interactions has":          func(e *Explanation) { e.Interactions = e.Interactions[1:] },
		"InteractionError has":      func(e *Explanation) { e.InteractionError = e.InteractionError[1:] },
		"without Interactions":      func(e *Explanation) { e.Interactions = nil },
		"Observed has":              func(e *Explanation) { e.Observed = nil },
		"Other has 1":               func(e *Explanation) { e.Other = []bool{true} },
		"4 columns for 5 players":   func(e *Explanation) { e.Values = e.Values[1:] },
		"have 1 rows":               func(e *Explanation) { e.Values[0] = table.NumberColumn("x0", []float64{1}, nil) },
		"deviation is negative":     func(e *Explanation) { e.Observed[0], e.Std[0] = true, -1 },
		`player "x0": it is not ob`: func(e *Explanation) { e.Observed[0], e.Mean[0] = false, 1 },
		`player "x1": it is not ob`: func(e *Explanation) { e.Observed[1], e.Mean[1], e.Std[1], e.ModelStd[1] = false, 0, 0, 1 },
		`"x1": its standard deviat`: func(e *Explanation) { e.Observed[1], e.ModelStd[1] = true, -1 },
	} {
		e := fresh()
		spoil(e)
		if err := e.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}
