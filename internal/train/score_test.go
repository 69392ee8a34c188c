package train

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/kernel"
	"github.com/psi-shapley/psi/internal/objective"
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

// The loss of the phase spread, by what predictions of the rows and of their masked copies say: the likelihood of y for both, with
// errors grown by those of new rows, and the penalty of σ_d.
func TestSpreadLossIsTheLikelihood(t *testing.T) {
	r := newRun(t, Native{}, func(*form.Config, *Config) {}, 10)
	r.phase = slices.IndexFunc(r.phases, func(p phase) bool { return p.name == spreadPhase })
	weights := weightsOf(t, r, current)
	form.SetNoise(weights, 0.5, 0.4)
	if err := r.trainer.put(weights); err != nil {
		t.Fatal(err)
	}
	var err error
	if r.stepper, err = r.newStepper(&r.phases[r.phase]); err != nil {
		t.Fatal(err)
	}
	if err := r.stepper.fill(0); err != nil {
		t.Fatal(err)
	}
	b := &r.stepper.batch
	net, err := kernel.New(r.net, weights, r.nodes)
	if err != nil {
		t.Fatal(err)
	}
	part := *b.Rows
	part.Observed = make([]float32, len(b.Rows.Observed))
	asObserved, hidden := 0, 0
	for row := range b.Len() {
		copy(part.Observed[row*b.players:], b.mask(row, objective.Masked))
		if slices.Equal(b.mask(row, objective.Masked), b.mask(row, objective.Observed)) {
			asObserved++
		} else {
			hidden++
		}
	}
	if asObserved == 0 || hidden == 0 {
		t.Fatalf("%d copies are rows as observed, %d hide something", asObserved, hidden)
	}
	pass := func(rows *encode.Batch) *form.Explained {
		x, err := net.Pass(t.Context(), rows, form.Spread)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	whole, masked := pass(b.Rows), pass(&part)
	sigma0, scale := float64(form.NoiseStd(weights)[0]), float64(weights[form.NoiseScale][0])
	const growth = 0.5 / 0.4
	noise := func(x *form.Explained, row int) (sum float64) {
		for _, s := range x.Std[row*b.players:][:b.players] {
			sum += float64(s) * float64(s)
		}
		return sum
	}
	nll := func(square, variance float64) float64 {
		return 0.5*math.Log(2*math.Pi*variance) + square/(2*variance)
	}
	want := 0.0
	for row, y := range b.Target {
		of, gap := noise(whole, row), float64(y)-float64(whole.Value[row])
		loss := nll(growth*gap*gap, sigma0*sigma0+of+float64(whole.HiddenVariance[row])) + r.SpreadPenalty*of/(scale*scale)
		without := float64(y) - float64(masked.Value[row])
		loss += nll(without*without+(growth-1)*gap*gap, sigma0*sigma0+noise(masked, row)+float64(masked.HiddenVariance[row]))
		want += float64(b.Weight[row]) * loss / float64(b.Len())
	}
	got, err := r.stepper.call(0)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(got-want) > 1e-5*math.Abs(want) {
		t.Errorf("the loss is %v, by its definition %v", got, want)
	}
}

// The most complete rows are those that a sort by missing cells puts first.
func TestWholestRows(t *testing.T) {
	const seed, rows, columns = 3, 400, 4
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, missing := range []float64{0, 0.1, 0.6, 0.9, 1} {
		d := Unweighted(&encode.Batch{Rows: rows, Numeric: columns, Numbers: make([]float32, 2*rows*columns), Observed: make([]float32, rows*columns)}, make([]float32, rows))
		values, lacking := make([]float32, rows), make([]int, rows)
		for i := range rows {
			values[i], d.Target[i] = rng.Float32(), rng.Float32()
			for j := range columns {
				if rng.Float64() < missing {
					lacking[i]++
				} else {
					d.Rows.Observed[i*columns+j] = 1
				}
			}
		}
		order := rng.Perm(rows)
		slices.SortStableFunc(order, func(a, b int) int { return lacking[a] - lacking[b] })
		n := minCompleteRows
		for n < rows && lacking[order[n]] == lacking[order[n-1]] {
			n++
		}
		want := slices.Sorted(slices.Values(order[:n]))
		got, some := mostComplete(values, d)
		if len(got) != n || some.Len() != n {
			t.Fatalf("%g missing: %d rows, want %d", missing, len(got), n)
		}
		for k, i := range want {
			if got[k] != values[i] || some.Target[k] != d.Target[i] {
				t.Fatalf("%g missing: row %d is not row %d", missing, k, i)
			}
		}
	}
}

// Where most rows have gaps, no weights of the first half of the phase spread of a number are candidates; all later ones are.
func TestEarlySpreadIsNoCandidate(t *testing.T) {
	const steps = 40
	for _, classes := range []bool{false, true} {
		r := newRun(t, Native{}, func(n *form.Config, c *Config) {
			if n.Classes = classes; classes {
				c.Base = []float64{0.4}
			}
		}, steps)
		early, late := 0, 0
		for !r.Done() {
			p, before := r.phases[r.phase], r.phase
			if _, err := r.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
			if p.name != spreadPhase || r.phase != before {
				continue
			}
			if r.step < steps/2 {
				early = max(early, len(r.kept))
			} else {
				late = max(late, len(r.kept))
			}
		}
		if early > 0 == !classes || late == 0 {
			t.Errorf("classes %v: %d candidates early, %d late", classes, early, late)
		}
	}
}
