package train

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/psi-shapley/psi/internal/network"
)

// twoOutputs are three rows of two outputs, with three players.
func twoOutputs() (x *network.Explained, y, sigma0 []float32) {
	x = &network.Explained{
		Value: []float32{0.5, -1, 2, 0, -0.25, 3},
		Std: []float32{
			0.1, 0.2, 0.3, 0, 0, 1,
			0.5, 0, 0, 0, 0.25, 0,
			0, 0, 0, 2, 1, 0.5,
		},
		HiddenVariance: []float32{0, 0.25, 1, 0, 0.5, 0},
	}
	return x, []float32{1, -1, 0.5, 0.25, -2, 4}, []float32{0.5, 2}
}

func TestSquaredErrorIsTheMeanOverRowsAndOutputs(t *testing.T) {
	x, y, sigma0 := twoOutputs()
	want := (0.5*0.5 + 0 + 1.5*1.5 + 0.25*0.25 + 1.75*1.75 + 1) / 6
	if got := squaredError(x, y, sigma0); math.Abs(got-want) > 1e-12 {
		t.Errorf("squared error %g, want %g", got, want)
	}
}

// The variance of an output is its own σ_0², the σ_d² of its players, and h².
func TestGaussianNLLOfTwoOutputs(t *testing.T) {
	x, y, sigma0 := twoOutputs()
	variance := []float64{
		0.25 + 0.01 + 0.04 + 0.09 + 0, 4 + 1 + 0.25,
		0.25 + 0.25 + 1, 4 + 0.0625 + 0,
		0.25 + 0 + 0.5, 4 + 4 + 1 + 0.25 + 0,
	}
	want := 0.0
	for i, v := range variance {
		p := distuv.Normal{Mu: float64(x.Value[i]), Sigma: math.Sqrt(v)}
		want -= p.LogProb(float64(y[i])) / float64(len(y))
	}
	if got := gaussianNLL(x, y, sigma0); math.Abs(got-want) > 1e-7 { // single precision
		t.Errorf("negative log likelihood %.9g, want %.9g", got, want)
	}
}

func TestGaussianNLLOfOneOutput(t *testing.T) {
	x := &network.Explained{Value: []float32{0, 0}, Std: []float32{0, 3, 0, 0}, HiddenVariance: []float32{0, 0}}
	got := gaussianNLL(x, []float32{0, 5}, []float32{4})
	want := (math.Log(2*math.Pi*25) + math.Log(2*math.Pi*16) + 25.0/16) / 4
	if math.Abs(got-want) > 1e-12 {
		t.Errorf("negative log likelihood %g, want %g", got, want)
	}
}
