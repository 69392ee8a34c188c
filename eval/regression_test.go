package eval

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// newRand returns a generator and prints its seed.
func newRand(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// near fails unless got is want up to rounding.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-10*max(1, math.Abs(want))) {
		t.Errorf("%s = %.15g, want %.15g", what, got, want)
	}
}

// mean is that of term over n rows.
func mean(n int, term func(i int) float64) float64 {
	sum := 0.0
	for i := range n {
		sum += term(i)
	}
	return sum / float64(n)
}

func TestRegressionIsTheNaiveComputation(t *testing.T) {
	rng := newRand(t)
	const n = 1000
	y, prediction, std := make([]float64, n), make([]float64, n), make([]float64, n)
	var r Regression
	for i := range n {
		y[i] = 50 + 3*rng.NormFloat64()
		prediction[i] = y[i] + rng.NormFloat64()
		std[i] = 0.5 + rng.Float64()
		r.Add(y[i], prediction[i], std[i], 1)
	}
	normal := func(i int) distuv.Normal { return distuv.Normal{Mu: prediction[i], Sigma: std[i]} }
	inside := func(share float64) float64 {
		return mean(n, func(i int) float64 {
			if p := normal(i).CDF(y[i]); p >= (1-share)/2 && p <= (1+share)/2 {
				return 1
			}
			return 0
		})
	}
	mse := mean(n, func(i int) float64 { return math.Pow(y[i]-prediction[i], 2) })
	near(t, "rmse", r.RMSE(), math.Sqrt(mse))
	near(t, "mae", r.MAE(), mean(n, func(i int) float64 { return math.Abs(y[i] - prediction[i]) }))
	near(t, "r2", r.R2(), 1-mse/stat.PopVariance(y, nil))
	near(t, "nll", r.NLL(), mean(n, func(i int) float64 { return -normal(i).LogProb(y[i]) }))
	near(t, "coverage_50", r.Coverage50(), inside(0.5))
	near(t, "coverage_90", r.Coverage90(), inside(0.9))
}

func TestHalfWidths(t *testing.T) {
	near(t, "half50", half50, distuv.UnitNormal.Quantile(0.75))
	near(t, "half90", half90, distuv.UnitNormal.Quantile(0.95))
}

// A model that knows its noise is as surprised as the noise's entropy and covers
// what it says.
func TestRegressionOfTheTruth(t *testing.T) {
	rng := newRand(t)
	const n, sigma = 200_000, 2.0
	var r Regression
	for range n {
		mu := 10 * rng.NormFloat64()
		r.Add(mu+sigma*rng.NormFloat64(), mu, sigma, 1)
	}
	for _, m := range []struct {
		name                string
		got, want, tolerant float64
	}{
		{"rmse", r.RMSE(), sigma, 0.02},
		{"mae", r.MAE(), sigma * math.Sqrt(2/math.Pi), 0.02},
		{"r2", r.R2(), 1 - 4.0/104, 0.001},
		{"nll", r.NLL(), 0.5*math.Log(2*math.Pi*math.E) + math.Log(sigma), 0.01},
		{"coverage_50", r.Coverage50(), 0.5, 0.006},
		{"coverage_90", r.Coverage90(), 0.9, 0.004},
	} {
		if math.Abs(m.got-m.want) > m.tolerant {
			t.Errorf("%s = %.5f, want about %.5f", m.name, m.got, m.want)
		}
	}
}

// With a mean of 10⁹ the naive Σy² − nȳ² would lose all digits.
func TestR2FarFromZero(t *testing.T) {
	var r Regression
	for _, y := range []float64{0, 1, 2, 3} {
		r.Add(1e9+y, 1e9+1.5, 1, 1)
	}
	near(t, "r2", r.R2(), 0)
}

func TestUndefinedMetricsAreNull(t *testing.T) {
	var constant, none, spreadless Regression
	constant.Add(0.1, 1, 1, 1)
	constant.Add(0.1, 1, 1, 1)
	constant.Add(0.1, 1, 1, 1)
	spreadless.Add(1, 1, 0, 1)
	spreadless.Add(2, 1, 0, 1)
	for _, c := range []struct {
		r    *Regression
		null []string
	}{
		{&constant, []string{"r2"}},
		{&none, []string{"rmse", "mae", "r2", "nll", "coverage_50", "coverage_90"}},
		{&spreadless, []string{"nll"}},
	} {
		text, err := json.Marshal(c.r.Evaluation())
		if err != nil {
			t.Fatal(err)
		}
		var document struct{ Metrics map[string]*float64 }
		if err := json.Unmarshal(text, &document); err != nil {
			t.Fatal(err)
		}
		if len(document.Metrics) != 6 {
			t.Errorf("%s has not six metrics", text)
		}
		for name, value := range document.Metrics {
			null := strings.Contains(" "+strings.Join(c.null, " ")+" ", " "+name+" ")
			if (value == nil) != null {
				t.Errorf("%s: %s null: %v, want %v", text, name, value == nil, null)
			}
		}
	}
}

func TestEvaluationTextFits(t *testing.T) {
	var r Regression
	r.Add(123456, 113456, 5000, 1)
	r.Add(1, 2, 1, 1)
	var text bytes.Buffer
	if err := r.Evaluation().Text(&text, "char\x1bes"); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text.String()) {
		if len(line) > 81 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
	if strings.Contains(text.String(), "\x1b") {
		t.Error("a name reached the terminal as a command")
	}
}

func TestNumbersAreShort(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0.0000", 0.12345: "0.1235", -0.5: "-0.5000", 1: "1.000", 9.9999: "10.000", 2.41: "2.410", 13270.42: "13270", 1234567: "1234567",
		1e-7: "1.000e-07", -2.5e12: "-2.500e+12", math.Inf(1): "undefined",
	} {
		if got := number(v); got != want {
			t.Errorf("number(%v) = %q, want %q", v, got, want)
		}
	}
}

// Ranges of their own change the coverage and nothing else.
func TestRegressionRanges(t *testing.T) {
	rng := newRand(t)
	var plain, ranged Regression
	inside50, inside90 := 0.0, 0.0
	const n = 400
	for range n {
		y, by := rng.NormFloat64(), 0.2+2*rng.Float64()
		plain.Add(y, 0.1, 1, 1)
		ranged.AddScored(y, 0.1, Scored{Miss: y - 0.1, Std: 1, RangeStd: by}, 1)
		if math.Abs(y-0.1)/by <= 0.6744897501960817 {
			inside50++
		}
		if math.Abs(y-0.1)/by <= 1.6448536269514722 {
			inside90++
		}
	}
	near(t, "rmse", ranged.RMSE(), plain.RMSE())
	near(t, "nll", ranged.NLL(), plain.NLL())
	near(t, "coverage_50", ranged.Coverage50(), inside50/n)
	near(t, "coverage_90", ranged.Coverage90(), inside90/n)
}

// Draws of the predicted normal lie inside as often as the level says; half50 and half90 are Regression's own numbers.
func TestIntervalsOfDraws(t *testing.T) {
	const seed, n = 11, 20_000
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	var v Intervals
	var r Regression
	for range n {
		mean, std := rng.NormFloat64()*3, .5+rng.Float64()
		y := mean + std*rng.NormFloat64()
		weight := float64(rng.IntN(3))
		v.Add(y, mean, std, weight)
		r.Add(y, mean, std, weight)
	}
	for _, s := range v.Shares() {
		if math.Abs(s.Share-s.Level) > .02 {
			t.Errorf("level %g holds %g", s.Level, s.Share)
		}
		if s.Level == .5 && s.Share != r.Coverage50() || s.Level == .9 && s.Share != r.Coverage90() {
			t.Errorf("level %g holds %g; Regression says %g and %g", s.Level, s.Share, r.Coverage50(), r.Coverage90())
		}
	}
}

func TestIntervalsOfNothing(t *testing.T) {
	var v Intervals
	v.Add(1, 1, 1, 0)
	if s := v.Shares(); s != nil {
		t.Errorf("a row of no weight gives %v", s)
	}
}
