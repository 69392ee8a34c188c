package onnx

import (
	"math"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/link"
)

// A graph's scores are base + unit·value. Its probabilities are those of base + κ·unit·value, κ = exp(slope·(1 − share)),
// without the variance of what is hidden; and the recorder knows all of their operations.
func TestProbabilitiesOfRowsWithGaps(t *testing.T) {
	rng := newRand(t)
	const n, players = 40, 5
	for _, classes := range []int{1, 3} { // members disagree about one score or three
		for _, slope := range []float64{0, 0.7, -0.4} {
			u := Units{Unit: 1.3, Base: []float64{-0.8, 0.5, 0.3}[:classes], Noise: make([]float64, classes), Probability: true, Slope: slope}
			value, spread, hidden := random(n*classes, rng.NormFloat64), random(n*classes, rng.Float64), random(n*classes, rng.Float64)
			disagreement := random(n*classes, rng.Float64)
			observed, share := make([]float64, n*players), make([]float64, n)
			for i := range observed {
				if rng.IntN(2) == 0 {
					observed[i] = 1
					share[i/players] += 1. / players
				}
			}
			build := func(in []*graph.Node) []*graph.Node {
				a := answer{
					value: in[0], variance: graph.Add(graph.Add(in[1], in[2]), in[4]), hidden: in[2], share: shareOf(in[3]), disagreement: in[4],
					mean: graph.InsertAxes(in[0], -1), std: graph.InsertAxes(in[1], -1),
				}
				return u.results(a, []int{0})
			}
			var in []*tensors.Tensor
			var open []shapes.Shape
			for _, x := range [][]float64{value, spread, hidden, observed, disagreement} {
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
					if classes == 1 {
						variances[c] += kappa * kappa * u.Unit * u.Unit * disagreement[at]
					}
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

// A graph predicts numbers as explain.Link does, clipped or on a scale of logs.
func TestPredictedNumbers(t *testing.T) {
	rng := newRand(t)
	const n = 30
	for _, u := range []Units{
		{Unit: 1.3, Base: []float64{0.2}},
		{Unit: 1.3, Base: []float64{0.2}, NonNegative: true},
		{Unit: 0.7, Base: []float64{2}, Link: encode.LogMean, NonNegative: true},
		{Unit: 0.7, Base: []float64{2}, Link: encode.Log, NonNegative: true},
	} {
		value, variance := random(n, rng.NormFloat64), random(n, rng.Float64)
		build := func(in []*graph.Node) []*graph.Node {
			return u.results(answer{value: in[0], variance: in[1], mean: graph.InsertAxes(in[0], -1), std: graph.InsertAxes(in[1], -1)}, []int{0})[:2]
		}
		var in []*tensors.Tensor
		var open []shapes.Shape
		for _, x := range [][]float64{value, variance} {
			in = append(in, tensors.FromFlatDataAndDimensions(x, n, 1))
			open = append(open, shapes.MakeDynamic(dtypes.Float64, []int{shapes.DynamicDim, 1}, []string{rowsAxis, ""}))
		}
		if _, err := record(model.NewStore(), open, build); err != nil {
			t.Fatal(err)
		}
		out := call(t, in, build)
		scale := map[encode.Link]explain.Scale{"": explain.Identity, encode.LogMean: explain.LogMean, encode.Log: explain.Log}[u.Link]
		numbers := explain.Link{Scale: scale, NonNegative: u.NonNegative}
		for i := range n {
			score, std := u.Base[0]+u.Unit*value[i], u.Unit*math.Sqrt(variance[i])
			for k, want := range []float64{numbers.Response(score), numbers.Deviation(score, std)} {
				if got := float64(out[k][i]); math.Abs(got-want) > 1e-5*max(1, want) {
					t.Errorf("%s, output %d: %g, want %g", scale, k, got, want)
				}
			}
		}
	}
}
