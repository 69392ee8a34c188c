package train

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/psi-shapley/psi/internal/link"
	"github.com/psi-shapley/psi/internal/objective"
)

// classes is a target that is one of several labels. The outputs of a network are scores less
// φ_0: one log odds, or a score of each class.
type classes struct{ *Run }

// minVariance of a score keeps the slope of its square root finite.
const minVariance = 1e-4

// fit takes a label to speak of the row as observed and, as well, of its masked copy, so that
// μ(x_S) is the score of P(y | x_S) and φ_0 that of P(y). What a coalition hides is thus averaged
// over where probabilities are added up; h is how far the score would move if it were known.
// docs/adr/0011 has what else was tried.
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

// scores are φ_0 + v for v [B, C].
func (r classes) scores(v *Node) *Node { return Add(v, InsertAxes(ConstAs(v, r.Base), 0)) }

// pointNLL is −log p(y | μ) [B, 1] of scores μ [B, C].
func (r classes) pointNLL(y, mu *Node) *Node {
	if r.net.Outputs > 1 {
		return objective.SoftmaxNLL(y, mu)
	}
	return objective.LogisticNLL(y, mu)
}

// observedNLL is pointNLL of rows as observed; the paper's bound sees their σ too.
func (r classes) observedNLL(in lossInputs, mu *Node) *Node {
	if !r.fitsSigma() {
		return r.pointNLL(in.y, mu)
	}
	return objective.TruncatedNLL(in.y, mu, AddScalar(ReduceSum(Square(in.Std(in.asObserved())), -1), minVariance))
}

// spread leaves out what the rows lack: their scores are those with it averaged over.
func (r classes) spread(in lossInputs, v, sigma, _ *Node) *Node {
	if r.net.Outputs > 1 {
		return objective.SoftmaxNormalNLL(in.y, r.scores(v), sigma)
	}
	return objective.LogisticNormalNLL(in.y, r.scores(v), AddScalar(sigma, minVariance))
}

// hidden is −log N(μ(x_S); μ(x), h²). The columns that S hides add their own noise: Var(y | x_S) = Var(μ(x) | x_S) + E[σ²(x) | x_S].
func (r classes) hidden(in lossInputs, v, sigma *Node) *Node {
	absent := OneMinus(copyOf(in.mask, objective.Masked)) // [B, D]; σ of missing cells is 0
	noise := ReduceSum(Mul(sigma, InsertAxes(absent, 1)), -1)
	gap := objective.SquaredError(copyOf(v, objective.Observed), copyOf(v, objective.Masked))
	return objective.GaussianNLL(StopGradient(Add(gap, noise)), r.hiddenVariance(in))
}

// score is the log loss of the scores without their spread.
func (classes) score(v *validated) float64 { return v.logLoss(func(int) float64 { return 0 }) }

// spreadScore is the log loss over the spread σ_d of the scores.
func (classes) spreadScore(v *validated) float64 { return v.logLoss(v.variance) }

// logLoss is the mean of −log p(y) for scores of the given variance.
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

// fitsSigma: the paper's bound, which is for two classes, is one of σ too.
func (r classes) fitsSigma() bool { return r.Likelihood == Bound && r.net.Outputs == 1 }

func (classes) refits() bool { return false }
