package form

import "math"

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
