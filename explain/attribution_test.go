package explain

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

func TestAttributions(t *testing.T) {
	rng := newRand(t)
	e := randomExplanation(rng, shape{rows: 20, outputs: 3, players: 7, sampled: true, doubt: true})
	for row := range e.Rows {
		for output := range e.Outputs {
			for d, a := range e.Attributions(row, output) {
				at := (row*3+output)*7 + d
				text := ""
				if e.Values[d] != nil {
					text = e.Values[d].Text(row)
				}
				if a.Player != e.Players[d] || a.Value != text || a.Observed != e.Observed[row*7+d] ||
					a.Mean != e.Mean[at] || a.Std != e.Std[at] || a.StandardError != e.StandardError[at] || a.ModelStd != e.ModelStd[at] {
					t.Fatalf("row %d, output %d, player %d: %+v", row, output, d, a)
				}
				if reach := (a.Upper - a.Lower) / 2; math.Abs(reach-2.7765*a.ModelStd) > 1e-4*reach || math.Abs((a.Upper+a.Lower)/2-a.Mean) > 1e-12*(1+reach) {
					t.Errorf("interval [%v, %v] of %v ∓ 2.7765·%v", a.Lower, a.Upper, a.Mean, a.ModelStd)
				}
				if a.Observed && math.Abs(a.PPositive-fourDegrees(a.Mean/a.ModelStd)) > 1e-7 {
					t.Errorf("P(φ > 0) = %v at %v ± %v", a.PPositive, a.Mean, a.ModelStd)
				}
				if one := e.Attribution(row, output, d); one.PTop != a.PTop || one.Mean != a.Mean {
					t.Errorf("Attribution %+v is not that of Attributions, %+v", one, a)
				}
			}
		}
	}
}

// fourDegrees is Student's distribution with four degrees of freedom, as five bags have, in closed form. It has .95 within ∓ 2.7764, and
// as much as ∓ 1.96 has of a normal distribution within ∓ 2.7765.
func fourDegrees(t float64) float64 {
	s := t / math.Sqrt(1+t*t/4)
	return .5 + 3./8*s*(1-s*s/12)
}

// Where doubt is not known, intervals are by spread, of a normal distribution.
func TestIntervalsBySpread(t *testing.T) {
	e := randomExplanation(newRand(t), shape{rows: 20, outputs: 1, players: 7})
	for row := range e.Rows {
		for _, a := range e.Attributions(row, 0) {
			if a.Lower != a.Mean-1.96*a.Std || a.Upper != a.Mean+1.96*a.Std {
				t.Errorf("interval [%v, %v] of %v ∓ 1.96·%v", a.Lower, a.Upper, a.Mean, a.Std)
			}
			if a.Observed && math.Abs(a.PPositive-distuv.Normal{Mu: a.Mean, Sigma: a.Std}.Survival(0)) > 1e-12 {
				t.Errorf("P(N(%v, %v²) > 0) = %v", a.Mean, a.Std, a.PPositive)
			}
		}
	}
}

func TestAttributionOfWhatIsNotObserved(t *testing.T) {
	e := onePrediction([]float64{1, 0, 3}, []float64{1, 0, 0}, 2)
	e.Observed[1] = false
	a := e.Attribution(0, 0, 1)
	if a.Observed || a.Mean != 0 || a.Std != 0 || a.Lower != 0 || a.Upper != 0 || a.PTop != 0 || !math.IsNaN(a.PPositive) || !math.IsNaN(a.StandardError) || !math.IsNaN(a.ModelStd) {
		t.Errorf("%+v", a)
	}
	if p := e.Attribution(0, 0, 0).PTop; p != 1 {
		t.Errorf("one of two observed players is among the two largest with probability %v", p)
	}
}
