package explain

import (
	"math"
	"math/rand/v2"
	"testing"
)

// attributed is an explanation whose players' attributions are drawn.
func attributed(rows int, draw ...func() float64) *Explanation {
	e := onePrediction(make([]float64, len(draw)), make([]float64, len(draw)), 1)
	e.Rows, e.Mean, e.Observed = rows, nil, nil
	for range rows {
		for _, d := range draw {
			e.Mean, e.Observed = append(e.Mean, d()), append(e.Observed, true)
		}
	}
	e.Std = make([]float64, len(e.Mean))
	return e
}

func TestDriftsFindTheColumnThatMoved(t *testing.T) {
	rng := fixedRand(t, 3)
	normal := func(mean, std float64) func() float64 {
		return func() float64 { return mean + std*rng.NormFloat64() }
	}
	before := attributed(3000, normal(0, 1), normal(0, 1), normal(0, 2))
	after := attributed(2000, normal(0, 1), normal(.5, 1), normal(0, 2))
	list, err := Drifts(before, after, 0)
	if err != nil {
		t.Fatal(err)
	}
	if list[0].Player != "x1" || !list[0].Drifted() {
		t.Errorf("the column that moved is not first: %+v", list)
	}
	// The distance of N(0, 1) from N(μ, 1) is |μ|.
	if d := list[0].Distance; math.Abs(d-.5) > .1 {
		t.Errorf("distance %v of distributions .5 apart", d)
	}
	// E|N(μ, 1)| = √(2/π)·exp(−μ²/2) + μ·erf(μ/√2).
	change := math.Sqrt(2/math.Pi)*(math.Exp(-.125)-1) + .5*math.Erf(.5/math.Sqrt2)
	if x := list[0]; math.Abs(x.After-x.Before-change) > 4*x.ChangeError || x.ChangeError > .03 {
		t.Errorf("mean size changed by %v ± %v, not by %v", x.After-x.Before, x.ChangeError, change)
	}
}

// distances are those of tables of one column: the one observed, and the one beyond which there is an alarm.
func distances(a, b []float64, rng *rand.Rand) (distance, chance float64) {
	x := relabel([][]float64{a}, [][]float64{b}, rng)[0]
	return x.distance, x.chance
}

// Of tables from one distribution one in twenty is to be called drifted.
func TestDriftsByChance(t *testing.T) {
	const trials = 400
	rng := fixedRand(t, 5)
	called := 0
	for range trials {
		a, b := make([]float64, 150), make([]float64, 100)
		for _, list := range [][]float64{a, b} {
			for i := range list {
				list[i] = math.Exp(rng.NormFloat64())
			}
		}
		if distance, chance := distances(a, b, rand.New(rand.NewPCG(rng.Uint64(), 0))); distance > chance {
			called++
		}
	}
	if share := float64(called) / trials; share < .02 || share > .09 {
		t.Errorf("%.3f of pairs of equal tables are called drifted", share)
	}
}

func TestDistanceByHand(t *testing.T) {
	// 0 and 1 against 0 and 3: half of the mass moves by 2.
	if d, _ := distances([]float64{0, 1}, []float64{3, 0}, fixedRand(t, 1)); math.Abs(d-1) > 1e-12 {
		t.Errorf("distance %v, not 1", d)
	}
}

func TestDriftsOfOtherModels(t *testing.T) {
	a, b := attributed(3, func() float64 { return 1 }), attributed(3, func() float64 { return 1 })
	b.Model = "sha256:another"
	if _, err := Drifts(a, b, 0); err == nil {
		t.Error("explanations of two models were compared")
	}
}
