package baseline

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/train"
)

// cells are rows by hand: numbers, of which NaN is a gap, and labels, of which −1 is one.
type cells struct {
	numbers [][]float64
	labels  [][]int
}

func (c cells) batch() *encode.Batch {
	n := max(len(c.numbers), len(c.labels))
	numeric, categorical := 0, 0
	if c.numbers != nil {
		numeric = len(c.numbers[0])
	}
	if c.labels != nil {
		categorical = len(c.labels[0])
	}
	b := encode.NewBatch(n, numeric, categorical)
	for i := range n {
		for j := range numeric {
			if v := c.numbers[i][j]; !math.IsNaN(v) {
				b.Numbers[(i*numeric+j)*2+1] = float32(v)
				b.Observed[i*b.Players()+j] = 1
			}
		}
		for j := range categorical {
			if v := c.labels[i][j]; v >= 0 {
				b.Codes[i*categorical+j] = int32(100*j + v)
				b.Observed[i*b.Players()+numeric+j] = 1
			}
		}
	}
	return b
}

// sampleOf is a sample of these rows in their order.
func sampleOf(b *encode.Batch, y, weight []float64) *sample {
	if weight == nil {
		weight = slices.Repeat([]float64{1}, len(y))
	}
	return newSample(b, y, weight, 1)
}

// stored are rows as training has them.
func stored(b *encode.Batch, y []float64) train.Data {
	target := make([]float32, len(y))
	for i, v := range y {
		target[i] = float32(v)
	}
	return train.Unweighted(b, target)
}

// mixed are rows of two numbers with gaps and a category with gaps, and weights.
func mixed(rng *rand.Rand, n int) (c cells, weight []float64) {
	for range n {
		x := []float64{rng.NormFloat64(), 3 + 2*rng.NormFloat64()}
		if rng.IntN(5) == 0 {
			x[1] = math.NaN()
		}
		c.numbers = append(c.numbers, x)
		c.labels = append(c.labels, []int{rng.IntN(4) - 1})
		weight = append(weight, 0.2+rng.Float64())
	}
	return c, weight
}
