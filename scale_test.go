package psi_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/eval"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// houses are rows whose log price is a function of two columns plus noise.
func houses(t testing.TB, n int) *table.Table {
	t.Helper()
	rng := newRand(t, 9)
	area, age, y := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range y {
		area[i], age[i] = rng.NormFloat64(), rng.NormFloat64()
		y[i] = math.Exp(7 + 0.9*area[i] - 0.5*age[i] + 0.6*rng.NormFloat64())
	}
	rows, err := table.New(table.NumberColumn("area", area, nil), table.NumberColumn("age", age, nil), table.NumberColumn("y", y, nil))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// The scales of the log predict positive numbers in the target's own units, means on the one and medians on the other, with ranges that hold 90 % and
// attributions that add up on the scale of the log.
func TestScalesOfTheLog(t *testing.T) {
	rows, held := houses(t, 3000).Select(upTo(0, 1500)), houses(t, 3000).Select(upTo(1500, 3000))
	targets := held.Column("y").Numbers
	for scale, about := range map[string][2]float64{psi.LogMeanScale: {0.9, 1.1}, psi.LogScale: {0.65, 0.88}} { // e^(−.7²/2) = .78
		m := reopened(t, trained(t, rows, psi.Config{TargetScale: scale, Change: longer}))
		manifest := m.Manifest()
		if manifest.TargetScaleName() != scale || manifest.TargetScale != nil {
			t.Fatalf("the file says %q, %+v", manifest.TargetScaleName(), manifest.TargetScale)
		}
		if text := manifest.ScaleText(); !strings.Contains(text, map[string]string{psi.LogMeanScale: "means", psi.LogScale: "medians"}[scale]) {
			t.Errorf("%s: %s", scale, text)
		}
		p, e := predicted(t, m, held), explained(t, m, held, psi.ExplainOptions{})
		addUp(t, e)
		if string(e.Scale) != scale {
			t.Errorf("scale %s, want %s", e.Scale, scale)
		}
		words(t, e, p)
		sum, all, inside, below, squares, total := 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
		mean := 0.0
		for _, y := range targets {
			mean += y / float64(len(targets))
		}
		for i, y := range targets {
			near(t, "log of the prediction", math.Log(p.Mean[i]), e.Prediction[i])
			sum, all = sum+p.Mean[i], all+y
			if p.Lower[i] <= y && y <= p.Upper[i] {
				inside++
			}
			if y < p.Lower[i] {
				below++
			}
			squares, total = squares+math.Pow(y-p.Mean[i], 2), total+math.Pow(y-mean, 2)
		}
		n := float64(len(targets))
		if ratio := sum / all; ratio < about[0] || ratio > about[1] {
			t.Errorf("%s: Σ predicted / Σ actual %g, want between %g and %g", scale, ratio, about[0], about[1])
		}
		if inside/n < 0.85 || inside/n > 0.95 || below/n < 0.02 || below/n > 0.08 {
			t.Errorf("%s: ranges hold %g, and %g lie below", scale, inside/n, below/n)
		}
		evaluation, err := m.Evaluate(t.Context(), held.Source())
		if err != nil {
			t.Fatal(err)
		}
		for _, metric := range evaluation.Metrics {
			switch metric.Name {
			case "rmse":
				near(t, "rmse", metric.Value, math.Sqrt(squares/n))
			case "r2":
				near(t, "r2", metric.Value, 1-squares/total)
			case "coverage_90":
				near(t, "coverage", metric.Value, inside/n)
			}
		}
		if plain := manifest.Baselines["mean"]["rmse"]; !(plain > manifest.Metrics["rmse"]) {
			t.Errorf("%s: rmse %g, of the mean %g", scale, manifest.Metrics["rmse"], plain)
		}
	}
}

// longer are settings that learn a table of two columns well enough to compare scales.
func longer(s *psi.Settings) {
	quick(s)
	s.Batch, s.Steps, s.RefitSteps, s.Rate = 128, 800, 200, 5e-3
}

// words holds JSON and text of an explanation on a scale of logs to the prediction: its number, and the factors that make it.
func words(t *testing.T, e *explain.Explanation, p *psi.Prediction) {
	t.Helper()
	var document, text bytes.Buffer
	w := explain.NewJSONWriter(&document)
	if err := errors.Join(w.Write(e), w.Close()); err != nil {
		t.Fatal(err)
	}
	var read struct {
		Rows []struct {
			Outputs []struct {
				Scale                string
				Response, Prediction float64
				ResponseLower        float64 `json:"response_lower"`
			}
		}
	}
	if err := json.Unmarshal(document.Bytes(), &read); err != nil {
		t.Fatal(err)
	}
	for i, row := range read.Rows {
		near(t, "response", row.Outputs[0].Response/p.Mean[i], 1)
		if !(row.Outputs[0].ResponseLower < p.Lower[i]) || row.Outputs[0].Scale != string(e.Scale) { // 95 % and 90 %
			t.Fatalf("row %d: lower end %g, of 90 %% %g, scale %s", i, row.Outputs[0].ResponseLower, p.Lower[i], row.Outputs[0].Scale)
		}
	}
	if err := explain.Text(&text, e, explain.TextOptions{Rows: 1}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"the log of the me", fmt.Sprintf("× %#.3g  ", math.Exp(e.Mean[0])), fmt.Sprintf("prediction %.4g", p.Mean[0])} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}

func upTo(from, to int) []int {
	var list []int
	for i := from; i < to; i++ {
		list = append(list, i)
	}
	return list
}

// Auto tries scales where the target is skewed and leaves others alone; what it chose is in the file, with the errors.
func TestAutoScale(t *testing.T) {
	even, additive := houses(t, 400), houses(t, 1500)
	for i, y := range even.Column("y").Numbers {
		even.Column("y").Numbers[i] = math.Log(y)
	}
	for i, x := range additive.Column("area").Numbers {
		additive.Column("y").Numbers[i] = 0.01 + math.Pow(x, 4) + math.Pow(additive.Column("age").Numbers[i], 4)
	}
	for _, c := range []struct {
		what  string
		rows  *table.Table
		scale string
		tried bool
	}{{"even", even, psi.IdentityScale, false}, {"prices", houses(t, 1500), psi.LogMeanScale, true}, {"sum of powers", additive, psi.IdentityScale, true}} {
		m := reopened(t, trained(t, c.rows, psi.Config{Change: longer}))
		manifest := m.Manifest()
		t.Logf("%s: %q", c.what, manifest.ScaleText())
		if manifest.TargetScaleName() != c.scale || (manifest.TargetScale != nil) != c.tried {
			t.Errorf("%s: scale %s by %+v, want %s", c.what, manifest.TargetScaleName(), manifest.TargetScale, c.scale)
		}
		if slices.Min(predicted(t, m, c.rows).Mean) < 0 {
			t.Errorf("%s: a prediction is negative", c.what)
		}
	}
}

// Targets that are not positive have no log.
func TestScalesThatDoNotFit(t *testing.T) {
	for scale, want := range map[string]string{"log": "not above 0", "log-mean": "not above 0", "sqrt": "unknown target scale"} {
		_, err := psi.Train(t.Context(), riders(t, 60, 0).Source(), psi.Config{Target: "y", TargetScale: scale, Change: quick})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("scale %s: %v, want %q", scale, err, want)
		}
	}
}

// Attributions on the scale of the log are Shapley values of the log of what is predicted of each coalition.
func TestAttributionsOfTheLog(t *testing.T) {
	rows := houses(t, 400)
	m := trained(t, rows, psi.Config{TargetScale: psi.LogMeanScale, Change: quick})
	whole := rows.Select([]int{0, 1, 2})
	log := func(unknown ...string) []float64 {
		e := explained(t, m, whole, psi.ExplainOptions{Unknown: unknown})
		return e.Prediction
	}
	both, area, age, none := log(), log("age"), log("area"), log("area", "age")
	e := explained(t, m, whole, psi.ExplainOptions{Mode: explain.Fast})
	for i := range both {
		near(t, "area", e.Mean[i*2], (area[i]-none[i]+both[i]-age[i])/2)
		near(t, "age", e.Mean[i*2+1], (age[i]-none[i]+both[i]-area[i])/2)
	}
}

// On the scale log-mean the predictions of the training rows add up to their targets.
func TestLevel(t *testing.T) {
	rows, held := houses(t, 900).Select(upTo(0, 600)), houses(t, 900).Select(upTo(600, 900))
	m := trained(t, rows, psi.Config{TargetScale: psi.LogMeanScale, Validation: held.Source(), Change: quick})
	if m.Manifest().Calibration.Level == 0 {
		t.Error("no level: nothing to see")
	}
	actual, sum := 0.0, 0.0
	for i, mean := range predicted(t, m, rows).Mean {
		actual, sum = actual+rows.Column("y").Numbers[i], sum+mean
	}
	near(t, "Σ predicted / Σ actual", sum/actual, 1)
}

// Outcomes that are three times as large move the base by log 3 and nothing else; on the scale of the mean's log y/μ has the mean 1
// and is not correlated with the score, but for the prior of its factor.
func TestRecalibratedOnTheScaleOfTheLog(t *testing.T) {
	rows := houses(t, 1200)
	thrice := slices.Clone(rows.Column("y").Numbers)
	for i := range thrice {
		thrice[i] *= 3
	}
	more, err := table.New(rows.Column("area"), rows.Column("age"), table.NumberColumn("y", thrice, nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, scale := range []string{psi.LogMeanScale, psi.LogScale} {
		m := trained(t, rows, psi.Config{TargetScale: scale, Change: longer})
		var bases, factors []float64
		for _, rows := range []*table.Table{rows, more} {
			fresh, err := m.Recalibrate(t.Context(), rows.Source())
			if err != nil {
				t.Fatal(err)
			}
			fresh = reopened(t, fresh)
			record := fresh.Manifest().Recalibrations[0]
			p, e := predicted(t, fresh, rows), explained(t, fresh, rows, psi.ExplainOptions{})
			addUp(t, e)
			bases, factors = append(bases, e.Base[0]), append(factors, record.Factor)
			if record.After["rmse"] > 1.02*record.Before["rmse"] {
				t.Errorf("%s: rmse %g, and %g before", scale, record.After["rmse"], record.Before["rmse"])
			}
			if scale == psi.LogScale {
				continue
			}
			ratio, slope := 0.0, math.Log(record.Factor)/square(.5) // of the prior
			for i, y := range rows.Column("y").Numbers {
				r := y / p.Mean[i]
				ratio += r / float64(len(p.Mean))
				slope -= (r - 1) * (e.Prediction[i] - e.Base[0])
			}
			near(t, "mean of y/μ", ratio, 1)
			if math.Abs(slope) > 0.01 {
				t.Errorf("the deviance still falls: its slope is %g", slope)
			}
		}
		near(t, "base", bases[1]-bases[0], math.Log(3))
		near(t, "factor", factors[1], factors[0])
	}
	rows.Column("y").Numbers[0] = 0
	m := trained(t, more, psi.Config{TargetScale: psi.LogScale, Change: longer})
	if _, err := m.Recalibrate(t.Context(), rows.Source()); err == nil || !strings.Contains(err.Error(), "learned the log") {
		t.Errorf("an outcome of 0: %v", err)
	}
}

func square(x float64) float64 { return x * x }

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
