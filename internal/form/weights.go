package form

import (
	"math"
	"math/rand/v2"
)

// Group is the part of the network that a weight belongs to. Parts are trained one after the other: the mean first,
// then, with the mean frozen, σ and h.
type Group uint8

// Parts of a network.
const (
	Mean   Group = iota // player networks and head: v and φ
	Absent              // exact head: weights for absent players, which complete rows do not use
	Sigma               // σ_d and σ_0
	Hidden              // h, the standard deviation due to absent players
	Fixed               // set on the host, never trained
)

// Weight is a tensor of weights with its initialisation.
type Weight struct {
	Name  string
	Dims  []int
	Group Group
	start start
}

// Size returns the number of elements.
func (w Weight) Size() int {
	size := 1
	for _, d := range w.Dims {
		size *= d
	}
	return size
}

// start draws an initial element of a weight.
type start func(rng *rand.Rand) float64

func uniform(scale float64) start {
	return func(rng *rand.Rand) float64 { return scale * (2*rng.Float64() - 1) }
}

func normal(sd float64) start {
	return func(rng *rand.Rand) float64 { return sd * rng.NormFloat64() }
}

func constant(v float64) start {
	return func(*rand.Rand) float64 { return v }
}

// perRoot returns 1/√n, the usual scale of weights that sum n inputs.
func perRoot(n int) float64 { return 1 / math.Sqrt(float64(n)) }

// Start draws the initial weights from a seed.
func (c Config) Start(seed uint64) map[string][]float32 {
	rng := rand.New(rand.NewPCG(seed, 0x7073692077656967)) // a separate stream
	weights := c.Weights()
	values := make(map[string][]float32, len(weights))
	for _, w := range weights {
		v := make([]float32, w.Size())
		for i := range v {
			v[i] = float32(w.start(rng))
		}
		values[w.Name] = v
	}
	return values
}
