package train

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// target is what a run learns to predict: how far outputs are from it, as graphs to train by
// and as numbers to validate by.
type target interface {
	// fit is the loss, a scalar, of the mean: of outputs v [B, P, C] of rows as observed and of
	// their masked copies, as each learner says them, and of h. precision [B, C], if given, weighs the rows as observed.
	fit(in lossInputs, v *Node, learners []*Node, precision *Node) *Node
	// coalitions is the loss, a scalar, of rows as observed and of their masked copies, all alike, as each learner says them.
	coalitions(in lossInputs, learners []*Node) *Node
	// spread is −log p(y) [B, 1] of outputs v [B, C] of rows as observed, with the variances of
	// σ_d and of what the rows lack.
	spread(in lossInputs, v, sigma, lacking *Node) *Node
	// hidden is the loss [B, C] of h in the phase spread, of outputs v [B, 2, C] of rows as observed and of their masked copies, with σ_d² [B, C, D]
	// of the former. Only h has a gradient.
	hidden(in lossInputs, v, sigma *Node) *Node
	// score is the error of the mean on validation rows.
	score(v *validated) float64
	// spreadScore is −log p(y) on validation rows, with all that is uncertain.
	spreadScore(v *validated) float64
	// fitsSigma says whether fit trains σ too, so that it needs no phase of its own.
	fitsSigma() bool
	// refits says whether the mean gains from a second fit that knows σ.
	refits() bool
}

func (r *Run) newTarget() target {
	if r.net.Classes {
		return classes{r}
	}
	return number{r}
}

// meanOf is the mean of a loss over learners.
func meanOf(learners []*Node, loss func(v *Node) *Node) *Node {
	sum := loss(learners[0])
	for _, v := range learners[1:] {
		sum = Add(sum, loss(v))
	}
	return DivScalar(sum, float64(len(learners)))
}
