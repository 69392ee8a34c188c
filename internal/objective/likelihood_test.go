package objective_test

import (
	"fmt"
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

// sides are the cases of a label, a mean and a standard deviation.
type sides struct{ y, mu, sigma []float64 }

func grid() (g sides) {
	for _, y := range []float64{0, 1} {
		for mu := -10.0; mu <= 10; mu += 2.5 {
			for _, sigma := range []float64{0.01, 0.3, 1, 2, 3.5, 5} {
				g.y, g.mu, g.sigma = append(g.y, y), append(g.mu, mu), append(g.sigma, sigma)
			}
		}
	}
	return g
}

// loss is a loss of labels, means and variances, each [B, 1].
type loss func(y, mu, variance *Node) *Node

func (g sides) evaluate(t *testing.T, b *engine.Backend, f loss) []float64 {
	t.Helper()
	n := len(g.y)
	return run(t, b, func(in []*Node) []*Node { return []*Node{f(in[0], in[1], Square(in[2]))} },
		tensor(g.y, n, 1), tensor(g.mu, n, 1), tensor(g.sigma, n, 1))[0]
}

func logSigmoid(x float64) float64 { return -math.Log1p(math.Exp(-math.Abs(x))) + min(x, 0) }

// simpson integrates f over [from, to].
func simpson(f func(float64) float64, from, to float64) float64 {
	const n = 40_000
	h := (to - from) / n
	sum := f(from) + f(to)
	for i := 1; i < n; i++ {
		sum += float64(2+2*(i%2)) * f(from+float64(i)*h)
	}
	return sum * h / 3
}

func TestLogisticNormalNLLAgainstIntegration(t *testing.T) {
	g := grid()
	onEveryBackend(t, func(t *testing.T, b *engine.Backend) {
		got := g.evaluate(t, b, objective.LogisticNormalNLL)
		for i := range got {
			sign := 2*g.y[i] - 1
			normal := distuv.Normal{Mu: g.mu[i], Sigma: g.sigma[i]}
			p := simpson(func(u float64) float64 { return math.Exp(logSigmoid(sign*u)) * normal.Prob(u) }, g.mu[i]-12*g.sigma[i], g.mu[i]+12*g.sigma[i])
			near(t, fmt.Sprintf("−log P(%g | μ %g, σ %g)", g.y[i], g.mu[i], g.sigma[i]), got[i], -math.Log(p), 1e-5)
		}
	})
}

// The paper's bound by its definition: a truncated normal, its entropy and its
// cross-entropies, each integrated.
func TestTruncatedNLLAgainstIntegration(t *testing.T) {
	g := grid()
	onEveryBackend(t, func(t *testing.T, b *engine.Backend) {
		got := g.evaluate(t, b, objective.TruncatedNLL)
		for i := range got {
			sign, sigma := 2*g.y[i]-1, g.sigma[i]
			a := sign * g.mu[i] / sigma
			if a < -20 {
				continue // the reference cannot: Φ(a) underflows
			}
			normal := distuv.Normal{Mu: sign * g.mu[i], Sigma: sigma}
			mass := distuv.UnitNormal.CDF(a)
			density := func(u float64) float64 { return normal.Prob(u) / mass }
			to := max(0, sign*g.mu[i]) + 12*sigma
			if a < 0 {
				to = 40 * sigma / (1 - a)
			}
			value := simpson(func(u float64) float64 {
				q := density(u)
				if q == 0 {
					return 0
				}
				return q * (logSigmoid(u) + normal.LogProb(u) - math.Log(q))
			}, 0, to)
			near(t, fmt.Sprintf("bound of %g | μ %g, σ %g", g.y[i], g.mu[i], sigma), got[i], -value, 2e-5*max(1, math.Abs(value)))
		}
	})
}

func TestTruncatedNLLBoundsTheLikelihood(t *testing.T) {
	g := grid()
	onEveryBackend(t, func(t *testing.T, b *engine.Backend) {
		bound, exact := g.evaluate(t, b, objective.TruncatedNLL), g.evaluate(t, b, objective.LogisticNormalNLL)
		for i := range bound {
			if bound[i] < exact[i]-1e-6 {
				t.Errorf("%g | μ %g, σ %g: the bound %g is below −log P %g", g.y[i], g.mu[i], g.sigma[i], bound[i], exact[i])
			}
		}
	})
}

// Seven of ten labels are 1 and nothing else is known: gradient descent on μ and log σ. The
// paper's bound is better the larger the scale, so μ goes on growing for as long as it is
// trained; the exact likelihood has its optimum at P = 0.7, and μ stays.
func TestThePapersBoundDriftsInScale(t *testing.T) {
	descend := func(t *testing.T, b *engine.Backend, f loss, steps int) (mu, sigma float64) {
		t.Helper()
		mu, logSigma := 0.5, 0.0
		for range steps {
			out := run(t, b, func(in []*Node) []*Node {
				y := Const(in[0].Graph(), [][]float64{{1}, {0}})
				share := Const(in[0].Graph(), [][]float64{{0.7}, {0.3}})
				m, s := BroadcastToDims(in[0], 2, 1), BroadcastToDims(Exp(in[1]), 2, 1)
				return Gradient(ReduceAllSum(Mul(share, f(y, m, Square(s)))), in[0], in[1])
			}, tensor([]float64{mu}, 1, 1), tensor([]float64{logSigma}, 1, 1))
			mu -= out[0][0]
			logSigma -= out[1][0]
		}
		return mu, math.Exp(logSigma)
	}
	b, _, err := engine.Open("go")
	if err != nil {
		t.Fatal(err)
	}
	short, _ := descend(t, b, objective.TruncatedNLL, 200)
	long, sigma := descend(t, b, objective.TruncatedNLL, 800)
	t.Logf("bound: μ %.2f after 200 steps, %.2f after 800 (σ %.2f)", short, long, sigma)
	if long < 1.3*short {
		t.Errorf("the bound's μ stays at %g", long)
	}
	exactShort, _ := descend(t, b, objective.LogisticNormalNLL, 200)
	exactLong, sigma := descend(t, b, objective.LogisticNormalNLL, 800)
	t.Logf("exact: μ %.3f after 200 steps, %.3f after 800 (σ %.2f)", exactShort, exactLong, sigma)
	if math.Abs(exactLong-exactShort) > 0.01*exactShort {
		t.Errorf("μ moves from %g to %g", exactShort, exactLong)
	}
}

func TestSoftmaxNLLByDefinition(t *testing.T) {
	scores := []float64{1, -2, 0.5, 30, 0, -30, -1, -1, -1}
	y := []float64{2, 1, 0}
	variance := []float64{0, 1, 2, 0.5, 0.5, 0.5, 9, 1, 0}
	onEveryBackend(t, func(t *testing.T, b *engine.Backend) {
		out := run(t, b, func(in []*Node) []*Node {
			return []*Node{objective.SoftmaxNLL(in[0], in[1]), objective.SoftmaxNormalNLL(in[0], in[1], in[2])}
		}, tensor(y, 3, 1), tensor(scores, 3, 3), tensor(variance, 3, 3))
		for row := range 3 {
			for k, shrink := range []float64{0, math.Pi / 8} {
				total, own := 0.0, 0.0
				mean := (variance[row*3] + variance[row*3+1] + variance[row*3+2]) / 3
				for c := range 3 {
					e := math.Exp(scores[row*3+c] / math.Sqrt(1+shrink*mean))
					total += e
					if c == int(y[row]) {
						own = e
					}
				}
				near(t, fmt.Sprintf("row %d, form %d", row, k), out[k][row], -math.Log(own/total), 1e-9)
			}
		}
	})
}
