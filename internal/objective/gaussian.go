// Package objective builds the losses: likelihoods, and estimators of D_SHAP, the
// distance of the attributions from Shapley values.
package objective

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"
)

// SquaredError is (y − μ)², the likelihood of the mean with the variance left out:
// a likelihood with its variance in would scale the mean's gradient by 1/σ² and
// starve noisy regions.
func SquaredError(y, mu *Node) *Node { return Square(Sub(y, mu)) }

// maxExponent keeps e^x within 32 bits.
const maxExponent = 50

// GammaDeviance is that of a positive number from its mean, in variances s² of its log: 2(e^x − 1 − x)/s², where x = s(y − μ), y is the log of the number and μ that of the
// mean, both in standard deviations s. For small s it is (y − μ)².
func GammaDeviance(y, mu *Node, s float64) *Node {
	x := MinScalar(MulScalar(Sub(y, mu), s), maxExponent)
	return MulScalar(AddScalar(Sub(Exp(x), x), -1), 2/(s*s)) // Expm1 has no gradient on every backend
}

// GaussianNLL is −log N(y; μ, σ²) for a squared distance (y − μ)² and σ²,
// ½ [log 2πσ² + (y − μ)²/σ²].
func GaussianNLL(square, variance *Node) *Node {
	return MulScalar(Add(AddScalar(Log(variance), math.Log(2*math.Pi)), Div(square, variance)), 0.5)
}
