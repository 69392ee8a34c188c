package synth

import "math/bits"

// shapleyValues returns the Shapley values of the game v of a few players,
//
//	φ_d = Σ_{S∌d} |S|! (n−1−|S|)! / n! (v(S∪d) − v(S)).
//
// Bit d of a coalition is player d. It does not use package shapley, because the truth serves to test that package.
func shapleyValues(players int, v func(coalition uint) float64) []float64 {
	values := make([]float64, 1<<players)
	for s := range values {
		values[s] = v(uint(s))
	}
	weight := make([]float64, players) // |S|! (n−1−|S|)! / n! by |S|
	weight[0] = 1 / float64(players)
	for size := 1; size < players; size++ {
		weight[size] = weight[size-1] * float64(size) / float64(players-size)
	}
	phi := make([]float64, players)
	for d := range phi {
		for s, without := range values {
			if s>>d&1 == 0 {
				phi[d] += weight[bits.OnesCount(uint(s))] * (values[s|1<<d] - without)
			}
		}
	}
	return phi
}
