// Package objective builds the losses: likelihoods, and estimators of D_SHAP, the distance of the attributions from
// Shapley values.
package objective

import (
	"math"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/integrate/quad"

	"github.com/psi-shapley/psi/internal/link"
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

// side returns +1 where the label y [B, 1] is 1, else −1.
func side(y *Node) *Node { return AddScalar(MulScalar(y, 2), -1) }

// softplus returns log(1 + eˣ), written with functions that have gradients on every backend.
func softplus(x *Node) *Node { return Add(MaxScalar(x, 0), Log1P(Exp(Neg(Abs(x))))) }

// LogisticNLL returns −log sigmoid(±μ) [B, 1] for labels y [B, 1] of 0 and 1 and log odds μ.
func LogisticNLL(y, mu *Node) *Node { return softplus(Neg(Mul(side(y), mu))) }

// LogisticNormalNLL returns −log ∫ sigmoid(±u) N(u; μ, σ²) du [B, 1]: the exact likelihood of a label whose log odds
// are uncertain.
func LogisticNormalNLL(y, mu, variance *Node) *Node {
	z, w := link.Nodes()
	logs := make([]float64, len(w))
	for q := range w {
		logs[q] = math.Log(w[q])
	}
	u := Mul(side(y), Add(mu, Mul(Sqrt(variance), InsertAxes(ConstAs(mu, z), 0)))) // [B, Q]
	return Neg(logSumExp(Sub(InsertAxes(ConstAs(mu, logs), 0), softplus(Neg(u)))))
}

// logSumExp returns log Σ exp(a) over the last axis, which is kept.
func logSumExp(a *Node) *Node {
	top := StopGradient(ReduceAndKeep(a, ReduceMax, -1))
	return Add(top, Log(ReduceAndKeep(Exp(Sub(a, top)), ReduceSum, -1)))
}

// boundNodes is the number of nodes of TruncatedNLL's integrals.
const boundNodes = 64

// TruncatedNLL returns minus the paper's bound (Eq. 14) [B, 1]: with q the N(μ, σ²) of the log odds restricted to the
// label's side of 0,
//
//	E_q[log sigmoid(±u)] + log Φ(±μ/σ),
//
// the second term being E_q[log p] + H(q), with the errors of the paper's closed forms corrected. For fixed μ/σ it
// grows with σ, so the scale of log odds and attributions depends on when training stops. It is kept to show that.
//
// With a = ±μ/σ and u = ±σt both terms are integrals of e^{at − t²/2} over t > 0. The integrand is negligible beyond 9
// on either side of a and, where a < 0, beyond a + √(a² + 64).
func TruncatedNLL(y, mu, variance *Node) *Node {
	sigma := Sqrt(variance)
	a := Div(Mul(side(y), mu), sigma) // [B, 1]
	x, w := make([]float64, boundNodes), make([]float64, boundNodes)
	quad.Legendre{}.FixedLocations(x, w, 0, 1)
	for q := range w {
		w[q] = math.Log(w[q])
	}
	from := StopGradient(MaxScalar(AddScalar(a, -9), 0))
	to := StopGradient(Min(Add(a, Sqrt(AddScalar(Square(a), 64))), AddScalar(MaxScalar(a, 0), 9)))
	span := Sub(to, from)
	t := Add(from, Mul(span, InsertAxes(ConstAs(mu, x), 0))) // [B, Q]
	weight := Add(InsertAxes(ConstAs(mu, w), 0), Sub(Mul(a, t), MulScalar(Square(t), 0.5)))
	mass := logSumExp(weight) // log ∫ e^{at − t²/2} dt, less log span
	expected := ReduceAndKeep(Mul(Exp(Sub(weight, mass)), Neg(softplus(Neg(Mul(sigma, t))))), ReduceSum, -1)
	logPhi := Sub(Add(mass, Log(span)), AddScalar(MulScalar(Square(a), 0.5), 0.5*math.Log(2*math.Pi)))
	return Neg(Add(expected, logPhi))
}

// SoftmaxNLL returns −log softmax(scores)_y [B, 1] for classes y [B, 1], numbered from 0, and scores [B, C].
func SoftmaxNLL(y, scores *Node) *Node {
	return Sub(logSumExp(scores), ReduceAndKeep(Mul(chosen(y, scores), scores), ReduceSum, -1))
}

// SoftmaxNormalNLL returns SoftmaxNLL of uncertain scores, with the approximation of link.SoftmaxNormal: all are shrunk
// by √(1 + πv/8), where v is their mean variance.
func SoftmaxNormalNLL(y, scores, variance *Node) *Node {
	mean := ReduceAndKeep(variance, ReduceMean, -1)
	return SoftmaxNLL(y, Div(scores, Sqrt(AddScalar(MulScalar(mean, math.Pi/8), 1))))
}

// chosen returns 1 at the class y [B, 1] of scores [B, C], else 0.
func chosen(y, scores *Node) *Node {
	class := Iota(scores.Graph(), shapes.Make(scores.DType(), 1, scores.Shape().Dim(-1)), -1)
	return ConvertDType(LessThan(Abs(Sub(y, class)), ConstAs(y, 0.5)), scores.DType())
}
