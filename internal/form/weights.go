package form

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/psi-shapley/psi/internal/encode"
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

// Weights lists the weights of a network in a fixed order.
func (c Config) Weights() []Weight {
	if !c.HasWeights() {
		return nil
	}
	ws := embeddingWeights(c)
	switch {
	case c.Head == Learned:
		ws = append(ws, learnedWeights(c)...)
	case c.Form == TensorTrain:
		ws = append(ws, trainWeights(c)...)
	default:
		ws = append(ws, productWeights(c)...)
	}
	ws = append(ws, sigmaWeights(c)...)
	return append(ws, hiddenWeights(c)...)
}

// periodicScale is the standard deviation of the initial frequencies, in cycles per standard deviation of the column.
const periodicScale = 1.0

// binsScale is the scale of the initial weights of all bins together.
const binsScale = 0.35

func embeddingWeights(c Config) []Weight {
	in, z := c.Inputs, c.Embedding
	var ws []Weight
	if in.Numeric > 0 {
		ws = append(ws,
			// The steps of a piecewise-linear code add up to a random walk. Small ones start every player as a smooth
			// function of its column, which stays smooth unless the data require more.
			Weight{"bins", []int{in.Numeric, in.Bins, z}, Mean, uniform(binsScale * perRoot(in.Bins))},
			Weight{"bins_bias", []int{in.Numeric, 1, z}, Mean, uniform(perRoot(in.Bins))},
		)
		if c.Frequencies > 0 {
			ws = append(ws,
				Weight{"frequency", []int{in.Numeric, 1, c.Frequencies}, Mean, normal(periodicScale)},
				Weight{"periodic", []int{in.Numeric, 2 * c.Frequencies, z}, Mean, uniform(perRoot(2 * c.Frequencies))},
			)
		} else {
			ws = append(ws, Weight{"slope", []int{in.Numeric, 1, z}, Mean, uniform(1)})
		}
	}
	if in.Times > 0 {
		ws = append(ws, Weight{"cycles", []int{in.Times, encode.CyclicParts, z}, Mean, uniform(perRoot(encode.CyclicParts))})
	}
	if in.Gaps {
		ws = append(ws, Weight{"gap", []int{in.Numeric, 1, z}, Mean, uniform(1)})
	}
	if len(in.Levels) > 0 {
		rows := 0
		for _, n := range in.Levels {
			rows += n
		}
		ws = append(ws, Weight{"levels", []int{rows, z}, Mean, uniform(1)})
	}
	for _, name := range c.HiddenLayers() {
		ws = append(ws,
			Weight{name, []int{in.Columns(), z, z}, Mean, uniform(perRoot(z))},
			Weight{name + "_bias", []int{in.Columns(), 1, z}, Mean, uniform(perRoot(z))})
	}
	return ws
}

// HiddenLayers returns the names of the hidden layers of the columns' networks.
func (c Config) HiddenLayers() []string {
	names := make([]string, c.Hidden)
	for i := range names {
		names[i] = fmt.Sprintf("player%d", i+1)
	}
	return names
}

func productWeights(h Config) []Weight {
	d, z, k := h.Inputs.Columns(), h.Embedding, h.Channels
	return []Weight{
		{"factor", []int{d, z, h.Parts() * k}, Mean, uniform(perRoot(z) * productScale(d))},
		{"factor_bias", []int{d, 1, h.Parts() * k}, Mean, constant(0)},
		{"factor_absent", []int{d, 1, k}, Absent, constant(0)},
		{"channel", []int{k, h.Outputs}, Mean, normal(perRoot(k))},
	}
}

// productScale shrinks the initial factors of many players, so that long products stay finite.
func productScale(players int) float64 { return 1 / math.Sqrt(max(1, float64(players)/4)) }

func trainWeights(h Config) []Weight {
	d, z, m, r := h.Inputs.Columns(), h.Embedding, h.Channels, h.Rank
	return []Weight{
		{"factor", []int{d, z, r * r * m}, Mean, uniform(perRoot(z) * productScale(d) * perRoot(r))},
		{"factor_bias", []int{d, 1, r * r * m}, Mean, constant(0)},
		{"factor_absent", []int{d, 1, r * r * m}, Absent, normal(.02)},
		{"left", []int{r, m}, Mean, normal(1)},
		{"right", []int{r, m, h.Outputs}, Mean, normal(perRoot(m * r))},
	}
}

func learnedWeights(h Config) []Weight {
	d, z := h.Inputs.Columns(), h.Embedding
	ws := []Weight{
		{"mix", []int{d, z, h.Width}, Mean, uniform(perRoot(d * z))},
		{"mix_bias", []int{1, 1, h.Width}, Mean, constant(0)},
		{"baseline", []int{d, 1, z}, Mean, uniform(1)},
	}
	norm := func(layer string) {
		if h.Norm == LayerNorm {
			ws = append(ws,
				Weight{layer + "_norm", []int{h.Width}, Mean, constant(1)},
				Weight{layer + "_norm_bias", []int{h.Width}, Mean, constant(0)})
		}
	}
	norm("mix")
	for i := range h.Layers {
		norm(TrunkLayer(i))
		ws = append(ws,
			Weight{TrunkLayer(i), []int{h.Width, h.Width}, Mean, uniform(1.7 * perRoot(h.Width))},
			Weight{TrunkLayer(i) + "_bias", []int{h.Width}, Mean, constant(0)})
	}
	if h.TrainsBase {
		ws = append(ws, Weight{baseWeight, []int{h.Outputs}, Mean, constant(0)})
	}
	return append(ws,
		Weight{"out", []int{h.Width, h.Outputs * d}, Mean, uniform(perRoot(h.Width))},
		Weight{"out_bias", []int{h.Outputs * d}, Mean, constant(0)})
}

// baseWeight is φ_0 less the mean of the target, if it is trained, in the target's standard deviations.
const baseWeight = "base"

// Base returns φ_0 of weights on the host; nil if it is not trained.
func Base(weights map[string][]float32) []float32 { return weights[baseWeight] }

// TrunkLayer returns the name of a layer of the learned head's trunk.
func TrunkLayer(i int) string { return fmt.Sprintf("trunk%d", i+1) }

func hiddenWeights(c Config) []Weight {
	d, z, s := c.Inputs.Columns(), c.Embedding, c.HiddenWidth
	return []Weight{
		{"hidden_mix", []int{d, z, s}, Hidden, uniform(perRoot(d * z))},
		{"hidden_absent", []int{d, 1, s}, Hidden, uniform(perRoot(d))},
		{"hidden_mix_bias", []int{1, 1, s}, Hidden, constant(0)},
		{"hidden_layer", []int{s, s}, Hidden, uniform(1.7 * perRoot(s))},
		{"hidden_layer_bias", []int{s}, Hidden, constant(0)},
		{"hidden_out", []int{s, c.Outputs}, Hidden, uniform(perRoot(s))},
		{"hidden_out_bias", []int{c.Outputs}, Hidden, constant(0)},
	}
}

// ContextWidth is the width of MENN₂, which embeds the context of the σ network besides z_d.
const ContextWidth = 8

// softplus⁻¹ of the initial σ_0 and σ_d, in units of noise_scale. All noise is initially assigned to σ_0.
const (
	sigma0Start = 0.54 // softplus: 1
	sigmaStart  = -3   // softplus: 0.05
)

func sigmaWeights(c Config) []Weight {
	d, z, s := c.Inputs.Columns(), c.Embedding, c.SigmaWidth
	ws := []Weight{
		{"sigma_in", []int{d, z, s}, Sigma, uniform(perRoot(z))},
		{"sigma_in_bias", []int{d, 1, s}, Sigma, uniform(perRoot(z))},
		{"sigma_context", []int{d, c.Outputs, ContextWidth}, Sigma, uniform(1)},
		{"sigma_context_bias", []int{d, 1, ContextWidth}, Sigma, uniform(1)},
		{"sigma_lifted", []int{d, ContextWidth, s}, Sigma, uniform(perRoot(ContextWidth))},
		{"sigma_out", []int{d, s, c.Sigmas()}, Sigma, uniform(perRoot(s))},
		{"sigma_out_bias", []int{d, 1, c.Sigmas()}, Sigma, constant(sigmaStart)},
		// The unit of σ: about the error of the mean, so that the networks above start near the solution. Set once, not
		// trained.
		{NoiseScale, []int{c.Sigmas()}, Fixed, constant(1)},
		// How much larger the squared errors of new rows are than those of training rows, from which σ is learned. Set
		// once, not trained.
		{NoiseGrowth, []int{c.Sigmas()}, Fixed, constant(1)},
	}
	if !c.Classes {
		ws = append(ws, Weight{"sigma0", []int{c.Outputs}, Sigma, constant(sigma0Start)})
	}
	return ws
}

// Names of the weights that are set on the host.
const (
	NoiseScale  = "noise_scale"
	NoiseGrowth = "noise_growth"
)

// SetNoise sets, in weights on the host, the unit of σ and the growth of errors on new rows, from the mean squared
// errors of validation and training rows.
func SetNoise(weights map[string][]float32, validation, training float64) {
	weights[NoiseScale][0] = float32(math.Sqrt(max(validation, 1e-12)))
	weights[NoiseGrowth][0] = float32(max(1, validation/max(training, 1e-12)))
}

// NoiseStd returns σ_0 [C] of weights on the host. For classes it is 0, with one entry per σ_d.
func NoiseStd(weights map[string][]float32) []float32 {
	s := make([]float32, len(weights[NoiseScale]))
	for i, v := range weights["sigma0"] {
		s[i] = float32(math.Log1p(math.Exp(float64(v)))) * weights[NoiseScale][i]
	}
	return s
}
