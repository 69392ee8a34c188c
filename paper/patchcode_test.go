package main

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The code of a patch is the scalar from which a linear decoder rebuilds it best: no other direction leaves less.
func TestPatchCodeIsTheBestScalar(t *testing.T) {
	const seed, n, rows = 13, 16, 400
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	mix := make([]float64, n*3)
	for i := range mix {
		mix[i] = rng.Float64()
	}
	samples := make([][]float64, rows)
	for i := range samples {
		samples[i] = make([]float64, n)
		for k := range 3 {
			strength := rng.NormFloat64() / float64(k+1)
			for j := range n {
				samples[i][j] += 2 + mix[k*n+j]*strength
			}
		}
	}
	left := func(c patchCode) (sum float64) {
		for _, pixels := range samples {
			z := c.code(pixels)
			for j, v := range pixels {
				gap := v - c.mean[j] - z*c.direction[j]
				sum += gap * gap
			}
		}
		return sum
	}
	best := fitPatchCode(samples)
	near(t, "length of the direction", size(best.direction)*math.Sqrt(n), 1, 1e-9)
	least := left(best)
	for range 200 {
		other := patchCode{mean: best.mean, direction: make([]float64, n)}
		for j, v := range best.direction {
			other.direction[j] = v + .1*rng.NormFloat64()
		}
		length := size(other.direction) * math.Sqrt(n)
		for j := range other.direction {
			other.direction[j] /= length
		}
		if left(other) < least*(1-1e-9) {
			t.Fatalf("another direction leaves %g, this one %g", left(other), least)
		}
	}
	empty := fitPatchCode([][]float64{make([]float64, n), make([]float64, n)})
	near(t, "code of an empty patch", empty.code(make([]float64, n)), 0, 0)
}

// A patch's pixels are cut from its place, and their mean is its intensity.
func TestPixelsOfAPatch(t *testing.T) {
	image := make([]byte, pixelsPerSide*pixelsPerSide)
	for i := range image {
		image[i] = byte(i % 251)
	}
	for _, patch := range []int{0, 8, 48} {
		pixels := pixelsOf(image, patch)
		near(t, "mean of the pixels", spreadOf(pixels).Mean, intensity(image, patch), 1e-12)
	}
	first := pixelsOf(image, 8) // second row of patches, second patch
	near(t, "first pixel", first[0]*255, float64((4*28+4)%251), 1e-9)
	near(t, "fifth pixel", first[4]*255, float64((5*28+4)%251), 1e-9)
}

// The mean over folds, element by element; the picture is that of the first.
func TestMeanOfFolds(t *testing.T) {
	got := meanOverFolds([]localised{
		{Accuracy: .5, Precision: []float64{0, 1}, Recall: []float64{1, 1}, F: []float64{.2, .4}, Image: []float64{7}},
		{Accuracy: 1, Precision: []float64{1, 1}, Recall: []float64{0, 1}, F: []float64{.4, .4}, Image: []float64{8}},
	})
	near(t, "accuracy", got.Accuracy, .75, 1e-15)
	near(t, "precision", got.Precision[0], .5, 1e-15)
	near(t, "recall", got.Recall[0], .5, 1e-15)
	near(t, "F", got.F[0], .3, 1e-15)
	near(t, "image", got.Image[0], 7, 0)
}
