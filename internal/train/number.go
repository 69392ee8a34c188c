package train

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/psi-shapley/psi/internal/objective"
)

// number is a target in standard deviations about its mean.
type number struct{ *Run }

// fit is the mean squared error of rows as observed and of their masked copies, and the
// likelihood of h.
//
// What a masked copy hides is noise to it: up to all the variance there is, where a
// row as observed may have next to none. So masked copies are weighed by
// (τ / (τ + h²))^γ, τ being the error of rows as observed: γ = 1 is the Gaussian
// likelihood, which gives up on masked copies of noiseless data, γ = 0 lets their noise
// drown the rest.
func (r number) fit(in lossInputs, v *Node, learners []*Node, precision *Node) *Node {
	observed, masked := copyOf(v, objective.Observed), copyOf(v, objective.Masked)
	tau := StopGradient(ReduceAndKeep(Mul(in.weight, objective.SquaredError(in.y, observed)), ReduceMean, 0)) // [1, C]
	h := r.hiddenVariance(in)
	weight := Pow(Div(tau, Add(tau, StopGradient(h))), ConstAs(tau, r.MaskedExponent))
	sum := meanOf(learners, func(v *Node) *Node {
		full := objective.SquaredError(in.y, copyOf(v, objective.Observed))
		if precision != nil {
			full = Mul(full, precision)
		}
		return Add(full, Mul(weight, objective.SquaredError(in.y, copyOf(v, objective.Masked))))
	})
	gap := StopGradient(objective.SquaredError(observed, masked))
	return Add(MulScalar(in.mean(sum), 0.5), in.mean(objective.GaussianNLL(gap, h)))
}

func (r number) spread(in lossInputs, v, sigma, lacking *Node) *Node {
	residual := Mul(objective.SquaredError(in.y, v), InsertAxes(in.NoiseGrowth(), 0))
	return objective.GaussianNLL(residual, Add(Add(sigma, lacking), InsertAxes(Square(in.NoiseStd()), 0)))
}

// score is the mean squared error of the values.
func (number) score(v *validated) float64 {
	return v.mean(func(row int) float64 {
		gap := float64(v.data.Target[row]) - float64(v.Value[row])
		return gap * gap
	})
}

// spreadScore is the mean of −log N(y; μ, σ_0² + Σσ_d² + h²).
func (number) spreadScore(v *validated) float64 {
	return v.mean(func(row int) float64 {
		s := float64(v.sigma0[0])
		variance := s*s + v.variance(row) + float64(v.HiddenVariance[row])
		gap := float64(v.data.Target[row]) - float64(v.Value[row])
		return 0.5 * (math.Log(2*math.Pi*variance) + gap*gap/variance)
	})
}

func (number) fitsSigma() bool { return false }

func (number) refits() bool { return true }
