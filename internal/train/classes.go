package train

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/psi-shapley/psi/internal/link"
	"github.com/psi-shapley/psi/internal/objective"
)

// classes is a categorical target. The outputs of a network are scores less φ_0: one log odds, or a score of each
// class.
type classes struct{ *Run }

// minVariance is a lower bound of a score's variance, so that the derivative of its square root stays finite.
const minVariance = 1e-4

// fit uses the label for the row as observed and, with the same weight, for its masked copy. μ(x_S) thus becomes the
// score of P(y | x_S), and φ_0 that of P(y). Hidden cells are marginalised on the scale of probabilities. h is the
// standard deviation of the score over the hidden cells. docs/adr/0011 lists the alternatives that were tried.
func (r classes) fit(in lossInputs, v *Node, learners []*Node, _ *Node) *Node {
	label := meanOf(learners, func(v *Node) *Node {
		return Add(r.observedNLL(in, r.scores(copyOf(v, objective.Observed))), r.pointNLL(in.y, r.scores(copyOf(v, objective.Masked))))
	})
	gap := StopGradient(objective.SquaredError(copyOf(v, objective.Observed), copyOf(v, objective.Masked)))
	return Add(in.mean(label), in.mean(objective.GaussianNLL(gap, r.hiddenVariance(in))))
}

func (r classes) coalitions(in lossInputs, learners []*Node) *Node {
	return in.mean(meanOf(learners, func(v *Node) *Node {
		return Add(r.pointNLL(in.y, r.scores(copyOf(v, objective.Observed))), r.pointNLL(in.y, r.scores(copyOf(v, objective.Masked))))
	}))
}

// scores returns φ_0 + v for v [B, C].
func (r classes) scores(v *Node) *Node { return Add(v, InsertAxes(ConstAs(v, r.Base), 0)) }

// pointNLL returns −log p(y | μ) [B, 1] of scores μ [B, C].
func (r classes) pointNLL(y, mu *Node) *Node {
	if r.net.Outputs > 1 {
		return objective.SoftmaxNLL(y, mu)
	}
	return objective.LogisticNLL(y, mu)
}

// observedNLL returns pointNLL of rows as observed; the paper's bound also uses their σ.
func (r classes) observedNLL(in lossInputs, mu *Node) *Node {
	if !r.fitsSigma() {
		return r.pointNLL(in.y, mu)
	}
	return objective.TruncatedNLL(in.y, mu, AddScalar(ReduceSum(Square(in.Std(in.asObserved())), -1), minVariance))
}

// spread leaves out h: missing cells are already marginalised in the scores.
func (r classes) spread(in lossInputs, v, sigma, _ *Node) *Node {
	if r.net.Outputs > 1 {
		return objective.SoftmaxNormalNLL(in.y, r.scores(v), sigma)
	}
	return objective.LogisticNormalNLL(in.y, r.scores(v), AddScalar(sigma, minVariance))
}

// hidden returns −log N(μ(x_S); μ(x), h²). The columns that S hides add their own noise: Var(y | x_S) = Var(μ(x) | x_S)
// + E[σ²(x) | x_S].
func (r classes) hidden(in lossInputs, v, sigma *Node) *Node {
	absent := OneMinus(copyOf(in.mask, objective.Masked)) // [B, D]; σ of missing cells is 0
	noise := ReduceSum(Mul(sigma, InsertAxes(absent, 1)), -1)
	gap := objective.SquaredError(copyOf(v, objective.Observed), copyOf(v, objective.Masked))
	return objective.GaussianNLL(StopGradient(Add(gap, noise)), r.hiddenVariance(in))
}

// score returns the log loss of the scores without their spread.
func (classes) score(v *validated) float64 { return v.logLoss(func(int) float64 { return 0 }) }

// spreadScore returns the log loss over the spread σ_d of the scores.
func (classes) spreadScore(v *validated) float64 { return v.logLoss(v.variance) }

// logLoss returns the mean of −log p(y) for scores of the given variance.
func (v *validated) logLoss(variance func(i int) float64) float64 {
	c := len(v.base)
	scores, variances, p := make([]float64, c), make([]float64, c), make([]float64, c)
	return v.mean(func(row int) float64 {
		for k := range c {
			scores[k], variances[k] = float64(v.Value[row*c+k])+v.base[k], variance(row*c+k)
		}
		if c == 1 {
			return -link.LogLogisticNormal(scores[0], math.Sqrt(variances[0]), v.data.Target[row] == 1)
		}
		link.SoftmaxNormal(scores, variances, p)
		return -math.Log(max(p[int(v.data.Target[row])], math.SmallestNonzeroFloat64))
	})
}

// fitsSigma: the paper's bound, which is for two classes, also trains σ.
func (r classes) fitsSigma() bool { return r.Likelihood == Bound && r.net.Outputs == 1 }

func (classes) refits() bool { return false }
