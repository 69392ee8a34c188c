package psi

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/train"
	"github.com/psi-shapley/psi/table"
)

// draws are rows whose targets lie about the predictions with a standard deviation, and
// whose variances say something else.
func draws(rng *rand.Rand, n int, std, claimed float64) (*form.Answer, train.Data) {
	x, d := &form.Answer{}, train.Data{}
	for range n {
		v := rng.NormFloat64()
		x.Value = append(x.Value, float32(v))
		x.Variance = append(x.Variance, claimed*(0.5+rng.Float64()))
		d.Target = append(d.Target, float32(v+std*rng.NormFloat64()))
		d.Weight = append(d.Weight, 0.5+rng.Float32())
	}
	return x, d
}

// covered is the weighed share of targets in central 90 % intervals if σ_0² is noise in place
// of now.
func covered(x *form.Answer, d train.Data, now, noise float64) float64 {
	z := distuv.UnitNormal.Quantile(0.95)
	inside, total := 0.0, 0.0
	for i, y := range d.Target {
		total += float64(d.Weight[i])
		if math.Abs(float64(y)-float64(x.Value[i])) <= z*math.Sqrt(max(0, x.Variance[i]-now+noise)) {
			inside += float64(d.Weight[i])
		}
	}
	return inside / total
}

// σ_0² becomes the least with which intervals of 90 % hold 90 % of the rows.
func TestNoiseForCoverage(t *testing.T) {
	const seed = 1
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	const now = 0.1
	for _, c := range []struct{ std, claimed float64 }{{1, 0.5}, {0.5, 0.3}, {30, 0.2}} {
		x, d := draws(rng, 500, c.std, c.claimed)
		noise := noiseFor(0.9, x, now, d)
		at, below := covered(x, d, now, noise*(1+1e-6)), covered(x, d, now, noise*(1-1e-3))
		t.Logf("σ_0² %.3g covers %.4f, a little less %.4f", noise, at, below)
		if at < 0.9 || at > 0.9+2*1.5/500 || below > at || covered(x, d, now, noise*0.9) >= 0.9 {
			t.Errorf("errors of %g, variances of %g: σ_0² %g covers %g", c.std, c.claimed, noise, at)
		}
	}
	x, d := draws(rng, 500, 0.1, 3)
	if noise := noiseFor(0.9, x, now, d); noise != 0 {
		t.Errorf("intervals are too wide without noise, and σ_0² is %g", noise)
	}
}

// small is a table of two columns, a target of two classes and one that is a number.
func small(t *testing.T, n int) *table.Table {
	t.Helper()
	const seed = 2
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	a, b, number, label := make([]float64, n), make([]float64, n), make([]float64, n), make([]string, n)
	for i := range n {
		a[i], b[i] = rng.NormFloat64(), rng.NormFloat64()
		number[i] = a[i] + a[i]*b[i] + 0.5*rng.NormFloat64()
		label[i] = []string{"no", "perhaps", "yes"}[min(2, max(0, int(math.Round(number[i]+1))))]
	}
	rows, err := table.New(table.NumberColumn("a", a, nil), table.NumberColumn("b", b, nil),
		table.NumberColumn("number", number, nil), table.CategoryColumn("label", label, nil))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func trainSmall(t *testing.T, rows *table.Table, target, other string, members int) *Model {
	t.Helper()
	m, err := Train(t.Context(), rows.Source(), Config{
		Target: target, Drop: []string{other}, Backend: "go", ValidationFraction: 0.4,
		Change: func(s *Settings) {
			s.Channels, s.Embedding, s.Bins, s.Frequencies, s.Rate, s.Decay = 8, 8, 8, 0, 1e-2, 1e-3
			s.Batch, s.Steps, s.RefitSteps, s.SpreadSteps, s.Members = 32, 60, 10, 15, members
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

func explainSmall(t *testing.T, m *Model, rows *table.Table) *explain.Explanation {
	t.Helper()
	e, err := m.Explain(t.Context(), rows.Source(), Explain{Interactions: true})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// The noise of a trained model is that which calibration found, its intervals cover what
// they should of the validation rows, and no σ_d knows of it.
func TestCalibratedNumbers(t *testing.T) {
	rows := small(t, 250)
	m := trainSmall(t, rows, "number", "label", 1)
	c := m.manifest.Calibration
	n := float64(m.manifest.Provenance.ValidationRows)
	t.Logf("coverage %.3f before, %.3f after, of %g rows; σ_0² %.3f, was %.3f", c.Before["coverage_90"], c.After["coverage_90"], n, c.Noise, m.own.NoiseVariance()[0])
	// The row on the edge may fall to either side by rounding.
	if got := c.After["coverage_90"]; got < 0.9-1/n-1e-9 || c.Noise > 0 && got > 0.9+1/n+1e-9 {
		t.Errorf("90 %% intervals hold %g of the validation rows with σ_0² %g", got, c.Noise)
	}
	if c.Temperature != 1 || c.Noise == m.own.NoiseVariance()[0] {
		t.Errorf("calibration %+v", c)
	}
	first := explainSmall(t, m, rows)
	const more = 0.25
	m.manifest.Calibration.Noise += more
	second := explainSmall(t, m, rows)
	s := m.manifest.Scale.Std
	if !slices.Equal(first.Std, second.Std) || !slices.Equal(first.Mean, second.Mean) || !slices.Equal(first.Prediction, second.Prediction) {
		t.Error("σ_0 changes attributions, their spread or predictions")
	}
	for i, std := range second.PredictionStd {
		if want := math.Hypot(first.PredictionStd[i], s*math.Sqrt(more)); math.Abs(std-want) > 1e-9*want {
			t.Fatalf("row %d: predicted ± %v, want %v", i, std, want)
		}
	}
}

// The temperature is where the log loss of the validation rows, and what is believed of it
// before, are least.
func TestTemperatureIsTheBestOfAGrid(t *testing.T) {
	rows := small(t, 250)
	for _, members := range []int{1, 2} { // of two, the doubt of scores is larger
		m := trainSmall(t, rows, "label", "number", members)
		if c := m.manifest.Calibration; !(c.After["log_loss"] <= c.Before["log_loss"]+1e-9) || c.Noise != 0 {
			t.Errorf("log loss %g before and %g after", c.Before["log_loss"], c.After["log_loss"])
		}
		chunk, err := m.chunk(rows, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		y, err := m.truth(rows)
		if err != nil {
			t.Fatal(err)
		}
		d := train.Data{Rows: chunk.batch}
		for i, v := range y {
			d.Target, d.Weight = append(d.Target, float32(v)), append(d.Weight, float32(1+i%3)/2)
		}
		x, err := m.own.Pass(t.Context(), d.Rows, form.Spread)
		if err != nil {
			t.Fatal(err)
		}
		scale := float32(1)
		for _, times := range []float32{0.5, 3, 5} { // scores that are too flat, and too steep
			scale *= times
			for i := range x.Value {
				x.Value[i] *= times
			}
			loss := func(temperature float64) float64 {
				sum := math.Pow(math.Log(temperature)/temperatureDoubt, 2) / 2
				m.manifest.Calibration.Temperature = temperature
				p := m.probabilities(m.means(x.Value), x)
				for i, v := range y {
					sum -= float64(d.Weight[i]) * math.Log(p[i*3+int(v)])
				}
				return sum
			}
			best := math.Inf(1)
			for logT := -2.0; logT <= 2; logT += 0.02 {
				best = min(best, loss(math.Exp(logT)))
			}
			got := m.temperature(x, d)
			t.Logf("scores × %g: T = %.3f, loss %.4f, of the grid %.4f", scale, got, loss(got), best)
			if !(loss(got) <= best+1e-6) {
				t.Errorf("T = %g has a loss of %g, one of the grid %g", got, loss(got), best)
			}
		}
	}
}

// Scores, base, attributions and all deviations are divided by the temperature.
func TestTemperatureDividesAll(t *testing.T) {
	rows := small(t, 120)
	m := trainSmall(t, rows, "label", "number", 2)
	of := func(temperature float64) *explain.Explanation {
		m.manifest.Calibration.Temperature = temperature
		return explainSmall(t, m, rows)
	}
	const temperature = 2.5
	one, hot := of(1), of(temperature)
	for name, pair := range map[string][2][]float64{
		"base": {one.Base, hot.Base}, "scores": {one.Prediction, hot.Prediction}, "their deviations": {one.PredictionStd, hot.PredictionStd},
		"attributions": {one.Mean, hot.Mean}, "σ": {one.Std, hot.Std}, "spread over members": {one.ModelStd, hot.ModelStd},
		"residuals": {one.Residual, hot.Residual}, "interactions": {one.Interactions, hot.Interactions},
	} {
		if len(pair[0]) == 0 || len(pair[0]) != len(pair[1]) {
			t.Fatalf("%d and %d %s", len(pair[0]), len(pair[1]), name)
		}
		for i, v := range pair[0] {
			if math.Abs(v/temperature-pair[1][i]) > 1e-12*(1+math.Abs(v)) {
				t.Fatalf("%s: %v is %v at a temperature of %v", name, v, pair[1][i], temperature)
			}
		}
	}
	if one.Probability[0] == hot.Probability[0] {
		t.Error("the temperature changes no probability")
	}
}
