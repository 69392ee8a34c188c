package synth

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/stat/combin"
)

// overOrders returns the Shapley values of v as means over all orders in which players can come.
func overOrders(players int, v func(coalition uint) float64) []float64 {
	values := make([]float64, 1<<players)
	for s := range values {
		values[s] = v(uint(s))
	}
	phi := make([]float64, players)
	orders := combin.Permutations(players, players)
	for _, order := range orders {
		var came uint
		for _, d := range order {
			phi[d] += (values[came|1<<d] - values[came]) / float64(len(orders))
			came |= 1 << d
		}
	}
	return phi
}

func TestShapleyValuesAgainstOrders(t *testing.T) {
	const seed = 1
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	for players := 1; players <= 5; players++ {
		value := make([]float64, 1<<players)
		for s := range value {
			value[s] = rnd.NormFloat64()
		}
		v := func(s uint) float64 { return value[s] }
		want := overOrders(players, v)
		for d, got := range shapleyValues(players, v) {
			if !scalar.EqualWithinAbs(got, want[d], exact) {
				t.Errorf("%d players: φ_%d = %g, orders give %g", players, d+1, got, want[d])
			}
		}
	}
	// A glove game: players 1 and 2 have a left one, player 3 a right one.
	pairs := func(s uint) float64 { return math.Min(float64(s>>2), float64(s&1|s>>1&1)) }
	for d, want := range []float64{1. / 6, 1. / 6, 2. / 3} {
		if got := shapleyValues(3, pairs)[d]; !scalar.EqualWithinAbs(got, want, exact) {
			t.Errorf("gloves: φ_%d = %g, want %g", d+1, got, want)
		}
	}
}
