package kernel_test

import (
	"math"
	"testing"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
)

// answers is everything an evaluator says of rows.
func answers(t testing.TB, e form.Evaluator, rows *encode.Batch) map[string][]float32 {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	x, err := e.Pass(t.Context(), rows, form.Everything)
	check(err)
	values, err := e.Pass(t.Context(), rows, 0)
	check(err)
	few := rows.Head(min(rows.Rows, 3))
	pairs, err := e.Interactions(t.Context(), few)
	check(err)
	masks := make([]float32, few.Rows*5*few.Players())
	for i := range masks {
		row, column := i/(5*few.Players()), i%few.Players()
		masks[i] = float32(i*7%3%2) * few.Observed[row*few.Players()+column]
	}
	coalitions, err := e.Coalitions(t.Context(), few, masks, 5)
	check(err)
	return map[string][]float32{
		"v": x.Value, "φ": x.Attributions, "σ": x.Std, "h²": x.HiddenVariance, "v alone": values.Value, "interactions": pairs, "coalitions": coalitions,
	}
}

// relativeError is the root mean square of got − want over that of want.
func relativeError(got, want []float32) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	var square, scale float64
	for i, w := range want {
		square += math.Pow(float64(got[i])-float64(w), 2)
		scale += float64(w) * float64(w)
	}
	if square == 0 {
		return 0
	}
	return math.Sqrt(square / scale)
}
