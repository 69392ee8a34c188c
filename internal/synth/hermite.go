package synth

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
)

// hermiteNodes gives the log odds of the data set logit with an error below 1e-6 if no column is beyond ±4. The worst
// case is a large x3 and x1 absent at ρ = 0: the steeper the sigmoid, the nearer its poles. For ρ = 0.5 the error is
// 4e-8.
const hermiteNodes = 60

// hermite is the Gauss–Hermite rule for E f(Z), Z ~ N(0, 1), of functions with values in (0, 1).
type hermite struct {
	z, weight []float64
}

func newHermite() *hermite {
	const negligible = 1e-17
	var u, weight [hermiteNodes]float64
	quad.Hermite{}.FixedLocations(u[:], weight[:], math.Inf(-1), math.Inf(1)) // for ∫ exp(−u²) f(u) du
	var q hermite
	for k, w := range weight {
		if w > negligible { // halves the nodes of a double integral
			q.z, q.weight = append(q.z, math.Sqrt2*u[k]), append(q.weight, w/math.SqrtPi)
		}
	}
	return &q
}

// mean returns E[f(x) | x_S]. It integrates over one absent column after another, each given those before it.
func (q *hermite) mean(law equicorrelated, x [columns]float64, coalition uint, f func(x [columns]float64) float64) float64 {
	for d := range x {
		if coalition>>d&1 == 1 {
			continue
		}
		mean, variance, _ := law.given(x, coalition)
		std := math.Sqrt(variance)
		var sum float64
		for k, z := range q.z {
			x[d] = mean + std*z
			sum += q.weight[k] * q.mean(law, x, coalition|1<<d, f)
		}
		return sum
	}
	return f(x)
}
