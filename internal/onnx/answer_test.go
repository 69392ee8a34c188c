package onnx

import (
	"math"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/psi-shapley/psi/internal/link"
)

// A graph's scores are base + unit·value. Its probabilities are those of base + κ·unit·value, κ = exp(slope·(1 − share)),
// without the variance of what is hidden; and the recorder knows all of their operations.
func TestProbabilitiesOfRowsWithGaps(t *testing.T) {
	rng := newRand(t)
	const n, players = 40, 5
	for _, classes := range []int{1, 3} {
		for _, slope := range []float64{0, 0.7, -0.4} {
			u := Units{Unit: 1.3, Base: []float64{-0.8, 0.5, 0.3}[:classes], Noise: make([]float64, classes), Probability: true, Slope: slope}
			value, spread, hidden := random(n*classes, rng.NormFloat64), random(n*classes, rng.Float64), random(n*classes, rng.Float64)
			observed, share := make([]float64, n*players), make([]float64, n)
			for i := range observed {
				if rng.IntN(2) == 0 {
					observed[i] = 1
					share[i/players] += 1. / players
				}
			}
			build := func(in []*graph.Node) []*graph.Node {
				a := answer{
					value: in[0], variance: graph.Add(in[1], in[2]), hidden: in[2], share: shareOf(in[3]),
					mean: graph.InsertAxes(in[0], -1), std: graph.InsertAxes(in[1], -1),
				}
				return u.results(a, []int{0})
			}
			var in []*tensors.Tensor
			var open []shapes.Shape
			for _, x := range [][]float64{value, spread, hidden, observed} {
				in = append(in, tensors.FromFlatDataAndDimensions(x, n, len(x)/n))
				open = append(open, shapes.MakeDynamic(dtypes.Float64, []int{shapes.DynamicDim, len(x) / n}, []string{rowsAxis, ""}))
			}
			if _, err := record(model.NewStore(), open, build); err != nil {
				t.Fatal(err)
			}
			out := call(t, in, build)
			for i := range n {
				scores, variances, want := make([]float64, classes), make([]float64, classes), make([]float64, classes)
				kappa := math.Exp(slope * (1 - share[i]))
				for c := range classes {
					at := i*classes + c
					if got, score := float64(out[0][at]), u.Base[c]+u.Unit*value[at]; math.Abs(got-score) > 1e-5 {
						t.Fatalf("score %v, want %v", got, score)
					}
					scores[c] = u.Base[c] + kappa*u.Unit*value[at]
					variances[c] = kappa * kappa * u.Unit * u.Unit * spread[at]
				}
				if classes == 1 {
					want[0] = link.LogisticNormal(scores[0], math.Sqrt(variances[0]))
				} else {
					link.SoftmaxNormal(scores, variances, want)
				}
				for c, p := range want {
					if got := float64(out[5][i*classes+c]); math.Abs(got-p) > 1e-6 {
						t.Fatalf("%d classes, slope %g, row %d: probability %v, want %v", classes, slope, i, got, p)
					}
				}
			}
		}
	}
}

func random(n int, draw func() float64) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = draw()
	}
	return list
}
