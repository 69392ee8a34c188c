package psi_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/eval"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// riders are rows whose target is a count, often 0: a line falls below 0 where the target does not.
func riders(t *testing.T, n int, least float64) *table.Table {
	t.Helper()
	rng := newRand(t, 5)
	hour, heat, y := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range y {
		hour[i], heat[i] = rng.NormFloat64(), rng.NormFloat64()
		y[i] = max(least, math.Round(20*hour[i]+10*heat[i]+rng.NormFloat64()))
	}
	rows, err := table.New(table.NumberColumn("hour", hour, nil), table.NumberColumn("heat", heat, nil), table.NumberColumn("y", y, nil))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// Where no training row had a negative target no prediction is negative, nor a range; explanations keep the sum and say so.
func TestPredictionsOfANonNegativeTargetAreClipped(t *testing.T) {
	rows := riders(t, 400, 0)
	m := reopened(t, trained(t, rows, psi.Config{Change: quick}))
	if !m.Manifest().Scale.NonNegative {
		t.Fatal("the file does not say that the target never was negative")
	}
	p, e := predicted(t, m, rows), explained(t, m, rows, psi.ExplainOptions{})
	addUp(t, e)
	var judged eval.Regression
	clipped := 0
	for i, mean := range p.Mean {
		sum := e.Base[i]
		for _, phi := range e.Mean[i*2 : i*2+2] {
			sum += phi
		}
		near(t, "prediction", mean, max(0, sum))
		if e.Clipped(i) != (sum < 0) {
			t.Fatalf("row %d: sum %g, clipped %v", i, sum, e.Clipped(i))
		}
		if sum < 0 {
			clipped++
		}
		reach := 1.6448536269514722 * p.RangeStd[i]
		near(t, "lower end", p.Lower[i], max(0, sum-reach))
		near(t, "upper end", p.Upper[i], max(0, sum+reach))
		judged.AddScored(rows.Column("y").Numbers[i], max(0, sum), eval.Scored{Miss: rows.Column("y").Numbers[i] - sum, Std: p.Std[i], RangeStd: p.RangeStd[i]}, 1)
	}
	if clipped < 20 {
		t.Fatalf("%d rows are clipped: nothing to see", clipped)
	}
	evaluation, err := m.Evaluate(t.Context(), rows.Source())
	if err != nil {
		t.Fatal(err)
	}
	for i, metric := range judged.Evaluation().Metrics {
		near(t, metric.Name, evaluation.Metrics[i].Value, metric.Value)
	}
	said(t, e, clipped)
}

// said holds JSON and text of an explanation to the number of rows that are clipped.
func said(t *testing.T, e *explain.Explanation, clipped int) {
	t.Helper()
	var document, text bytes.Buffer
	w := explain.NewJSONWriter(&document)
	if err := w.Write(e); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(document.String(), `"clipped":true`); got != clipped {
		t.Errorf(`JSON says "clipped" %d times, want %d`, got, clipped)
	}
	back, err := explain.ReadJSON(&document)
	if err != nil {
		t.Fatal(err)
	}
	if !back.NonNegative {
		t.Error("the document does not say that the target never was negative")
	}
	if err := explain.Text(&text, e, explain.TextOptions{Width: 1000}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(text.String(), "y is never negative; the sum is -"); got != clipped {
		t.Errorf("the text says so %d times, want %d:\n%s", got, clipped, text.String()[:2000])
	}
}

// A target that was negative once is predicted as it comes.
func TestPredictionsOfASignedTargetAreNotClipped(t *testing.T) {
	rows := riders(t, 400, -30)
	m := trained(t, rows, psi.Config{Change: quick})
	p, e := predicted(t, m, rows), explained(t, m, rows, psi.ExplainOptions{})
	below := 0
	for i, mean := range p.Mean {
		near(t, "prediction", mean, e.Prediction[i])
		if mean < 0 {
			below++
		}
	}
	if below == 0 {
		t.Error("no prediction is below 0: nothing to see")
	}
	if e.NonNegative || m.Manifest().Scale.NonNegative {
		t.Error("the target is said never to be negative")
	}
}
