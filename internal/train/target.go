package train

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// target is the kind of target: its losses, as graphs for training and as numbers for validation.
type target interface {
	// fit returns the scalar loss of the mean, for outputs v [B, P, C] of rows as observed and of their masked copies,
	// for each learner, and of h. precision [B, C], if given, weights the rows as observed.
	fit(in lossInputs, v *Node, learners []*Node, precision *Node) *Node
	// coalitions returns the scalar loss of rows as observed and of their masked copies, equally weighted, for each
	// learner.
	coalitions(in lossInputs, learners []*Node) *Node
	// spread returns −log p(y) [B, 1] of outputs v [B, C] of rows as observed, with the variances of σ_d and of the
	// missing cells.
	spread(in lossInputs, v, sigma, lacking *Node) *Node
	// hidden returns the loss [B, C] of h in the phase spread, for outputs v [B, 2, C] of rows as observed and of their
	// masked copies, and σ_d² [B, C, D] of the former. Only h has a gradient.
	hidden(in lossInputs, v, sigma *Node) *Node
	// score returns the error of the mean on validation rows.
	score(v *validated) float64
	// spreadScore returns −log p(y) on validation rows, with all uncertainties.
	spreadScore(v *validated) float64
	// fitsSigma reports whether fit also trains σ, so that it needs no phase of its own.
	fitsSigma() bool
	// refits reports whether the mean gains from a second fit with known σ.
	refits() bool
}

func (r *Run) newTarget() target {
	if r.net.Classes {
		return classes{r}
	}
	return number{r}
}

// meanOf returns the mean of a loss over learners.
func meanOf(learners []*Node, loss func(v *Node) *Node) *Node {
	sum := loss(learners[0])
	for _, v := range learners[1:] {
		sum = Add(sum, loss(v))
	}
	return DivScalar(sum, float64(len(learners)))
}
