package train

import (
	"errors"
	"fmt"
	"math"

	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/objective"
)

// Config holds the hyperparameters of a training run.
type Config struct {
	Seed uint64

	Steps   int     // training steps of the mean
	Batch   int     // rows per step
	Rate    float64 // maximum learning rate
	Decay   float64 // weight decay
	Clip    float64 // maximum gradient norm
	Average float64 // decay of the moving average of the weights
	Dropout float64 // share of the embeddings' elements that dropout removes in a step of the mean

	Sampler        Sampler // sampler of the masked copies
	MaskedExponent float64 // γ: a masked copy has the weight (τ/(τ+h²))^γ relative to its row as observed

	Likelihood Likelihood // of classes
	Base       []float64  // classes: initial φ_0, [C]
	LogStd     float64    // scale log-mean: standard deviation of the log of the target; else 0

	Estimator objective.Estimator // learned head
	Beta      float64             // learned head: β′, the weight of D_SHAP

	PolishSteps int     // learned head
	PolishRate  float64 // learned head

	RefitSteps int     // exact head: steps of the mean with rows weighted by their precision
	RefitRate  float64 // exact head

	AbsentSteps int // exact head: steps of the weights for absent players; at most Steps

	SpreadSteps   int     // steps of σ and h
	SpreadRate    float64 // maximum learning rate of σ and h
	SpreadPenalty float64 // λ of Σ_d E σ_d²: noise that no column explains is assigned to σ_0
}

// maxRate is larger than any useful learning rate.
const maxRate = 1e4

// Validate returns an error if the configuration is invalid.
func (c Config) Validate() error {
	var errs []error
	need := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	need(c.Steps > 0 && c.Batch > 0, "steps and batch must be positive, not %d and %d", c.Steps, c.Batch)
	need(c.PolishSteps >= 0 && c.RefitSteps >= 0 && c.AbsentSteps >= 0 && c.SpreadSteps >= 0, "steps must not be negative")
	for _, rate := range []float64{c.Rate, c.PolishRate, c.RefitRate, c.SpreadRate} {
		need(rate > 0 && rate <= maxRate, "learning rates must be positive and at most %g, not %g", maxRate, rate)
	}
	for _, weight := range []float64{c.Decay, c.MaskedExponent, c.Beta, c.SpreadPenalty, c.LogStd} {
		need(weight >= 0 && !math.IsInf(weight, 0), "decay, masked exponent, beta, penalty and the deviation of a log must not be negative: %g", weight)
	}
	need(c.Clip > 0 && !math.IsInf(c.Clip, 0), "clip must be positive, not %g", c.Clip)
	need(c.Average >= 0 && c.Average < 1, "average must be in [0, 1), not %g", c.Average)
	need(c.Dropout >= 0 && c.Dropout < 1, "dropout must be in [0, 1), not %g", c.Dropout)
	errs = append(errs, c.Sampler.Validate(), c.Likelihood.Validate())
	if c.Estimator != "" {
		errs = append(errs, c.Estimator.Validate())
	}
	need(c.Likelihood != Joint || c.Estimator != objective.LeastSquares, "likelihood %s weighs D_SHAP by σ_d of one column, which estimator %s has not: choose another estimator", Joint, objective.LeastSquares)
	return errors.Join(errs...)
}

// Default returns the hyperparameters of a head for a table of the given size. The measurements behind them are in
// docs/adr: 0003 estimator, 0005 masked copies, 0006 refit and spread, 0010 steps and decay, 0011 classes, 0031 absent
// players, 0022 what the kernels made cheap.
func Default(head form.Head, size form.Size) Config {
	c := Config{
		Steps: 2500, Batch: 256, Rate: 2e-3, Decay: 1e-3, Clip: 1, Average: 0.99,
		Sampler: Kernel, MaskedExponent: 0.5, Likelihood: Marginal,
		Estimator: objective.LeastSquares, Beta: 0.3,
		PolishSteps: 1000, PolishRate: 1e-3,
		RefitSteps: 1000, RefitRate: 1e-3,
		AbsentSteps: 2000,
		SpreadSteps: 500, SpreadRate: 1e-2, SpreadPenalty: 3e-4,
	}
	switch {
	case size.Classes && size.Large():
		c.Steps, c.SpreadSteps, c.Decay = 2000, 500, 0.1
	case size.Classes && size.Tiny() && head == form.Exact: // with less decay its scores would be far too extreme
		c.Steps, c.PolishSteps, c.SpreadSteps, c.Batch, c.Rate, c.Decay, c.Dropout = 1500, 500, 300, 64, 1e-3, 2, 0.5
	case size.Classes: // each label carries little information, so the model overfits soon
		c.Steps, c.PolishSteps, c.SpreadSteps, c.Rate, c.Decay, c.Dropout = 1500, 500, 300, 1e-3, 0.3, 0.5
		if size.Wide() {
			c.Steps = 600
		}
	case size.Large() && size.Wide():
		c.Steps, c.RefitSteps, c.SpreadSteps, c.Decay = 2000, 1000, 500, 0.1
	case size.Large():
		c.Steps, c.RefitSteps, c.Decay = 5000, 2000, 0.1
		if head == form.Exact { // with pairs and learners
			c.Rate, c.Decay = 4e-3, 0.3
		}
	case size.Small() && size.Wide():
		c.Steps, c.RefitSteps, c.PolishSteps, c.SpreadSteps, c.Batch, c.Rate = 1000, 500, 500, 750, 128, 4e-3
	case size.Small():
		c.Steps, c.RefitSteps, c.PolishSteps, c.SpreadSteps = 1000, 500, 500, 750
		if head == form.Exact {
			c.Steps, c.Rate, c.Dropout = 2500, 4e-3, 0.3
		}
	default:
		c.Rate, c.SpreadSteps = 6e-3, 1500
	}
	if size.Large() {
		c.AbsentSteps = 1000
	}
	c.Steps += moreSteps(size, c.Batch)
	if head == form.Learned { // the values were measured with these
		c.Rate, c.Dropout = min(c.Rate, 2e-3), 0
		if !size.Classes {
			c.Steps += c.RefitSteps // without a refit phase
		}
	}
	return c
}

// For a numeric target, a table gets one more step for each growRows rows beyond growFrom, because more detail can be
// learned. Beyond growTo the number of additional steps suffices to see every row once.
const (
	growFrom = 20_000
	growRows = 4
	growTo   = 60_000
)

// moreSteps returns the additional steps for large tables.
func moreSteps(size form.Size, batch int) int {
	steps := max(0, size.Rows-growTo) / batch
	if !size.Classes {
		steps += max(0, min(size.Rows, growTo)-growFrom) / growRows
	}
	return steps
}

// bagRate is the maximum learning rate of bags.
const bagRate = 4e-3

// Bag returns the configuration of a bag: a quarter of the rows, a higher learning rate, and no σ.
func (c Config) Bag() Config {
	c.Steps, c.Batch, c.Rate = (c.Steps+1)/2, max(1, c.Batch/2), min(2*c.Rate, bagRate)
	c.RefitSteps, c.SpreadSteps = 0, 0
	return c
}

// Likelihood is the likelihood of the labels of two classes given the log odds, or of a number.
type Likelihood string

const (
	// Marginal is the exact likelihood of a label, marginalised over the uncertainty of the log odds.
	Marginal Likelihood = "marginal"
	// Bound is the paper's bound, whose scale drifts. It is kept to show that.
	Bound Likelihood = "bound"
	// Joint is the paper's objective for a number, with the learned head: the normal likelihood trains mean, σ_d, σ_0
	// and φ_0 at once, on rows as observed and on masked copies, and D_SHAP is weighed by 1/2σ_d². It is kept to
	// compare: what a copy hides becomes part of σ_d.
	Joint Likelihood = "joint"
)

// Validate returns an error if the likelihood is unknown.
func (l Likelihood) Validate() error {
	switch l {
	case Marginal, Bound, Joint:
		return nil
	}
	return fmt.Errorf("unknown likelihood %q: choose %s, %s or %s", l, Marginal, Bound, Joint)
}

// oneCycle returns the learning rate at step i of n: up from top/25 over the first tenth, then down to top/2500, both
// by half a cosine.
func oneCycle(i, n int, top float64) float64 {
	low, end := top/25, top/2500
	rise := 0.1 * float64(n)
	if x := float64(i); x < rise {
		return cosine(low, top, x/rise)
	}
	return cosine(top, end, (float64(i)-rise)/math.Max(1, float64(n-1)-rise))
}

func cosine(from, to, f float64) float64 { return to + (from-to)*(1+math.Cos(math.Pi*f))/2 }

// keep returns the decay of the moving average at step i: small at first, so that the average soon forgets the random
// initial weights.
func keep(i int, decay float64) float64 { return min(decay, float64(i+1)/float64(i+11)) }
