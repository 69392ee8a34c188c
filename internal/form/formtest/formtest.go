// Package formtest draws random rows and weights for tests of evaluators.
package formtest

import (
	"math"
	"math/rand/v2"
	"strings"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
)

// Rows draws rows in which a cell is missing with the given probability. Missing cells hold numbers too, which must not
// affect results.
func Rows(rng *rand.Rand, in form.Inputs, rows int, missing float64) *encode.Batch {
	b := encode.NewTimedBatch(rows, in.Numeric, in.Times, len(in.Levels))
	for i := range b.Observed {
		if rng.Float64() >= missing {
			b.Observed[i] = 1
		}
	}
	Cells(rng, in, b, func(int, int) bool { return true })
	return b
}

// Cells draws the contents of the cells that change selects, by row and player. One number in five is a gap, if gaps
// are levels.
func Cells(rng *rand.Rand, in form.Inputs, b *encode.Batch, change func(row, player int) bool) {
	for row := range b.Rows {
		for d := range in.Numeric {
			if at := 2 * (row*in.Numeric + d); change(row, d) {
				b.Numbers[at] = rng.Float32() * float32(in.Bins)
				b.Numbers[at+1] = float32(rng.NormFloat64())
				if in.Gaps && rng.IntN(5) == 0 {
					b.Numbers[at] = encode.GapPosition
				}
			}
		}
		for k := range in.Times {
			if parts := Cycles(b, row, k); change(row, in.Numeric-in.Times+k) {
				for p := 0; p < encode.CyclicParts; p += 2 {
					sin, cos := math.Sincos(2 * math.Pi * rng.Float64())
					parts[p], parts[p+1] = float32(sin), float32(cos)
				}
			}
		}
		offset := 0
		for k, levels := range in.Levels {
			if change(row, in.Numeric+k) {
				b.Codes[row*len(in.Levels)+k] = int32(offset + rng.IntN(levels))
			}
			offset += levels
		}
	}
}

// Cycles returns the cyclic parts of a row's time k.
func Cycles(b *encode.Batch, row, k int) []float32 {
	return b.Cycles[(row*b.Times+k)*encode.CyclicParts:][:encode.CyclicParts]
}

// Masks draws masks [rows, per, D], each player present with probability ½.
func Masks(rng *rand.Rand, rows, per, players int) []float32 {
	masks := make([]float32, rows*per*players)
	for i := range masks {
		masks[i] = float32(rng.IntN(2))
	}
	return masks
}

// Weights draws weights far from the initial ones: factors are large and no bias or baseline is 0, so that players
// interact strongly. Factors shrink with the number of players, so that their products do not overflow.
func Weights(rng *rand.Rand, c form.Config) map[string][]float32 {
	values := c.Start(rng.Uint64())
	calm := 1 / math.Sqrt(max(1, float64(c.Inputs.Players())/4))
	for _, w := range c.Weights() {
		if w.Group == form.Fixed {
			continue
		}
		grow, shift := 1.0, 0.3
		if strings.HasPrefix(w.Name, "factor") {
			grow, shift = 2, 0.3*calm
		}
		for i, v := range values[w.Name] {
			values[w.Name][i] = float32(grow*float64(v) + shift*rng.NormFloat64())
		}
	}
	return values
}
