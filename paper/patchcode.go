package main

import (
	"math"
	"strings"

	"github.com/psi-shapley/psi/internal/benchset"
)

// codedSet is the name of a digit's set whose columns are codes of the patches.
func codedSet(digit int) string { return digitSet(digit) + codeSuffix }

const codeSuffix = "-code"

// patchCode maps a patch to a scalar, as the paper does before PSI: an encoder of its own, whose decoder rebuilds the pixels. Both are
// linear here, so that the best of them is known: the first principal component, mean and direction.
type patchCode struct {
	mean, direction []float64 // of the patch's pixels
}

// code of a patch's pixels.
func (c patchCode) code(pixels []float64) (sum float64) {
	for i, v := range pixels {
		sum += c.direction[i] * (v - c.mean[i])
	}
	return sum
}

// powerSteps are enough for the leading direction of 16 pixels.
const powerSteps = 500

// fitPatchCode finds the direction of most variance by power iteration. Ink counts as positive.
func fitPatchCode(samples [][]float64) patchCode {
	n := len(samples[0])
	c := patchCode{mean: make([]float64, n), direction: make([]float64, n)}
	for _, pixels := range samples {
		for i, v := range pixels {
			c.mean[i] += v / float64(len(samples))
		}
	}
	covariance := make([]float64, n*n)
	for _, pixels := range samples {
		for i, v := range pixels {
			for j, w := range pixels {
				covariance[i*n+j] += (v - c.mean[i]) * (w - c.mean[j]) / float64(len(samples))
			}
		}
	}
	for i := range c.direction {
		c.direction[i] = 1 / math.Sqrt(float64(n))
	}
	for range powerSteps {
		next := make([]float64, n)
		for i := range next {
			for j, w := range c.direction {
				next[i] += covariance[i*n+j] * w
			}
		}
		length := size(next) * math.Sqrt(float64(n))
		if length == 0 { // a patch that is always empty
			return c
		}
		for i := range next {
			c.direction[i] = next[i] / length
		}
	}
	if spreadOf(c.direction).Mean < 0 {
		for i := range c.direction {
			c.direction[i] = -c.direction[i]
		}
	}
	return c
}

// pixelsOf are the intensities of a patch's pixels, 0 to 1.
func pixelsOf(image []byte, patch int) []float64 {
	pixels := make([]float64, 0, side*side)
	for y := range side {
		for x := range side {
			pixels = append(pixels, float64(image[(patch/patches*side+y)*pixelsPerSide+patch%patches*side+x])/255)
		}
	}
	return pixels
}

// patchCodes are fitted to images of the training file that no set has: those after each that is taken.
func patchCodes(images []byte) []patchCode {
	codes := make([]patchCode, patches*patches)
	for p := range codes {
		var samples [][]float64
		for i := 1; (i+1)*pixelsPerSide*pixelsPerSide <= len(images); i += everyN {
			samples = append(samples, pixelsOf(images[i*pixelsPerSide*pixelsPerSide:], p))
		}
		codes[p] = fitPatchCode(samples)
	}
	return codes
}

// inked is the set whose columns say which patches of a set's rows have ink: the intensities of the same images.
func inked(s *benchset.Set) (*benchset.Set, error) {
	if name, coded := strings.CutSuffix(s.Name, codeSuffix); coded {
		return loadSet(name)
	}
	return s, nil
}
