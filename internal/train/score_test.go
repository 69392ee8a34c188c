package train

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/psi-shapley/psi/internal/form"
)

// threeRows have one output and two players, and weigh 1, 2 and 0.
func threeRows() *validated {
	return &validated{
		Explained: &form.Explained{
			Value: []float32{0.5, -1, 2}, Std: []float32{0.1, 0.2, 0, 3, 0, 0}, HiddenVariance: []float32{0, 0.25, 1},
		},
		data:   Data{Target: []float32{1, 0, 1}, Weight: []float32{1, 2, 0}},
		sigma0: []float32{0.5}, base: []float64{0.25},
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6 { // single precision
		t.Errorf("%s %.9g, want %.9g", what, got, want)
	}
}

func TestSquaredErrorIsWeighed(t *testing.T) {
	near(t, "squared error", (number{&Run{}}).score(threeRows()), (0.25+2*1)/3)
}

// The log of the mean is scored by 2(y/μ − 1 − log(y/μ)), in variances of the log.
func TestGammaDevianceIsWeighed(t *testing.T) {
	const s = 0.7
	deviance := func(gap float64) float64 { return 2 * (math.Exp(s*gap) - 1 - s*gap) / (s * s) }
	near(t, "gamma deviance", (number{&Run{Config: Config{LogStd: s}}}).score(threeRows()), (deviance(0.5)+2*deviance(1))/3)
}

// The variance is σ_0², the σ_d² of the players, and h².
func TestGaussianNLLIsThatOfTheNormal(t *testing.T) {
	logP := func(y, mu, variance float64) float64 {
		return distuv.Normal{Mu: mu, Sigma: math.Sqrt(variance)}.LogProb(y)
	}
	want := -(logP(1, 0.5, 0.25+0.01+0.04) + 2*logP(0, -1, 0.25+9+0.25)) / 3
	near(t, "negative log likelihood", (number{}).spreadScore(threeRows()), want)
}

func TestLogLossAddsTheBase(t *testing.T) {
	want := (math.Log1p(math.Exp(-0.75)) + 2*math.Log1p(math.Exp(-0.75))) / 3
	near(t, "log loss", (classes{}).score(threeRows()), want)
}

// The mean of the sigmoid over a normal, by many draws of its quantiles.
func TestMarginalLogLossAveragesTheProbability(t *testing.T) {
	p := func(mu, variance float64) float64 {
		const n = 200_000
		sum := 0.0
		for i := range n {
			u := distuv.Normal{Mu: mu, Sigma: math.Sqrt(variance)}.Quantile((float64(i) + 0.5) / n)
			sum += 1 / (1 + math.Exp(-u)) / n
		}
		return sum
	}
	want := -(math.Log(p(0.75, 0.05)) + 2*math.Log(1-p(-0.75, 9))) / 3
	if got := (classes{}).spreadScore(threeRows()); math.Abs(got-want) > 1e-5 {
		t.Errorf("log loss %.9g, want %.9g", got, want)
	}
}

func TestLogLossOfThreeClasses(t *testing.T) {
	v := &validated{
		Explained: &form.Explained{Value: []float32{1, 0, -1, 0, 0, 0}},
		data:      Data{Target: []float32{0, 2}, Weight: []float32{1, 1}},
		base:      []float64{0.5, 0, -0.5},
	}
	first := math.Exp(1.5) / (math.Exp(1.5) + 1 + math.Exp(-1.5))
	second := math.Exp(-0.5) / (math.Exp(0.5) + 1 + math.Exp(-0.5))
	near(t, "log loss", (classes{}).score(v), -(math.Log(first)+math.Log(second))/2)
}
