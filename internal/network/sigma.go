package network

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"
)

// contextWidth is the width of MENN₂, which lifts what the σ network sees beside z_d.
const contextWidth = 8

// softplus⁻¹ of the first guesses of σ_0 and σ_d, in units of noise_scale: all noise is
// σ_0's until a column shows that it varies with it.
const (
	sigma0Start = 0.54 // softplus: 1
	sigmaStart  = -3   // softplus: 0.05
)

func sigmaWeights(c Config) []Weight {
	d, z, s := c.Inputs.Columns(), c.Embedding, c.SigmaWidth
	ws := []Weight{
		{"sigma_in", []int{d, z, s}, Sigma, uniform(perRoot(z))},
		{"sigma_in_bias", []int{d, 1, s}, Sigma, uniform(perRoot(z))},
		{"sigma_context", []int{d, c.Outputs, contextWidth}, Sigma, uniform(1)},
		{"sigma_context_bias", []int{d, 1, contextWidth}, Sigma, uniform(1)},
		{"sigma_lifted", []int{d, contextWidth, s}, Sigma, uniform(perRoot(contextWidth))},
		{"sigma_out", []int{d, s, c.Outputs}, Sigma, uniform(perRoot(s))},
		{"sigma_out_bias", []int{d, 1, c.Outputs}, Sigma, constant(sigmaStart)},
		// The unit of σ: about the error of the mean, so that the networks above start
		// near the answer. Set once, not trained.
		{noiseScale, []int{c.Outputs}, Fixed, constant(1)},
		// How much larger the squared errors of new rows are than those of training
		// rows, from which σ is learned. Set once, not trained.
		{noiseGrowth, []int{c.Outputs}, Fixed, constant(1)},
	}
	if !c.Classes {
		ws = append(ws, Weight{"sigma0", []int{c.Outputs}, Sigma, constant(sigma0Start)})
	}
	return ws
}

const (
	noiseScale  = "noise_scale"
	noiseGrowth = "noise_growth"
)

// SetNoise puts the mean squared errors of validation and of training rows into weights on
// the host: the unit of σ, and how much more new rows err.
func SetNoise(weights map[string][]float32, validation, training float64) {
	weights[noiseScale][0] = float32(math.Sqrt(max(validation, 1e-12)))
	weights[noiseGrowth][0] = float32(max(1, validation/max(training, 1e-12)))
}

// std is σ_d = R_d softplus(FFNN_d([z_d, MENN₂(context_d)])) as [B, C, D] for z
// [D, B, Z], masks [B, D] and context [D or 1, B, C]. Every player has its own weights.
func std(w Lookup, z, mask, context *Node) *Node {
	d, b, c := z.Shape().Dim(0), context.Shape().Dim(1), context.Shape().Dim(2)
	lifted := relu(playerLayer(w, "sigma_context", BroadcastToDims(context, d, b, c)))
	h := Add(playerLayer(w, "sigma_in", z), Einsum("dbi,dij->dbj", lifted, w("sigma_lifted")))
	s := Mul(positive(playerLayer(w, "sigma_out", relu(h))), InsertAxes(w(noiseScale), 0, 0)) // [D, B, C]
	return Mul(TransposeAllAxes(s, 1, 2, 0), InsertAxes(mask, 1))
}

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

// hiddenVariance is h²(x_S) [B, P, C] for z [D, B, Z] and masks [B, P, D]: the
// variance due to what is absent, exactly 0 where nothing is. Its
// network sees [z', R] through a linear mix, as the learned head does.
func hiddenVariance(c Config, w Lookup, z, mask *Node) *Node {
	absent := w("hidden_absent")                                    // [D, 1, H]
	gain := Sub(Einsum("dbi,dij->dbj", z, w("hidden_mix")), absent) // [D, B, H]
	rest := Add(ReduceAndKeep(absent, ReduceSum, 0), w("hidden_mix_bias"))
	h := silu(Add(Einsum("bpd,dbh->bph", mask, gain), rest))
	b, p := mask.Shape().Dim(0), mask.Shape().Dim(1)
	h = silu(dense(w, "hidden_layer", Reshape(h, b*p, c.HiddenWidth)))
	variance := Reshape(positive(dense(w, "hidden_out", h)), b, p, c.Outputs)
	anyAbsent := OneMinus(ReduceAndKeep(mask, ReduceMin, -1)) // [B, P, 1]
	return Mul(variance, anyAbsent)
}

// NoiseStd is σ_0 [C] of weights on the host; 0 for classes.
func NoiseStd(weights map[string][]float32) []float32 {
	s := make([]float32, len(weights[noiseScale]))
	for i, v := range weights["sigma0"] {
		s[i] = float32(math.Log1p(math.Exp(float64(v)))) * weights[noiseScale][i]
	}
	return s
}
