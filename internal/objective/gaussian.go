// Package objective builds the losses: likelihoods, and estimators of D_SHAP, the distance of the attributions from
// Shapley values.
package objective

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"
)

// SquaredError returns (y − μ)², the likelihood of the mean without the variance. With the variance, the gradient of
// the mean would scale with 1/σ² and almost vanish in noisy regions.
func SquaredError(y, mu *Node) *Node { return Square(Sub(y, mu)) }

// maxExponent keeps e^x within the range of 32-bit floats.
const maxExponent = 50

// GammaDeviance returns the gamma deviance of a positive number from its mean, in units of the variance s² of its log:
// 2(e^x − 1 − x)/s², where x = s(y − μ). y is the log of the number and μ that of the mean, both in standard deviations
// s. For small s it approaches (y − μ)².
func GammaDeviance(y, mu *Node, s float64) *Node {
	x := MinScalar(MulScalar(Sub(y, mu), s), maxExponent)
	return MulScalar(AddScalar(Sub(Exp(x), x), -1), 2/(s*s)) // Expm1 lacks a gradient on some backends
}

// GaussianNLL returns −log N(y; μ, σ²) for a squared distance (y − μ)² and σ², ½ [log 2πσ² + (y − μ)²/σ²].
func GaussianNLL(square, variance *Node) *Node {
	return MulScalar(Add(AddScalar(Log(variance), math.Log(2*math.Pi)), Div(square, variance)), 0.5)
}
