package synth

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"

	"github.com/psi-shapley/psi/table"
)

// FriedmanColumns is the number of inputs of Friedman's table.
const FriedmanColumns = 10

// friedmanPart is the number of rows in memory at a time.
const friedmanPart = 1 << 16

// Friedman draws the first regression problem of Friedman (Multivariate Adaptive Regression Splines, 1991), in parts, so that any
// number of rows can be drawn:
//
//	y = 10 sin(π x1 x2) + 20 (x3 − ½)² + 10 x4 + 5 x5 + ε,  x1 … x10 ~ U(0, 1),  ε ~ N(0, 1)
//
// x6 to x10 do not matter. A part is a function of the seed and its number: the first rows of a larger table of the same seed are
// the smaller table.
func Friedman(rows int, seed uint64) iter.Seq2[*table.Table, error] {
	return func(yield func(*table.Table, error) bool) {
		for part := 0; part*friedmanPart < rows; part++ {
			t, err := friedman(min(friedmanPart, rows-part*friedmanPart), seed, uint64(part))
			if !yield(t, err) || err != nil {
				return
			}
		}
	}
}

func friedman(rows int, seed, part uint64) (*table.Table, error) {
	inputs := rand.New(rand.NewPCG(seed, inputStream+part))
	noise := rand.New(rand.NewPCG(seed, noiseStream+part))
	var x [FriedmanColumns][]float64
	for d := range x {
		x[d] = make([]float64, rows)
	}
	y := make([]float64, rows)
	for i := range rows {
		for d := range x {
			x[d][i] = inputs.Float64()
		}
		y[i] = friedmanMean(x[0][i], x[1][i], x[2][i], x[3][i], x[4][i]) + noise.NormFloat64()
	}
	columns := make([]*table.Column, 0, FriedmanColumns+1)
	for d := range x {
		columns = append(columns, table.NumberColumn(fmt.Sprint("x", d+1), x[d], nil))
	}
	return table.New(append(columns, table.NumberColumn("y", y, nil))...)
}

// friedmanMean is E[y | x].
func friedmanMean(x1, x2, x3, x4, x5 float64) float64 {
	return 10*math.Sin(math.Pi*x1*x2) + 20*(x3-0.5)*(x3-0.5) + 10*x4 + 5*x5
}
