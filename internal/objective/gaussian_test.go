package objective_test

import (
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/objective"
)

// negativeLogDensity is GaussianNLL(SquaredError(y, μ), σ²), each given per element.
func negativeLogDensity(t *testing.T, b *engine.Backend, y, mu, variance []float64) []float64 {
	t.Helper()
	out := run(t, b, func(in []*Node) []*Node {
		return []*Node{objective.GaussianNLL(objective.SquaredError(in[0], in[1]), in[2])}
	}, vector(y), vector(mu), vector(variance))
	return out[0]
}

func TestGaussianNLLIsMinusTheLogOfTheDensity(t *testing.T) {
	var y, mu, variance, want []float64
	for _, m := range []float64{-3, 0, 0.5} {
		for _, sigma := range []float64{1e-3, 0.2, 1, 40} {
			for _, z := range []float64{-6, -1, 0, 0.3, 10} {
				y = append(y, m+z*sigma)
				mu = append(mu, m)
				variance = append(variance, sigma*sigma)
				want = append(want, -distuv.Normal{Mu: m, Sigma: sigma}.LogProb(m+z*sigma))
			}
		}
	}
	onEveryBackend(t, func(t *testing.T, b *engine.Backend) {
		for i, got := range negativeLogDensity(t, b, y, mu, variance) {
			if math.Abs(got-want[i]) > 1e-10 {
				t.Errorf("−log N(%g; %g, %g) = %.12g, want %.12g", y[i], mu[i], variance[i], got, want[i])
			}
		}
	})
}

// The trapezoid rule out to twelve standard deviations is exact up to rounding.
func TestGaussianNLLBelongsToADensity(t *testing.T) {
	const (
		points = 1001
		reach  = 12.0
	)
	onEveryBackend(t, func(t *testing.T, b *engine.Backend) {
		for _, c := range []struct{ mu, sigma float64 }{{0, 1}, {-2, 0.05}, {7, 3}} {
			y := floats.Span(make([]float64, points), c.mu-reach*c.sigma, c.mu+reach*c.sigma)
			nll := negativeLogDensity(t, b, y, constant(points, c.mu), constant(points, c.sigma*c.sigma))
			mass, entropy := 0.0, 0.0
			for _, v := range nll {
				p := math.Exp(-v) * (y[1] - y[0])
				mass += p
				entropy += p * v
			}
			near(t, "∫ exp(−NLL) dy", mass, 1, 1e-12)
			near(t, "expected NLL", entropy, math.Log(2*math.Pi*math.E*c.sigma*c.sigma)/2, 1e-12)
		}
	})
}

func TestVarianceOfLeastNLLIsTheMeanSquare(t *testing.T) {
	rng := seeded(t, 1)
	square := make([]float64, 200)
	for i := range square {
		residual := 0.3 * rng.NormFloat64()
		square[i] = residual * residual
	}
	best := floats.Sum(square) / float64(len(square))
	onEveryBackend(t, func(t *testing.T, b *engine.Backend) {
		meanNLL := func(variance float64) (value, slope float64) {
			out := run(t, b, func(in []*Node) []*Node {
				mean := ReduceAllMean(objective.GaussianNLL(in[0], in[1]))
				return []*Node{mean, Gradient(mean, in[1])[0]}
			}, vector(square), vector([]float64{variance}))
			return out[0][0], out[1][0]
		}
		least, slope := meanNLL(best)
		near(t, "slope at the mean square", slope, 0, 1e-10)
		for _, factor := range []float64{0.1, 0.9, 0.99, 1.01, 1.1, 10} {
			if other, _ := meanNLL(factor * best); other <= least {
				t.Errorf("mean NLL at %g times the mean square is %.12g, not above %.12g", factor, other, least)
			}
		}
	})
}

func TestSquaredErrorPullsTheMeanAlikeEverywhere(t *testing.T) {
	y, mu := []float64{1, -2, 0.5}, []float64{0.25, 3, 0.5}
	onEveryBackend(t, func(t *testing.T, b *engine.Backend) {
		out := run(t, b, func(in []*Node) []*Node {
			loss := objective.SquaredError(in[0], in[1])
			return []*Node{loss, Gradient(ReduceAllSum(loss), in[1])[0]}
		}, vector(y), vector(mu))
		for i := range y {
			gap := y[i] - mu[i]
			near(t, "(y − μ)²", out[0][i], gap*gap, 1e-15)
			near(t, "its slope by μ", out[1][i], -2*gap, 1e-15)
		}
	})
}

func constant(n int, x float64) []float64 {
	v := make([]float64, n)
	floats.AddConst(x, v)
	return v
}

// The gamma deviance is twice the difference of the log likelihoods of a gamma distribution of shape 1 whose mean is the number and of one whose mean is
// that of the model; its minimiser over μ is the log of the mean, not the mean of the log.
func TestGammaDevianceIsOfTheLikelihood(t *testing.T) {
	const s = 0.8
	logDensity := func(number, mean float64) float64 { return distuv.Gamma{Alpha: 1, Beta: 1 / mean}.LogProb(number) }
	y, mu := []float64{-2, -0.5, 0, 1, 3}, []float64{-1, -0.5, 1, 0.2, -0.4}
	onEveryBackend(t, func(t *testing.T, b *engine.Backend) {
		deviance := func(y, mu []float64) []float64 {
			return run(t, b, func(in []*Node) []*Node { return []*Node{objective.GammaDeviance(in[0], in[1], s)} }, vector(y), vector(mu))[0]
		}
		for i, got := range deviance(y, mu) {
			number, mean := math.Exp(s*y[i]), math.Exp(s*mu[i])
			want := 2 * (logDensity(number, number) - logDensity(number, mean)) / (s * s)
			if math.Abs(got-want) > 1e-5*max(1, want) {
				t.Errorf("deviance of %g from %g: %g, want %g", number, mean, got, want)
			}
		}
		mean := 0.0
		for _, v := range y {
			mean += math.Exp(s*v) / float64(len(y))
		}
		at := func(mu float64) float64 {
			list := make([]float64, len(y))
			for i := range list {
				list[i] = mu
			}
			return floats.Sum(deviance(y, list))
		}
		best := math.Log(mean) / s
		if least := at(best); least >= at(best-0.05) || least >= at(best+0.05) {
			t.Errorf("the deviance is not least at the log of the mean, %g", best)
		}
	})
}
