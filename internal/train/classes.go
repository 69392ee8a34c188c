package train

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/psi-shapley/psi/internal/objective"
)

// Likelihood is how the labels of two classes speak of their log odds.
type Likelihood string

const (
	// Marginal is the exact likelihood of a label, over the log odds' uncertainty.
	Marginal Likelihood = "marginal"
	// Bound is the paper's, whose scale drifts. Kept to show that.
	Bound Likelihood = "bound"
)

// Validate says whether the likelihood is one of those above.
func (l Likelihood) Validate() error {
	if l != Marginal && l != Bound {
		return fmt.Errorf("unknown likelihood %q: choose %s or %s", l, Marginal, Bound)
	}
	return nil
}

// leastVariance of a score keeps the slope of its square root finite.
const leastVariance = 1e-4

// classLikelihood is the loss of scores v [B, P, C] of classes: a label speaks of the row as
// observed and, as well, of its masked copy, so that μ(x_S) is the score of P(y | x_S) and
// φ_0 that of P(y). What a coalition hides is thus averaged over where probabilities are
// added up; h is how far the score would move if it were known. docs/adr/0011 has what else
// was tried.
func (r *Run) classLikelihood(in lossInputs, v *Node) *Node {
	observed, masked := r.scores(copyOf(v, objective.Observed)), r.scores(copyOf(v, objective.Masked))
	label := Add(r.labelNLL(in, observed), r.pointNLL(in.y, masked))
	gap := StopGradient(objective.SquaredError(observed, masked))
	return Add(in.mean(label), in.mean(objective.GaussianNLL(gap, r.hiddenVariance(in))))
}

// scores are φ_0 + v for v [B, C].
func (r *Run) scores(v *Node) *Node { return Add(v, InsertAxes(ConstAs(v, r.Base), 0)) }

// pointNLL is −log p(y | μ) [B, 1] of scores μ [B, C].
func (r *Run) pointNLL(y, mu *Node) *Node {
	if r.net.Outputs > 1 {
		return objective.SoftmaxNLL(y, mu)
	}
	return objective.LogisticNLL(y, mu)
}

// labelNLL is pointNLL of the rows as observed; the paper's bound sees their σ too.
func (r *Run) labelNLL(in lossInputs, mu *Node) *Node {
	if r.Likelihood != Bound || r.net.Outputs > 1 {
		return r.pointNLL(in.y, mu)
	}
	whole := Slice(in.mask, AxisRange(), AxisRange(0, 1))
	return objective.TruncatedNLL(in.y, mu, AddScalar(ReduceSum(Square(in.Std(whole)), -1), leastVariance))
}

// spreadNLL is −log p(y) [B, 1] for outputs v [B, C] as observed and the variances of σ_d and
// of what the row lacks. Scores of classes are already those with the latter averaged over.
func (r *Run) spreadNLL(in lossInputs, v, sigma, hidden *Node) *Node {
	switch {
	case !r.net.Classes:
		residual := Mul(objective.SquaredError(in.y, v), InsertAxes(in.NoiseGrowth(), 0))
		return objective.GaussianNLL(residual, Add(Add(sigma, hidden), InsertAxes(Square(in.NoiseStd()), 0)))
	case r.net.Outputs > 1:
		return objective.SoftmaxNormalNLL(in.y, r.scores(v), sigma)
	}
	return objective.LogisticNormalNLL(in.y, r.scores(v), AddScalar(sigma, leastVariance))
}
