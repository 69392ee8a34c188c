package link

import (
	"math"
	"math/rand/v2"
	"testing"
)

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
