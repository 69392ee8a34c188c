package train

import (
	"context"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/psi-shapley/psi/shapley"
)

// fourOfSix is a row of six columns of which four are observed.
var fourOfSix = []float32{1, 0, 1, 1, 0, 1}

const draws = 200_000

func seeded(t *testing.T, seed uint64) *rand.Rand {
	t.Helper()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// maskNumber is the number Σ_{d∈S} 2^d of a mask. It fails the test unless S is a coalition
// of whole.
func maskNumber(t *testing.T, whole, mask []float32) uint {
	t.Helper()
	var s uint
	for d, present := range mask {
		if present != 0 && present != whole[d] {
			t.Fatalf("%v is not a coalition of %v", mask, whole)
		}
		s |= uint(present) << d
	}
	return s
}

// choose is the binomial coefficient.
func choose(n, k int) float64 {
	c := 1.0
	for i := range k {
		c = c * float64(n-i) / float64(i+1)
	}
	return c
}

// follow fails the test unless counts agree with probabilities, by Pearson's χ² at a
// level of one in a million.
func follow(t *testing.T, what string, counts map[uint]int, probability map[uint]float64) {
	t.Helper()
	total := 0
	for s, n := range counts {
		if probability[s] == 0 {
			t.Fatalf("%s: %b was drawn, but never should be", what, s)
		}
		total += n
	}
	sum, square := 0.0, 0.0
	for s, p := range probability {
		expected := p * float64(total)
		gap := float64(counts[s]) - expected
		sum += p
		square += gap * gap / expected
	}
	if math.Abs(sum-1) > 1e-12 {
		t.Fatalf("%s: the probabilities sum to %g", what, sum)
	}
	limit := distuv.ChiSquared{K: float64(len(probability) - 1)}.Quantile(1 - 1e-6)
	t.Logf("%s: χ² = %.1f over %d outcomes, limit %.1f", what, square, len(probability), limit)
	if square > limit {
		t.Errorf("%s: counts %v do not follow %v", what, counts, probability)
	}
}

// bySize gives each coalition of the players in whole a probability of weight(size), up
// to a factor, shared among those of its size.
func bySize(whole uint, weight func(s int) float64) map[uint]float64 {
	n := bits.OnesCount(whole)
	total := 0.0
	for s := range n + 1 {
		total += weight(s)
	}
	probability := map[uint]float64{}
	for s := range whole + 1 {
		if size := bits.OnesCount(s); s&^whole == 0 && weight(size) > 0 {
			probability[s] = weight(size) / total / choose(n, size)
		}
	}
	return probability
}

func TestSamplersFollowTheirDistributions(t *testing.T) {
	const n = 4
	for _, c := range []struct {
		sampler Sampler
		weight  func(s int) float64
	}{
		{UniformSize, func(int) float64 { return 1 }},
		{Kernel, func(s int) float64 {
			if s == 0 || s == n {
				return 0
			}
			return 1 / float64(s*(n-s))
		}},
		{Bernoulli, func(s int) float64 { return choose(n, s) }},
		{TwoThirds, func(s int) float64 { return choose(n, s) * math.Pow(2, float64(s)) }},
	} {
		t.Run(string(c.sampler), func(t *testing.T) {
			rng := seeded(t, 1)
			counts := map[uint]int{}
			part := slices.Repeat([]float32{7}, len(fourOfSix)) // what was there is of no account
			for range draws {
				c.sampler.draw(rng, fourOfSix, part)
				counts[maskNumber(t, fourOfSix, part)]++
			}
			follow(t, "coalitions", counts, bySize(maskNumber(t, fourOfSix, fourOfSix), c.weight))
		})
	}
}

// At n = 4 the kernel's sizes are nearly even; at n = 12 they are not.
func TestKernelSizesOfManyPlayers(t *testing.T) {
	const n = 12
	rng := seeded(t, 2)
	counts := map[uint]int{}
	for range draws {
		counts[uint(kernelSize(rng, n))]++
	}
	probability, total := map[uint]float64{}, 0.0
	for s := 1; s < n; s++ {
		total += 1 / float64(s*(n-s))
	}
	for s := 1; s < n; s++ {
		probability[uint(s)] = 1 / float64(s*(n-s)) / total
	}
	follow(t, "sizes", counts, probability)
}

func TestSamplersOfFewPlayers(t *testing.T) {
	rng := seeded(t, 3)
	for _, c := range []struct {
		whole       []float32
		sampler     Sampler
		probability map[uint]float64
	}{
		{[]float32{0, 0, 0}, UniformSize, map[uint]float64{0: 1}},
		{[]float32{0, 0, 0}, Kernel, map[uint]float64{0: 1}},
		{[]float32{0, 0, 0}, Bernoulli, map[uint]float64{0: 1}},
		{[]float32{0, 1, 0}, UniformSize, map[uint]float64{0: 0.5, 0b010: 0.5}},
		{[]float32{0, 1, 0}, Kernel, map[uint]float64{0: 1}},
		{[]float32{0, 1, 0}, Bernoulli, map[uint]float64{0: 0.5, 0b010: 0.5}},
		{[]float32{0, 1, 0}, TwoThirds, map[uint]float64{0: 1. / 3, 0b010: 2. / 3}},
		{[]float32{1, 0, 1}, Kernel, map[uint]float64{0b001: 0.5, 0b100: 0.5}},
		{[]float32{}, Kernel, map[uint]float64{0: 1}},
	} {
		counts := map[uint]int{}
		part := slices.Repeat([]float32{7}, len(c.whole))
		for range 2000 {
			c.sampler.draw(rng, c.whole, part)
			counts[maskNumber(t, c.whole, part)]++
		}
		if len(c.probability) > 1 {
			follow(t, string(c.sampler), counts, c.probability)
		} else if len(counts) != 1 || counts[0] == 0 {
			t.Errorf("%s of %v: drew %v, want ∅ only", c.sampler, c.whole, counts)
		}
	}
}

func TestValidateKnowsTheSamplers(t *testing.T) {
	for _, s := range []Sampler{UniformSize, Kernel, Bernoulli, TwoThirds} {
		if err := s.Validate(); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, s := range []Sampler{"", "Kernel", "permutation"} {
		if s.Validate() == nil {
			t.Errorf("%q is taken for a sampler", s)
		}
	}
}

// outcome packs a player, one in a mask, and two coalitions of six columns.
func outcome(pick, first, second uint) uint { return pick<<12 | first<<6 | second }

// The player is uniform and so is the number of those before it; given the player, two
// draws of those before it are independent. Together that makes one distribution.
func TestBeforeFollowsRandomOrders(t *testing.T) {
	rng := seeded(t, 4)
	whole := maskNumber(t, fourOfSix, fourOfSix)
	even := func(int) float64 { return 1 }
	probability := map[uint]float64{}
	for d := range fourOfSix {
		pick := uint(1) << d
		if whole&pick == 0 {
			continue
		}
		others := bySize(whole&^pick, even)
		for first, p := range others {
			for second, q := range others {
				probability[outcome(pick, first, second)] = p * q / 4
			}
		}
	}
	counts, picks, sizes := map[uint]int{}, map[uint]int{}, map[uint]int{}
	pick, first, second := make([]float32, 6), slices.Repeat([]float32{7}, 6), make([]float32, 6)
	for range draws {
		before(rng, fourOfSix, pick, first, second)
		d, s1, s2 := maskNumber(t, fourOfSix, pick), maskNumber(t, fourOfSix, first), maskNumber(t, fourOfSix, second)
		if bits.OnesCount(d) != 1 || (s1|s2)&d != 0 {
			t.Fatalf("player %06b, before it %06b and %06b", d, s1, s2)
		}
		counts[outcome(d, s1, s2)]++
		picks[d]++
		sizes[uint(bits.OnesCount(s1))]++
	}
	follow(t, "players", picks, map[uint]float64{1: 0.25, 4: 0.25, 8: 0.25, 32: 0.25})
	follow(t, "numbers of players before", sizes, map[uint]float64{0: 0.25, 1: 0.25, 2: 0.25, 3: 0.25})
	follow(t, "all together", counts, probability)
}

func TestBeforeOfFewPlayers(t *testing.T) {
	rng := seeded(t, 5)
	for _, c := range []struct{ whole, pick []float32 }{
		{[]float32{0, 0}, []float32{0, 0}},
		{[]float32{0, 1}, []float32{0, 1}},
	} {
		pick, first := []float32{7, 7}, []float32{7, 7}
		before(rng, c.whole, pick, first)
		if !slices.Equal(pick, c.pick) || maskNumber(t, c.whole, first) != 0 {
			t.Errorf("of %v: player %v after %v, want %v after none", c.whole, pick, first, c.pick)
		}
	}
}

// tableGame is a game of six players given by the value of every coalition.
type tableGame [1 << 6]float64

func (tableGame) Players() int { return 6 }

func (tableGame) Outputs() int { return 1 }

func (g *tableGame) Values(_ context.Context, batch *shapley.Coalitions) ([]float64, error) {
	v := make([]float64, batch.Len())
	for i := range v {
		var s uint
		for d := range batch.Members(i) {
			s |= 1 << d
		}
		v[i] = g[s]
	}
	return v, nil
}

// The Shapley value is the mean of what a player adds to those before it.
func TestMeanContributionIsTheShapleyValue(t *testing.T) {
	rng := seeded(t, 6)
	var g tableGame
	for s := range g {
		g[s] = rng.NormFloat64()
	}
	sub := shapley.Restrict(&g, []int{0, 2, 3, 5}) // the players of fourOfSix
	values, err := shapley.Exact(t.Context(), sub)
	if err != nil {
		t.Fatal(err)
	}
	phi := values.Extend(sub).Of(0)

	var sum, squares, times [6]float64
	pick, first := make([]float32, 6), make([]float32, 6)
	for range draws {
		before(rng, fourOfSix, pick, first)
		d, s := maskNumber(t, fourOfSix, pick), maskNumber(t, fourOfSix, first)
		gain := g[s|d] - g[s]
		player := bits.TrailingZeros(d)
		sum[player] += gain
		squares[player] += gain * gain
		times[player]++
	}
	for d, present := range fourOfSix {
		if present == 0 {
			continue
		}
		mean := sum[d] / times[d]
		standardError := math.Sqrt((squares[d]/times[d] - mean*mean) / times[d])
		t.Logf("player %d adds %.4f ± %.4f, φ = %.4f", d, mean, standardError, phi[d])
		if math.Abs(mean-phi[d]) > 4*standardError {
			t.Errorf("player %d adds %g ± %g, but φ = %g", d, mean, standardError, phi[d])
		}
	}
}
