package objective

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"
)

// Estimator is a method to estimate D_SHAP = Σ_d (φ_d − f_d)² / 2σ_d² from a few coalitions of each row. σ_d is trained
// after the mean, so it is 1, except in Weighed.
//
// With t(S) = f(x_{S∪d}) − f(x_S) − f_d(x) for a random player d and S the players before d in a random order, E[t] =
// φ_d − f_d.
type Estimator string

const (
	// LeastSquares is (v(S) − Σ_{d∈S} f_d)² with v(S) stopped and S from the Shapley kernel, whose minimiser over f
	// with Σ f_d = v fixed is φ. Every coalition trains every attribution.
	LeastSquares Estimator = "ls"
	// TwoDraws is t(S₁) t(S₂) with independent S₁, S₂: unbiased, as is its gradient.
	TwoDraws Estimator = "product"
	// Stopped is t(S)² with the gradient of the contribution stopped: unbiased for f_d alone.
	Stopped Estimator = "stop"
	// Absolute is the paper's |t(S₁) t(S₂)| (Eq. 17), which is biased: its minimiser is the median of the
	// contributions, and it penalises every interaction. It is kept to show that.
	Absolute Estimator = "abs"
)

// Copies of a row that a training step evaluates, by their index on the P axis. Observed and Masked are in every step;
// the estimators add theirs.
const (
	Observed   = 0 // all observed cells of the row
	Masked     = 1 // S, a coalition of them; with LeastSquares from the kernel
	Complement = 2 // LeastSquares: the observed cells not in S
	Within     = 3 // LeastSquares: S' ⊂ S, from the kernel of S

	WithD1    = 2 // TwoDraws, Absolute, Stopped: S₁ ∪ d
	WithoutD1 = 3 // S₁
	WithD2    = 4 // TwoDraws, Absolute: S₂ ∪ d
	WithoutD2 = 5 // S₂
)

// Copies returns the length of the P axis.
func (e Estimator) Copies() int {
	switch e {
	case LeastSquares, Stopped:
		return 4
	case TwoDraws, Absolute:
		return 6
	}
	return 2
}

// Validate returns an error if the estimator is unknown.
func (e Estimator) Validate() error {
	switch e {
	case LeastSquares, TwoDraws, Stopped, Absolute:
		return nil
	}
	return fmt.Errorf("unknown estimator %q: choose %s, %s, %s or %s", e, LeastSquares, TwoDraws, Stopped, Absolute)
}

// withinWeight is the weight of the masked copy's own sub-game relative to the row's game.
const withinWeight = 0.5

// DSHAP returns the estimate for every row and output [B, C], without the factor D/2, which is part of β′ = Dβ/2. f are
// attributions [B, P, C, D] of the copies masked by mask [B, P, D]; pick [B, D] marks the random player d.
func (e Estimator) DSHAP(f, mask, pick *Node) *Node {
	value := ReduceSum(f, -1) // [B, P, C]
	of := func(x *Node, copyAt int) *Node {
		return Squeeze(Slice(x, AxisRange(), AxisElem(copyAt)), 1)
	}
	if e == LeastSquares {
		term := func(whole, part int) *Node {
			return allocation(of(f, whole), of(mask, whole), of(mask, part), of(value, part))
		}
		full := MulScalar(Add(term(Observed, Masked), term(Observed, Complement)), 0.5)
		return Add(full, MulScalar(term(Masked, Within), withinWeight))
	}
	own := ReduceSum(Mul(of(f, Observed), InsertAxes(pick, 1)), -1) // f_d(x) [B, C]
	gain := func(with, without int) *Node { return Sub(of(value, with), of(value, without)) }
	switch e {
	case Stopped:
		return Square(Sub(StopGradient(gain(WithD1, WithoutD1)), own))
	case TwoDraws, Absolute:
		t := Mul(Sub(gain(WithD1, WithoutD1), own), Sub(gain(WithD2, WithoutD2), own))
		if e == Absolute {
			return Abs(t)
		}
		return t
	}
	panic(e.Validate())
}

// minVariance is a lower bound of σ_d² in the weight of D_SHAP, in units of the target's variance.
const minVariance = 1e-4

// Weighed returns DSHAP / σ_d² [B, C], the paper's weight, for variances σ_d² [B, C, D] of the rows' players. The ½ of
// 1/2σ_d² is part of β′ = Dβ/2. As in the paper, σ_d has a gradient too: where f_d misses φ_d, σ_d grows.
func (e Estimator) Weighed(f, mask, pick, variance *Node) *Node {
	own := ReduceSum(Mul(variance, InsertAxes(pick, 1)), -1) // σ_d² of the random player
	return Div(e.DSHAP(f, mask, pick), MaxScalar(own, minVariance))
}

// allocation returns (v(S) − Σ_{d∈S} f̃_d)² [B, C] for attributions f [B, C, D] of the players in whole [B, D], S =
// part [B, D] and v(S) = value [B, C], stopped. f̃_d = f_d − Σ_e f_e / n + stop(Σ_e f_e) / n removes the sum from the
// gradient, so that it changes only the allocation; otherwise the prediction collapses.
func allocation(f, whole, part, value *Node) *Node {
	n := MaxScalar(ReduceAndKeep(whole, ReduceSum, -1), 1) // [B, 1]
	total := ReduceSum(f, -1)                              // [B, C]
	moved := Div(Sub(StopGradient(total), total), n)       // [B, C]
	size := ReduceAndKeep(part, ReduceSum, -1)             // [B, 1]
	sum := ReduceSum(Mul(f, InsertAxes(part, 1)), -1)      // Σ_{d∈S} f_d
	return Square(Sub(StopGradient(value), Add(sum, Mul(size, moved))))
}
