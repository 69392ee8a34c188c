package synth

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// equicorrelated is the law of three standard normal columns of which every pair has the correlation ρ, 0 ≤ ρ < 1. Bit d
// of a coalition is column d.
type equicorrelated struct{ rho float64 }

// draw returns √ρ u + √(1−ρ) e_d: the columns share u.
func (l equicorrelated) draw(rnd *rand.Rand) [columns]float64 {
	shared := math.Sqrt(l.rho) * rnd.NormFloat64()
	var x [columns]float64
	for d := range x {
		x[d] = shared + math.Sqrt(1-l.rho)*rnd.NormFloat64()
	}
	return x
}

// given returns the conditional moments of absent columns, given the k columns of a coalition S:
//
//	E[x_a | x_S]        = ρ / (1 + (k−1)ρ) Σ_{d∈S} x_d
//	Cov(x_a, x_b | x_S) = ρ (1−ρ) / (1 + (k−1)ρ)
//	Var(x_a | x_S)      = Cov(x_a, x_b | x_S) + 1 − ρ
func (l equicorrelated) given(x [columns]float64, coalition uint) (mean, variance, covariance float64) {
	scale := l.rho / (1 + float64(bits.OnesCount(coalition)-1)*l.rho)
	for d, value := range x {
		if coalition>>d&1 == 1 {
			mean += scale * value
		}
	}
	covariance = scale * (1 - l.rho)
	return mean, covariance + 1 - l.rho, covariance
}
