package link

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"
)

// adaptive is log ∫ exp(g(z)) dz by Simpson's rule, on intervals that are halved until halving
// changes nothing. g has its peak within 40 of 0.
func adaptive(g func(z float64) float64) float64 {
	const reach, tolerance = 40, 1e-12
	largest := math.Inf(-1)
	for i := range 8 * reach * 2 {
		largest = max(largest, g(float64(i)/8-reach))
	}
	f := func(z float64) float64 { return math.Exp(g(z) - largest) }
	var halve func(from, to, below, middle, above, whole float64, left int) float64
	halve = func(from, to, below, middle, above, whole float64, left int) float64 {
		centre := (from + to) / 2
		first, last := f((from+centre)/2), f((centre+to)/2)
		lower, upper := (to-from)/12*(below+4*first+middle), (to-from)/12*(middle+4*last+above)
		if left == 0 || math.Abs(lower+upper-whole) < tolerance {
			return lower + upper
		}
		return halve(from, centre, below, first, middle, lower, left-1) + halve(centre, to, middle, last, above, upper, left-1)
	}
	sum := 0.0
	for i := range 2 * reach {
		from := float64(i - reach)
		below, middle, above := f(from), f(from+0.5), f(from+1)
		sum += halve(from, from+1, below, middle, above, (below+4*middle+above)/6, 30)
	}
	return largest + math.Log(sum)
}

// integrated is log ∫ sigmoid(±u) N(u; μ, σ²) du.
func integrated(mu, std float64, positive bool) float64 {
	sign := 1.0
	if !positive {
		sign = -1
	}
	return adaptive(func(z float64) float64 {
		return logSigmoid(sign*(mu+std*z)) - z*z/2 - math.Log(2*math.Pi)/2
	})
}

func TestLogisticNormalIsTheIntegral(t *testing.T) {
	const allowed = 1e-5 // in the logarithm
	worst := 0.0
	for mu := -10.0; mu <= 10; mu++ {
		for std := 0.0; std <= 5; std += 0.5 {
			for _, positive := range []bool{true, false} {
				want := integrated(mu, std, positive)
				miss := math.Abs(LogLogisticNormal(mu, std, positive) - want)
				p := LogisticNormal(mu, std)
				if !positive {
					p = LogisticNormal(-mu, std)
				}
				miss = max(miss, math.Abs(math.Log(p)-want))
				if worst = max(worst, miss); miss > allowed {
					t.Errorf("μ = %g, σ = %g, positive %v: off by %.2g", mu, std, positive, miss)
				}
			}
		}
	}
	t.Logf("largest error of the logarithm: %.1e", worst)
	if worst > 1e-7 {
		t.Errorf("largest error %.1e: Nodes promises less than 1e-7", worst)
	}
}

// hermite is LogLogisticNormal by Gauss–Hermite quadrature of 32 nodes.
func hermite(mu, std float64) float64 {
	const nodes = 32
	x, w := make([]float64, nodes), make([]float64, nodes)
	quad.Hermite{}.FixedLocations(x, w, math.Inf(-1), math.Inf(1))
	sum := 0.0
	for i := range x {
		sum += w[i] / math.Sqrt(math.Pi) * sigmoid(mu+std*math.Sqrt2*x[i])
	}
	return math.Log(sum)
}

// Why the nodes are those of the trapezoid rule: 32 of Gauss–Hermite do as well where the score
// is sure, and are not good enough beyond σ = 3.
func TestGaussHermiteIsWorse(t *testing.T) {
	for _, c := range []struct{ std, atMost, atLeast float64 }{
		{1, 1e-8, 0}, {3, 1e-2, 1e-5}, {4, 1, 1e-4}, {5, 1, 1e-3},
	} {
		trapezoid, gauss := 0.0, 0.0
		for mu := -10.0; mu <= 10; mu += 0.5 {
			want := integrated(mu, c.std, true)
			trapezoid = max(trapezoid, math.Abs(LogLogisticNormal(mu, c.std, true)-want))
			gauss = max(gauss, math.Abs(hermite(mu, c.std)-want))
		}
		t.Logf("σ = %g: trapezoid errs by %.1e, Gauss–Hermite by %.1e", c.std, trapezoid, gauss)
		if gauss < c.atLeast || gauss > c.atMost || c.std >= 3 && trapezoid > gauss/1000 {
			t.Errorf("σ = %g: trapezoid errs by %.1e, Gauss–Hermite by %.1e", c.std, trapezoid, gauss)
		}
	}
}

func TestLogisticNormalInTheTails(t *testing.T) {
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		// Far below 0 sigmoid is exp, whose mean is exp(μ + σ²/2).
		{"log P at μ = −1000", LogLogisticNormal(-1000, 2, true), -998},
		{"log(1 − P) at μ = 1000", LogLogisticNormal(1000, 2, false), -998},
		{"log(1 − P) at μ = 60", LogLogisticNormal(60, 1, false), -59.5},
		{"P at μ = −60", LogisticNormal(-60, 1) / math.Exp(-59.5), 1},
		{"P at μ = −1000", LogisticNormal(-1000, 2), 0},
		{"P at μ = 1000", LogisticNormal(1000, 2), 1},
		{"log P at μ = 1000", LogLogisticNormal(1000, 2, true), 0},
		{"P of a sure score", LogisticNormal(1.5, 0), 1 / (1 + math.Exp(-1.5))},
		{"P of a score of 0", LogisticNormal(0, 4), 0.5},
		{"P at infinity", LogisticNormal(math.Inf(1), 1), 1},
		{"P at minus infinity", LogisticNormal(math.Inf(-1), 1), 0},
	} {
		if !(math.Abs(c.got-c.want) <= 1e-7) {
			t.Errorf("%s = %.17g, want %.17g", c.what, c.got, c.want)
		}
	}
	if got := LogLogisticNormal(math.Inf(-1), 1, true); !math.IsInf(got, -1) {
		t.Errorf("log P at minus infinity = %v", got)
	}
	for what, got := range map[string]float64{
		"μ": LogisticNormal(math.NaN(), 1), "σ": LogisticNormal(0, math.NaN()), "μ, in logs": LogLogisticNormal(math.NaN(), 1, false),
	} {
		if !math.IsNaN(got) {
			t.Errorf("without a number for %s: %v, want NaN", what, got)
		}
	}
}

func TestNodes(t *testing.T) {
	z, w := Nodes()
	sum, square := 0.0, 0.0
	for i := range z {
		sum += w[i]
		square += w[i] * z[i] * z[i]
		if z[i] != -z[len(z)-1-i] || w[i] != w[len(w)-1-i] {
			t.Errorf("nodes %d and its mirror image differ", i)
		}
		if i > 0 && math.Abs(z[i]-z[i-1]-step) > 1e-12 {
			t.Errorf("a step of %v", z[i]-z[i-1])
		}
	}
	if z[0] != -7.4 || z[len(z)-1] != 7.4 || math.Abs(sum-1) > 1e-15 || math.Abs(square-1) > 1e-10 {
		t.Errorf("from %v to %v, weights add up to %v, variance %v", z[0], z[len(z)-1], sum, square)
	}
	w[0] = 7
	if _, again := Nodes(); again[0] == 7 {
		t.Error("who asks for the nodes can change them")
	}
}

// drawn is the mean of softmax over draws of the scores.
func drawn(rng *rand.Rand, mu, variance []float64, draws int) []float64 {
	mean, score := make([]float64, len(mu)), make([]float64, len(mu))
	none := make([]float64, len(mu))
	for range draws {
		for c := range mu {
			score[c] = mu[c] + math.Sqrt(variance[c])*rng.NormFloat64()
		}
		SoftmaxNormal(score, none, score)
		for c, p := range score {
			mean[c] += p / float64(draws)
		}
	}
	return mean
}

// apart is another approximation, which shrinks each score by its own variance. It may change
// the order of the classes, and adding a constant to all scores changes it.
func apart(mu, variance []float64) []float64 {
	shrunk, p := make([]float64, len(mu)), make([]float64, len(mu))
	for c := range mu {
		shrunk[c] = mu[c] / math.Sqrt(1+math.Pi/8*variance[c])
	}
	SoftmaxNormal(shrunk, make([]float64, len(mu)), p)
	return p
}

// misses are errors of an approximation.
type misses struct {
	square, worst float64
	n             int
}

func (m *misses) add(p, want []float64) {
	for c := range p {
		miss := math.Abs(p[c] - want[c])
		m.worst = max(m.worst, miss)
		m.square += miss * miss
		m.n++
	}
}

func (m *misses) rms() float64 { return math.Sqrt(m.square / float64(m.n)) }

// compare draws centred scores of 2 to 8 classes, with standard deviations up to 2, and measures
// SoftmaxNormal and apart by Monte Carlo, whose own error is 0.011 at most.
func compare(rng *rand.Rand, same bool) (ours, other misses) {
	const trials, draws = 200, 2000
	for range trials {
		classes := 2 + rng.IntN(7)
		mu, variance, p := make([]float64, classes), make([]float64, classes), make([]float64, classes)
		size, mean, common := 4*rng.Float64(), 0.0, 2*rng.Float64()
		for c := range mu {
			mu[c] = size * rng.NormFloat64()
			mean += mu[c] / float64(classes)
			std := common
			if !same {
				std = 2 * rng.Float64()
			}
			variance[c] = std * std
		}
		for c := range mu {
			mu[c] -= mean
		}
		SoftmaxNormal(mu, variance, p)
		want := drawn(rng, mu, variance, draws)
		ours.add(p, want)
		other.add(apart(mu, variance), want)
	}
	return ours, other
}

// How near the approximation is for σ ≤ 2, and that shrinking each score by its own variance is
// worse where classes are not as sure as each other.
func TestSoftmaxNormalIsNear(t *testing.T) {
	const seed = 1
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, c := range []struct {
		what               string
		same               bool
		worst, rms, better float64
	}{
		{"the same σ for all classes", true, 0.08, 0.02, 1.01},
		{"a σ for each class", false, 0.12, 0.03, 0.7},
	} {
		ours, other := compare(rng, c.same)
		t.Logf("%s: largest error %.3f, RMS %.4f; apart %.3f, %.4f", c.what, ours.worst, ours.rms(), other.worst, other.rms())
		if ours.worst > c.worst || ours.rms() > c.rms || ours.rms() > c.better*other.rms() {
			t.Errorf("%s: largest error %.3f, RMS %.4f; apart %.3f, %.4f", c.what, ours.worst, ours.rms(), other.worst, other.rms())
		}
	}
}

func TestSoftmaxNormalOfKnownScores(t *testing.T) {
	p := make([]float64, 3)
	for _, c := range []struct{ mu, variance, want []float64 }{
		{[]float64{0, 0, 0}, []float64{1, 2, 3}, []float64{1. / 3, 1. / 3, 1. / 3}},
		{[]float64{0, math.Log(2), math.Log(3)}, []float64{0, 0, 0}, []float64{1. / 6, 1. / 3, 1. / 2}},
		{[]float64{800, 0, -800}, []float64{1, 1, 1}, []float64{1, 0, 0}},
		{[]float64{2, -1, -1}, []float64{24 / math.Pi, 24 / math.Pi, 24 / math.Pi}, []float64{math.E / (math.E + 2/math.Sqrt(math.E)), 0, 0}},
	} {
		SoftmaxNormal(c.mu, c.variance, p)
		sum := 0.0
		for i, want := range c.want {
			sum += p[i]
			if (want > 0 || c.mu[0] > 2) && math.Abs(p[i]-want) > 1e-15 {
				t.Errorf("%v, %v: %v, want %v", c.mu, c.variance, p, c.want)
			}
		}
		if math.Abs(sum-1) > 1e-15 {
			t.Errorf("probabilities add up to %v", sum)
		}
	}
}
