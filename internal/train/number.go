package train

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/psi-shapley/psi/internal/objective"
)

// number is a numeric target, standardised to mean 0 and standard deviation 1.
type number struct{ *Run }

// fit returns the mean squared error of rows as observed and of their masked copies, and the likelihood of h.
//
// What a masked copy hides is noise for it: up to the whole variance, where a row as observed may have almost none.
// Masked copies therefore have the weight (τ / (τ + h²))^γ, where τ is the error of rows as observed. γ = 1 is the
// Gaussian likelihood, which ignores masked copies of noiseless data. With γ = 0 their noise dominates.
func (r number) fit(in lossInputs, v *Node, learners []*Node, precision *Node) *Node {
	observed, masked := copyOf(v, objective.Observed), copyOf(v, objective.Masked)
	tau := StopGradient(ReduceAndKeep(Mul(in.weight, objective.SquaredError(in.y, observed)), ReduceMean, 0)) // [1, C]
	h := r.hiddenVariance(in)
	weight := Pow(Div(tau, Add(tau, StopGradient(h))), ConstAs(tau, r.MaskedExponent))
	gap := StopGradient(objective.SquaredError(observed, masked))
	return Add(r.errors(in, learners, precision, weight), in.mean(objective.GaussianNLL(gap, h)))
}

func (r number) coalitions(in lossInputs, learners []*Node) *Node {
	return r.errors(in, learners, nil, nil)
}

// errors returns half the mean squared error of rows as observed and of their masked copies, with optional weights [B,
// C]. On the scale log-mean it is half the gamma deviance.
func (r number) errors(in lossInputs, learners []*Node, observed, masked *Node) *Node {
	weighed := func(v *Node, which int, weight *Node) *Node {
		e := objective.SquaredError(in.y, copyOf(v, which))
		if r.LogStd > 0 {
			e = objective.GammaDeviance(in.y, copyOf(v, which), r.LogStd)
		}
		if weight != nil {
			e = Mul(e, weight)
		}
		return e
	}
	return MulScalar(in.mean(meanOf(learners, func(v *Node) *Node {
		return Add(weighed(v, objective.Observed, observed), weighed(v, objective.Masked, masked))
	})), 0.5)
}

func (r number) spread(in lossInputs, v, sigma, lacking *Node) *Node {
	residual := Mul(objective.SquaredError(in.y, v), InsertAxes(in.NoiseGrowth(), 0))
	return objective.GaussianNLL(residual, Add(Add(sigma, lacking), InsertAxes(Square(in.NoiseStd()), 0)))
}

// hidden returns −log N(y; μ(x_S), σ_0² + Σσ_d² + h²), all given x_S: h² is the variance of y about μ(x_S) beyond σ.
// Errors of new rows are larger than those of training rows by the same factor as for rows as observed.
func (r number) hidden(in lossInputs, v, _ *Node) *Node {
	part := in.asMasked()
	square := objective.SquaredError(in.y, copyOf(v, objective.Masked))
	growth := Mul(objective.SquaredError(in.y, copyOf(v, objective.Observed)), InsertAxes(AddScalar(in.NoiseGrowth(), -1), 0))
	noise := Add(ReduceSum(Square(in.Std(part)), -1), InsertAxes(Square(in.NoiseStd()), 0))
	return objective.GaussianNLL(StopGradient(Add(square, growth)), Add(StopGradient(noise), copyOf(in.HiddenVariance(part), 0)))
}

// score returns the mean squared error of the values, or the gamma deviance.
func (r number) score(v *validated) float64 {
	return v.mean(func(row int) float64 {
		gap := float64(v.data.Target[row]) - float64(v.Value[row])
		if s := r.LogStd; s > 0 {
			return 2 * (math.Expm1(s*gap) - s*gap) / (s * s)
		}
		return gap * gap
	})
}

// spreadScore returns the mean of −log N(y; μ, σ_0² + Σσ_d² + h²).
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
