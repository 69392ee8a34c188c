package explain

import (
	"math"
	"slices"
)

// Attribution is the contribution of a player, a column or a group of columns, to a prediction. Numbers that do not
// apply are NaN.
type Attribution struct {
	Player        string
	Value         string // cell of the user's table as text; "" if missing or a group
	Observed      bool
	Mean, Std     float64
	Lower, Upper  float64 // interval about Mean by ModelStd or, if that is not known, by Std
	PPositive     float64 // P(φ > 0) under the same distribution; NaN if not observed
	PTop          float64 // P(|φ| is among the K largest of the observed players)
	StandardError float64 // sampling error of Mean; NaN unless Mean was sampled
	ModelStd      float64 // epistemic uncertainty: standard deviation of Mean over samples of training rows; NaN if unknown
}

// Attributions returns the attributions of all players to one output of one row, in player order.
func (e *Explanation) Attributions(row, output int) []Attribution {
	return e.attributions(row, output, newTop(e.Top), e.law())
}

// At returns the attribution of a column, or a group of columns, to the prediction of a row. found is false if there is
// no such row, output or column. An empty output selects the first output.
func (e *Explanation) At(row int, output, column string) (a Attribution, found bool) {
	k, d := 0, slices.Index(e.Players, column)
	if output != "" {
		k = slices.Index(e.Outputs, output)
	}
	if row < 0 || row >= e.Rows || k < 0 || d < 0 {
		return Attribution{}, false
	}
	return e.Attribution(row, k, d), true
}

// Attribution returns one of Attributions. It costs as much as all of them.
func (e *Explanation) Attribution(row, output, player int) Attribution {
	return e.Attributions(row, output)[player]
}

func (e *Explanation) attributions(row, output int, top *top, law law) []Attribution {
	list := make([]Attribution, len(e.Players))
	mean, std, observed := e.means(row, output), e.stds(row, output), e.observed(row)
	doubt, wide := e.deviations(row, output), make([]float64, len(list))
	for d, s := range doubt {
		wide[d] = law.width * s
	}
	pTop := top.probabilities(mean, wide, observed)
	for d := range list {
		a := Attribution{
			Player:        e.Players[d],
			Observed:      observed[d],
			Mean:          mean[d],
			Std:           std[d],
			Lower:         mean[d] - law.reach*doubt[d],
			Upper:         mean[d] + law.reach*doubt[d],
			PPositive:     math.NaN(),
			PTop:          pTop[d],
			StandardError: math.NaN(),
			ModelStd:      math.NaN(),
		}
		if column := e.Values[d]; column != nil {
			a.Value = column.Text(row)
		}
		if a.Observed {
			a.PPositive = law.positive(a.Mean, doubt[d])
		}
		if e.StandardError != nil {
			a.StandardError = e.of(e.StandardError, row, output, len(e.Players))[d]
		}
		if e.ModelStd != nil {
			a.ModelStd = e.of(e.ModelStd, row, output, len(e.Players))[d]
		}
		list[d] = a
	}
	return list
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
