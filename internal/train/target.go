package train

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/link"
	"github.com/psi-shapley/psi/internal/objective"
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

// validated holds the inputs of a validation score.
type validated struct {
	*form.Explained
	data   Data
	sigma0 []float32 // [C]
	base   []float64 // [C] of classes, or of a number whose φ_0 is trained
}

// mean returns the weighted mean of a loss over rows.
func (v *validated) mean(loss func(row int) float64) float64 {
	sum, total := 0.0, 0.0
	for row, w := range v.data.Weight {
		sum += float64(w) * loss(row)
		total += float64(w)
	}
	return sum / total
}

// variance returns Σσ_d² of element i of [rows, C].
func (v *validated) variance(i int) float64 {
	d := len(v.Std) / len(v.Value)
	variance := 0.0
	for _, s := range v.Std[i*d : (i+1)*d] {
		variance += float64(s) * float64(s)
	}
	return variance
}

// scoreOf returns the score of values [rows, C].
func (r *Run) scoreOf(values []float32, data Data) float64 {
	return r.target.score(&validated{Explained: &form.Explained{Value: values}, data: data, base: r.Base})
}

// number is a numeric target, standardised to mean 0 and standard deviation 1.
type number struct{ *Run }

// fit returns the mean squared error of rows as observed and of their masked copies, and the likelihood of h.
//
// What a masked copy hides is noise for it: up to the whole variance, where a row as observed may have almost none.
// Masked copies therefore have the weight (τ / (τ + h²))^γ, where τ is the error of rows as observed. γ = 1 is the
// Gaussian likelihood, which ignores masked copies of noiseless data. With γ = 0 their noise dominates.
func (r number) fit(in lossInputs, v *Node, learners []*Node, precision *Node) *Node {
	observed, masked := copyOf(v, objective.Observed), copyOf(v, objective.Masked)
	if r.fitsSigma() {
		gap := StopGradient(objective.SquaredError(observed, masked))
		return in.mean(Add(r.joint(in, v), objective.GaussianNLL(gap, r.hiddenVariance(in))))
	}
	tau := StopGradient(ReduceAndKeep(Mul(in.weight, objective.SquaredError(in.y, observed)), ReduceMean, 0)) // [1, C]
	h := r.hiddenVariance(in)
	weight := Pow(Div(tau, Add(tau, StopGradient(h))), ConstAs(tau, r.MaskedExponent))
	gap := StopGradient(objective.SquaredError(observed, masked))
	return Add(r.errors(in, learners, precision, weight), in.mean(objective.GaussianNLL(gap, h)))
}

// minNoise is a lower bound of the variance in the joint likelihood, in units of the target's.
const minNoise = 1e-6

// joint returns −log N(y; φ_0 + f(x_S), σ_0² + Σ_{d∈S} σ_d²(x_S)) [B, 1] of rows as observed plus that of their masked
// copies, the paper's likelihood of a number. It has no h: hidden cells are noise of the columns that are there.
func (r number) joint(in lossInputs, v *Node) *Node {
	y := Sub(in.y, InsertAxes(in.Base(), 0))
	nll := func(mask *Node, which int) *Node {
		variance := Add(ReduceSum(Square(in.Std(mask)), -1), InsertAxes(Square(in.NoiseStd()), 0))
		return objective.GaussianNLL(objective.SquaredError(y, copyOf(v, which)), AddScalar(variance, minNoise))
	}
	return Add(nll(in.asObserved(), objective.Observed), nll(in.asMasked(), objective.Masked))
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
	base := 0.0
	if r.fitsSigma() && len(v.base) > 0 {
		base = v.base[0]
	}
	return v.mean(func(row int) float64 {
		gap := float64(v.data.Target[row]) - float64(v.Value[row]) - base
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

// fitsSigma: the paper's objective trains mean and σ at once.
func (r number) fitsSigma() bool { return r.Likelihood == Joint }

func (number) refits() bool { return true }

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
