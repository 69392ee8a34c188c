package train

import (
	"math"

	"github.com/psi-shapley/psi/internal/network"
)

// squaredError is the mean squared error of the values.
func squaredError(x *network.Explained, y, _ []float32) float64 {
	sum := 0.0
	for i, v := range x.Value {
		gap := float64(y[i]) - float64(v)
		sum += gap * gap
	}
	return sum / float64(len(y))
}

// squaredErrors is the mean squared error of values [rows, C] for each output.
func squaredErrors(value, y []float32, outputs int) []float64 {
	sums := make([]float64, outputs)
	for i := range y {
		gap := float64(y[i]) - float64(value[i])
		sums[i%outputs] += gap * gap / float64(len(y)/outputs)
	}
	return sums
}

// gaussianNLL is the mean of −log N(y; μ, σ_0² + Σσ_d² + h²).
func gaussianNLL(x *network.Explained, y, sigma0 []float32) float64 {
	c := len(sigma0)
	d := len(x.Std) / len(y)
	sum := 0.0
	for i, v := range x.Value {
		s := float64(sigma0[i%c])
		variance := s*s + float64(x.HiddenVariance[i])
		for _, s := range x.Std[i*d : (i+1)*d] {
			variance += float64(s) * float64(s)
		}
		gap := float64(y[i]) - float64(v)
		sum += 0.5 * (math.Log(2*math.Pi*variance) + gap*gap/variance)
	}
	return sum / float64(len(y))
}
