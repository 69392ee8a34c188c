package plot

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// hours is an explanation of a table that repeats itself each day, of whole numbers with few values, the second of them 0
// and 1.
func hours(t *testing.T, rows int) *explain.Explanation {
	t.Helper()
	rng := rand.New(rand.NewPCG(17, 0))
	e := &explain.Explanation{
		Head: "exact", Mode: explain.Fast, Exact: true, Z: 1.96, Top: 3, Outputs: []string{"cnt"}, Scale: explain.Identity,
		Players: []string{"hr", "workingday", "season", "temp"}, Rows: rows,
	}
	values := make([][]float64, len(e.Players))
	for row := range rows {
		hr, work, season, temp := float64(row%24), float64(min(1, row/24%7)), float64(1+row/24%4), math.Round(100*rng.Float64())/100
		sum := 0.0
		for d, x := range []float64{hr, work, season, temp} {
			values[d] = append(values[d], x)
			mean := []float64{40 * math.Sin(hr/4), 12*work - 6, 3 * (season - 2.5), 30 * (temp - .5)}[d] + rng.NormFloat64()
			sum += mean
			e.Mean, e.Std, e.Observed = append(e.Mean, mean), append(e.Std, 1), append(e.Observed, true)
			e.Interactions = append(e.Interactions, make([]float64, len(e.Players))...)
		}
		e.Base, e.Prediction = append(e.Base, 189), append(e.Prediction, 189+sum)
		e.PredictionStd, e.HiddenStd, e.Residual = append(e.PredictionStd, 1), append(e.HiddenStd, 0), append(e.Residual, 0)
	}
	for d, name := range e.Players {
		e.Values = append(e.Values, table.NumberColumn(name, values[d], nil))
	}
	if err := e.Validate(); err != nil {
		t.Fatal(err)
	}
	return e
}

// flowers is an explanation of so many classes by three columns.
func flowers(t *testing.T, rows, classes int) *explain.Explanation {
	t.Helper()
	rng := rand.New(rand.NewPCG(19, 0))
	e := &explain.Explanation{
		Head: "exact", Mode: explain.Fast, Exact: true, Z: 1.96, Top: 3, Scale: explain.Score, Players: []string{"petal", "sepal", "colour"}, Rows: rows,
	}
	for k := range classes {
		e.Outputs = append(e.Outputs, "class "+string(rune('a'+k)))
	}
	for range rows {
		for k := range classes {
			sum := 0.0
			for d := range e.Players {
				mean := rng.NormFloat64() * float64((d+k)%3+1)
				sum += mean
				e.Mean, e.Std = append(e.Mean, mean), append(e.Std, .2)
			}
			e.Base, e.Prediction, e.Probability = append(e.Base, 0), append(e.Prediction, sum), append(e.Probability, 1/float64(classes))
			e.PredictionStd, e.HiddenStd, e.Residual = append(e.PredictionStd, 1), append(e.HiddenStd, 0), append(e.Residual, 0)
		}
		e.Observed = append(e.Observed, true, true, true)
	}
	numbers := make([]float64, rows)
	for d, name := range e.Players {
		for i := range numbers {
			numbers[i] = float64(d) + rng.Float64()
		}
		e.Values = append(e.Values, table.NumberColumn(name, numbers, nil))
	}
	if err := e.Validate(); err != nil {
		t.Fatal(err)
	}
	return e
}
