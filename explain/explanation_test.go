package explain

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
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

func TestValidate(t *testing.T) {
	fresh := func() *Explanation {
		return randomExplanation(fixedRand(t, 1), shape{rows: 4, outputs: 2, players: 5, probability: true, sampled: true, interactions: true, doubt: true})
	}
	if err := fresh().Validate(); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(e *Explanation){
		"mode":                      func(e *Explanation) { e.Mode = "slow" },
		"game":                      func(e *Explanation) { e.Game = "chess" },
		"scale":                     func(e *Explanation) { e.Scale = "" },
		"z is":                      func(e *Explanation) { e.Z = math.NaN() },
		"at least 1":                func(e *Explanation) { e.Top = 0 },
		"rows from row":             func(e *Explanation) { e.FirstRow = -1 },
		"no output":                 func(e *Explanation) { e.Outputs = nil },
		"no player":                 func(e *Explanation) { e.Players = nil },
		"without a name":            func(e *Explanation) { e.Players[0] = "" },
		`players are named "x1"`:    func(e *Explanation) { e.Players[0] = "x1" },
		"Base has 7":                func(e *Explanation) { e.Base = e.Base[1:] },
		"Prediction has":            func(e *Explanation) { e.Prediction = nil },
		"PredictionStd has":         func(e *Explanation) { e.PredictionStd = e.PredictionStd[1:] },
		"HiddenStd has":             func(e *Explanation) { e.HiddenStd = e.HiddenStd[1:] },
		"Probability has":           func(e *Explanation) { e.Probability = e.Probability[:0] },
		"Residual has":              func(e *Explanation) { e.Residual = nil },
		"Mean has":                  func(e *Explanation) { e.Mean = nil },
		"Std has":                   func(e *Explanation) { e.Std = e.Std[1:] },
		"StandardError has 39":      func(e *Explanation) { e.StandardError = e.StandardError[1:] },
		"ModelStd has":              func(e *Explanation) { e.ModelStd = e.ModelStd[1:] },
		"Interactions has":          func(e *Explanation) { e.Interactions = e.Interactions[1:] },
		"InteractionError has":      func(e *Explanation) { e.InteractionError = e.InteractionError[1:] },
		"without Interactions":      func(e *Explanation) { e.Interactions = nil },
		"Observed has":              func(e *Explanation) { e.Observed = nil },
		"Other has 1":               func(e *Explanation) { e.Other = []bool{true} },
		"4 columns for 5 players":   func(e *Explanation) { e.Values = e.Values[1:] },
		"have 1 rows":               func(e *Explanation) { e.Values[0] = table.NumberColumn("x0", []float64{1}, nil) },
		"deviation is negative":     func(e *Explanation) { e.Observed[0], e.Std[0] = true, -1 },
		`player "x0": it is not ob`: func(e *Explanation) { e.Observed[0], e.Mean[0] = false, 1 },
		`player "x1": it is not ob`: func(e *Explanation) { e.Observed[1], e.Mean[1], e.Std[1], e.ModelStd[1] = false, 0, 0, 1 },
		`"x1": its standard deviat`: func(e *Explanation) { e.Observed[1], e.ModelStd[1] = true, -1 },
	} {
		e := fresh()
		spoil(e)
		if err := e.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}
