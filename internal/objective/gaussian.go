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

// GaussianNLL is −log N(y; μ, σ²) for a squared distance (y − μ)² and σ²,
// ½ [log 2πσ² + (y − μ)²/σ²].
func GaussianNLL(square, variance *Node) *Node {
	return MulScalar(Add(AddScalar(Log(variance), math.Log(2*math.Pi)), Div(square, variance)), 0.5)
}
