package encode

// Target is the scale on which a numeric target is learned: φ_0, its mean over the
// training rows, and its standard deviation.
type Target struct {
	Mean float64 `json:"mean"`
	Std  float64 `json:"std"`
}

// FitTarget measures the training targets y.
func FitTarget(y []float64) Target {
	mean, std := moments(y)
	return Target{mean, std}
}

// Encode is (y − φ_0) in standard deviations.
func (t Target) Encode(y []float64) []float32 {
	out := make([]float32, len(y))
	for i, v := range y {
		out[i] = float32((v - t.Mean) / t.Std)
	}
	return out
}
