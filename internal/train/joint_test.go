package train

import (
	"math"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/objective"
)

// jointRun is a small run of the paper's objective.
func jointRun(t *testing.T, change func(*form.Config, *Config)) *Run {
	t.Helper()
	b, _, err := engine.Open("go")
	if err != nil {
		t.Fatal(err)
	}
	return randomRun(t, Engine{b}, form.Learned, 3, func(n *form.Config, c *Config) {
		n.Width, n.Layers, n.Inputs.Bins, n.Frequencies, n.TrainsBase = 16, 1, 4, 0, true
		c.Likelihood, c.Estimator, c.Beta, c.PolishSteps, c.Batch = Joint, objective.Absolute, 0.7, 0, 64
		if change != nil {
			change(n, c)
		}
	})
}

// The loss of the paper's objective, from what the network says of each copy of the rows alone: the normal likelihood of rows as
// observed and of masked copies, with their own σ_d and a trained φ_0; β′ times D_SHAP over σ_d²; and the likelihood of h.
func TestJointLossIsThePapersObjective(t *testing.T) {
	r := jointRun(t, nil)
	weights := weightsOf(t, r, current)
	weights["base"][0] = 0.3
	if err := r.trainer.put(weights); err != nil {
		t.Fatal(err)
	}
	var err error
	if r.stepper, err = r.newStepper(&r.phases[0]); err != nil {
		t.Fatal(err)
	}
	if err := r.stepper.fill(0); err != nil {
		t.Fatal(err)
	}
	b := &r.stepper.batch
	copies := make([]*form.Explained, b.copies)
	for k := range copies {
		part := *b.Rows
		part.Observed = make([]float32, len(b.Rows.Observed))
		for row := range b.Len() {
			copy(part.Observed[row*b.players:], b.mask(row, k))
		}
		copies[k] = passed(t, r, &part)
	}
	sigma0 := float64(form.NoiseStd(weights)[0])
	square := func(k, row, d int) float64 {
		s := float64(copies[k].Std[row*b.players+d])
		return s * s
	}
	value := func(k, row int) float64 { return float64(copies[k].Value[row]) }
	nll := func(square, variance float64) float64 { return 0.5*math.Log(2*math.Pi*variance) + square/(2*variance) }
	want, smallest := 0.0, math.Inf(1)
	for row, y := range b.Target {
		loss := 0.0
		for _, k := range []int{objective.Observed, objective.Masked} {
			variance := sigma0*sigma0 + minNoise
			for d := range b.players {
				variance += square(k, row, d)
			}
			loss += nll(math.Pow(float64(y)-0.3-value(k, row), 2), variance)
		}
		hidden := float64(copies[objective.Masked].HiddenVariance[row]) + hiddenFloor
		loss += nll(math.Pow(value(objective.Observed, row)-value(objective.Masked, row), 2), hidden)
		for d, picked := range b.pickOf(row) {
			if picked == 0 {
				continue
			}
			own := float64(copies[objective.Observed].Attributions[row*b.players+d])
			first := value(objective.WithD1, row) - value(objective.WithoutD1, row) - own
			second := value(objective.WithD2, row) - value(objective.WithoutD2, row) - own
			variance := square(objective.Observed, row, d)
			smallest = min(smallest, variance)
			loss += r.Beta * math.Abs(first*second) / variance
		}
		want += loss / float64(b.Len())
	}
	if smallest < 2e-4 {
		t.Fatalf("σ_d² of %g is at the bound of the weight", smallest)
	}
	got, err := r.stepper.call(0)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(got-want) > 1e-4*math.Abs(want) {
		t.Errorf("the loss is %v, by its definition %v", got, want)
	}
}

func passed(t *testing.T, r *Run, rows *encode.Batch) *form.Explained {
	t.Helper()
	x, err := r.evaluator.Pass(t.Context(), rows, form.Spread|form.Attributions)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// One phase trains mean, σ and φ_0: the noise of the target is found, and a part of what copies hide with it; and φ_0, which only rows
// without cells determine, moves to the mean of a target that is not centred.
func TestJointFindsNoiseAndBase(t *testing.T) {
	const shift, noise = 0.5, 0.4
	r := jointRun(t, func(_ *form.Config, c *Config) {
		c.Steps, c.Rate, c.Beta, c.Sampler = 600, 1e-2, 0.1, UniformSize
	})
	if len(r.phases) != 1 {
		t.Fatalf("%d phases", len(r.phases))
	}
	rng := seeded(t, 4)
	data := r.store.(Data)
	for i := range data.Target {
		data.Target[i] += shift + noise*float32(rng.NormFloat64())
	}
	for !r.Done() {
		if _, err := r.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	weights, err := r.Weights()
	if err != nil {
		t.Fatal(err)
	}
	if unit := weights[form.NoiseScale][0]; unit != 1 {
		t.Errorf("the unit of σ became %g after σ was trained", unit)
	}
	base := float64(form.Base(weights)[0])
	x := passed(t, r, r.validation.Rows)
	variance := 0.0
	for i := range r.validation.Len() {
		s := float64(form.NoiseStd(weights)[0])
		variance += (s*s + (&validated{Explained: x}).variance(i)) / float64(r.validation.Len())
	}
	t.Logf("base %.3f, noise %.3f", base, math.Sqrt(variance))
	if math.Abs(base-shift) > 0.15 || math.Abs(math.Sqrt(variance)-noise) > 0.2 {
		t.Errorf("base %.3f, want %g; noise %.3f, want %g", base, shift, math.Sqrt(variance), noise)
	}
}

// The objective needs what it is made of.
func TestJointNeedsTheLearnedHead(t *testing.T) {
	for name, change := range map[string]func(*form.Config, *Config){
		"without a trained base": func(n *form.Config, _ *Config) { n.TrainsBase = false },
		"classes": func(n *form.Config, c *Config) {
			n.Classes, c.Base = true, []float64{0}
		},
		"exact head":    func(n *form.Config, _ *Config) { n.Head = form.Exact },
		"least squares": func(_ *form.Config, c *Config) { c.Estimator = objective.LeastSquares },
	} {
		n, c := form.Default(form.Inputs{Numeric: 2}, form.Learned, form.Size{Rows: 100, Columns: 2}), Default(form.Learned, form.Size{Rows: 100, Columns: 2})
		n.TrainsBase, c.Likelihood, c.Estimator = true, Joint, objective.TwoDraws
		change(&n, &c)
		data := Unweighted(encode.NewBatch(4, 2, 0), make([]float32, 4))
		if _, err := New(n, Native{}, c, data, data); err == nil || !strings.Contains(err.Error(), "likelihood joint") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
