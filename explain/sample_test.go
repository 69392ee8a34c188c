package explain

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/psi-shapley/psi/table"
)

var seedFlag = flag.Uint64("seed", 0, "of random tests; 0 draws one")

// newRand returns a generator and prints its seed.
func newRand(t testing.TB) *rand.Rand {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	return fixedRand(t, seed)
}

// fixedRand has a fixed seed, for statistical tests, which fail for some seeds by
// their nature.
func fixedRand(t testing.TB, seed uint64) *rand.Rand {
	t.Helper()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// shape says what a random explanation has.
type shape struct {
	rows, outputs, players             int
	probability, sampled, interactions bool
	doubt                              bool
}

// randomExplanation has columns of all kinds, a group, and missing cells.
func randomExplanation(rng *rand.Rand, s shape) *Explanation {
	e := &Explanation{
		Model: "sha256:00ff", Head: "product", Mode: Fast, Exact: true, Z: 1.96, Top: 3, Scale: Identity,
		FirstRow: rng.IntN(100), Rows: s.rows,
	}
	for c := range s.outputs {
		e.Outputs = append(e.Outputs, "class "+strconv.Itoa(c))
	}
	for d := range s.players {
		e.Players = append(e.Players, "x"+strconv.Itoa(d))
		e.Values = append(e.Values, randomColumn(rng, e.Players[d], d%5, s.rows))
	}
	draw := func(n int) []float64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = rng.NormFloat64() * math.Exp(3*rng.NormFloat64())
		}
		return values
	}
	size := func(values []float64) []float64 {
		for i, v := range values {
			values[i] = math.Abs(v)
		}
		return values
	}
	perOutput := s.rows * s.outputs
	e.Base, e.Prediction, e.Residual = draw(perOutput), draw(perOutput), draw(perOutput)
	e.PredictionStd, e.HiddenStd = size(draw(perOutput)), size(draw(perOutput))
	e.Mean, e.Std = draw(perOutput*s.players), size(draw(perOutput*s.players))
	for range s.rows * s.players {
		e.Observed = append(e.Observed, rng.IntN(5) > 0)
	}
	for i := range e.Mean {
		if row, d := i/s.players/s.outputs, i%s.players; !e.Observed[row*s.players+d] {
			e.Mean[i], e.Std[i] = 0, 0
		}
	}
	if s.probability {
		e.Scale = Score
		if s.outputs == 1 {
			e.Scale = Logit
		}
		for range perOutput {
			e.Probability = append(e.Probability, rng.Float64())
		}
	}
	if s.sampled {
		e.Mode, e.Exact = Refined, false
		e.StandardError = size(draw(perOutput * s.players))
		for range s.rows {
			e.Evaluations = append(e.Evaluations, 1+rng.IntN(99))
		}
	}
	if s.doubt {
		e.ByBag = draw(perOutput * s.players * bags)
		for i := range e.ByBag {
			if row, d := i/bags/s.players/s.outputs, i/bags%s.players; !e.Observed[row*s.players+d] {
				e.ByBag[i] = 0
			}
		}
		e.Doubt()
	}
	if s.interactions {
		e.Interactions = symmetric(draw(perOutput*s.players*s.players), s.players)
		if s.sampled {
			e.InteractionError = symmetric(size(draw(perOutput*s.players*s.players)), s.players)
		}
	}
	return e
}

// bags of an explanation that has some.
const bags = 5

func symmetric(matrices []float64, n int) []float64 {
	for matrix := range slices.Chunk(matrices, n*n) {
		for a := range n {
			matrix[a*n+a] = 0
			for b := range a {
				matrix[a*n+b] = matrix[b*n+a]
			}
		}
	}
	return matrices
}

func randomColumn(rng *rand.Rand, name string, kind, rows int) *table.Column {
	numbers, labels, truths, times, observed := make([]float64, rows), make([]string, rows), make([]bool, rows), make([]time.Time, rows), make([]bool, rows)
	for i := range rows {
		numbers[i] = rng.NormFloat64()
		labels[i] = []string{"red", "gr\"ün", "a\nb\x00", ""}[rng.IntN(4)]
		truths[i] = rng.IntN(2) == 0
		times[i] = time.Unix(rng.Int64N(1e9), 0)
		observed[i] = rng.IntN(4) > 0
	}
	switch kind {
	case 0:
		return table.NumberColumn(name, numbers, observed)
	case 1:
		return table.CategoryColumn(name, labels, observed)
	case 2:
		return table.BooleanColumn(name, truths, observed)
	case 3:
		return table.TimeColumn(name, times, observed)
	}
	return nil
}

// chunk is rows [from, to) of e.
func (e *Explanation) chunk(from, to int) *Explanation {
	c := *e
	c.FirstRow, c.Rows = e.FirstRow+from, to-from
	cut := func(values []float64) []float64 {
		if values == nil {
			return nil
		}
		per := len(values) / e.Rows
		return values[from*per : to*per]
	}
	for _, array := range []*[]float64{
		&c.Base, &c.Prediction, &c.PredictionStd, &c.HiddenStd, &c.Probability, &c.Residual,
		&c.Mean, &c.Std, &c.StandardError, &c.ModelStd, &c.Interactions, &c.InteractionError, &c.ByBag,
	} {
		*array = cut(*array)
	}
	c.Observed = e.Observed[from*len(e.Players) : to*len(e.Players)]
	if e.Evaluations != nil {
		c.Evaluations = e.Evaluations[from:to]
	}
	if e.Other != nil {
		c.Other = e.Other[from*len(e.Players) : to*len(e.Players)]
	}
	var rows []int
	for row := from; row < to; row++ {
		rows = append(rows, row)
	}
	c.Values = slices.Clone(e.Values)
	for d, column := range c.Values {
		if column != nil {
			c.Values[d] = (&table.Table{Columns: []*table.Column{column}}).Select(rows).Columns[0]
		}
	}
	return &c
}

// onePrediction explains one row of one output with what p_top is about.
func onePrediction(mean, std []float64, top int) *Explanation {
	e := &Explanation{
		Mode: Fast, Z: 2, Top: top, Outputs: []string{"y"}, Scale: Identity, Rows: 1,
		Base: []float64{0}, Prediction: []float64{0}, PredictionStd: []float64{0}, HiddenStd: []float64{0}, Residual: []float64{0},
		Mean: mean, Std: std, Values: make([]*table.Column, len(mean)),
	}
	for d := range mean {
		e.Players = append(e.Players, "x"+strconv.Itoa(d))
		e.Observed = append(e.Observed, true)
	}
	return e
}
