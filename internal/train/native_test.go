package train

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/form/formtest"
)

// trainable are networks and recipes that have everything which Native trains.
func trainable() map[string]func(n *form.Config, c *Config) {
	return map[string]func(n *form.Config, c *Config){
		"number":                    func(*form.Config, *Config) {},
		"no hidden layer, no waves": func(n *form.Config, _ *Config) { n.Hidden, n.Frequencies = 0, 0 },
		"three hidden layers":       func(n *form.Config, _ *Config) { n.Hidden = 3 },
		"dropout":                   func(_ *form.Config, c *Config) { c.Dropout = 0.3 },
		"two classes":               func(n *form.Config, c *Config) { n.Classes, c.Base = true, []float64{0.4} },
		"five classes, dropout": func(n *form.Config, c *Config) {
			n.Outputs, n.Classes, c.Base, c.Dropout = 5, true, []float64{0.3, -0.2, 0, 0.1, -0.2}, 0.2
		},
		"five classes that share σ": func(n *form.Config, c *Config) {
			n.Outputs, n.Classes, n.SharedSigma, c.Base = 5, true, true, []float64{0.3, -0.2, 0, 0.1, -0.2}
		},
		"groups":        func(n *form.Config, _ *Config) { n.Inputs.Groups = [][]int{{3}, {0, 4, 6}, {5, 1}, {2}} },
		"plain numbers": func(n *form.Config, _ *Config) { n.Inputs = form.Inputs{Numeric: 4, Bins: 16} },
		"categories":    func(n *form.Config, _ *Config) { n.Inputs = form.Inputs{Levels: []int{3, 9, 30}} },
		"one column":    func(n *form.Config, c *Config) { n.Inputs, c.Seed = form.Inputs{Numeric: 1, Bins: 7}, 4 }, // of seed 3, a unit of h rests where silu is flat
		"learners":      func(n *form.Config, _ *Config) { n.Channels, n.Learners = 48, 3 },
		"two classes, learners of pairs": func(n *form.Config, c *Config) {
			n.Channels, n.Learners, n.PairRank, n.Pairs = 64, 2, 1, n.Inputs.Matchings(4)
			n.Classes, c.Base = true, []float64{0.4}
		},
		"five classes, learners": func(n *form.Config, c *Config) {
			n.Channels, n.Learners, n.Outputs, n.Classes, c.Base = 32, 2, 5, true, []float64{0.3, -0.2, 0, 0.1, -0.2}
		},
		"log of the mean": func(_ *form.Config, c *Config) { c.LogStd = 1.2 },
		"other recipe":    func(_ *form.Config, c *Config) { c.Sampler, c.MaskedExponent, c.Clip = Bernoulli, 1, 0.5 },
	}
}

// drawn is data of random rows with gaps and weights, whose targets depend on their cells.
func drawn(n form.Config, rows int, seed uint64) Data {
	rng := rand.New(rand.NewPCG(seed, 1))
	b := formtest.Rows(rng, n.Inputs, rows, 0.1)
	d := Data{b, make([]float32, rows), make([]float32, rows)}
	for r := range rows {
		s := 0.0
		for j := range b.Numeric {
			s += math.Sin(float64(b.Numbers[(r*b.Numeric+j)*2])) * float64(b.Observed[r*b.Players()+j])
		}
		for j := range b.Categorical {
			s += float64(b.Codes[r*b.Categorical+j]%3) - 1
		}
		d.Target[r] = float32(s + 0.3*rng.NormFloat64())
		if n.Classes {
			d.Target[r] = float32(min(max(int(s+rng.NormFloat64()+float64(max(2, n.Outputs))/2), 0), max(2, n.Outputs)-1))
		}
		d.Weight[r] = 0.5 + rng.Float32()
	}
	return d
}

func newRun(t testing.TB, on Backend, change func(n *form.Config, c *Config), steps int) *Run {
	t.Helper()
	n := form.Config{
		Inputs: form.Inputs{Numeric: 5, Times: 2, Bins: 5, Gaps: true, Levels: []int{3, 40}}, Outputs: 1, Head: form.Exact, Form: form.Product,
		Frequencies: 3, Embedding: 9, Hidden: 1, Channels: 20, SigmaWidth: 5, HiddenWidth: 7,
	}
	c := Default(form.Exact, form.Size{Rows: 20_000, Columns: 7})
	c.Seed, c.Batch, c.Steps, c.RefitSteps, c.SpreadSteps, c.Rate = 3, 100, steps, steps, steps, 2e-3
	change(&n, &c)
	r, err := New(n, on, c, drawn(n, 700, 1), drawn(n, 100, 2))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// Native and the engine start every phase with the same weights and take the same minibatches: their losses are the same, and so
// are their weights after all steps. Adam divides a gradient by its size, so a gradient that is rounding alone, beside ε, would move
// the weights apart: recipes that shrink gradients to that are none to compare by.
func TestNativeTrainsAsTheEngine(t *testing.T) {
	const steps, ofLoss, ofWeights = 60, 1e-5, 1e-4
	b, _, err := engine.Open("go")
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range trainable() {
		t.Run(name, func(t *testing.T) {
			ours, theirs := newRun(t, Native{}, change, steps), newRun(t, Engine{b}, change, steps)
			for i := range ours.phases {
				for _, r := range []*Run{ours, theirs} {
					r.phase, r.step, r.taken = i, 0, 0
					if r.stepper, err = r.newStepper(&r.phases[i]); err != nil {
						t.Fatal(err)
					}
				}
				start := weightsOf(t, theirs, average)
				what := fmt.Sprintf("phase %d, %s", i, ours.phases[i].name)
				worst := 0.0
				for step := range steps {
					want, err := theirs.stepper.step(step)
					if err != nil {
						t.Fatal(err)
					}
					got, err := ours.stepper.step(step)
					if err != nil {
						t.Fatal(err)
					}
					worst = max(worst, math.Abs(got-want)/max(1, math.Abs(want)))
					ours.taken++
					theirs.taken++
				}
				if !(worst <= ofLoss) {
					t.Errorf("%s: losses differ by %.1e", what, worst)
				}
				for _, name := range []string{current, average} {
					got, want := weightsOf(t, ours, name), weightsOf(t, theirs, name)
					far, moved := apart(got, want)/size(want), apart(start, want)/size(want)
					t.Logf("%s: losses differ by %.1e, %s weights by %.1e, having moved by %.1e", what, worst, name, far, moved)
					least := 100 * ofWeights
					if ours.phases[i].name == absentPhase { // few of the weights, of one column little more than a constant
						least = 1000 * far
					}
					if !(far <= ofWeights) || moved < least {
						t.Errorf("%s: %s weights differ by %.1e, having moved by %.1e", what, name, far, moved)
					}
					for _, w := range ours.net.Weights() {
						if len(want[w.Name]) > 0 && !(apartOne(got[w.Name], want[w.Name]) <= 10*ofWeights*(1+sizeOne(want[w.Name]))) {
							t.Errorf("%s: %s of %s differs by %.1e, its size is %.1e", what, w.Name, name, apartOne(got[w.Name], want[w.Name]), sizeOne(want[w.Name]))
						}
					}
				}
				next := weightsOf(t, theirs, average)
				if i == 0 && !ours.net.Classes {
					form.SetNoise(next, 0.5, 0.4)
				}
				for _, r := range []*Run{ours, theirs} {
					r.endSteps()
					if err := r.trainer.put(next); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

func weightsOf(t *testing.T, r *Run, name string) map[string][]float32 {
	t.Helper()
	w, err := r.trainer.get(name)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func size(a map[string][]float32) (sum float64) {
	for _, v := range a {
		sum += math.Pow(sizeOne(v), 2)
	}
	return math.Sqrt(sum)
}

func sizeOne(v []float32) (sum float64) {
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

func apartOne(a, b []float32) (sum float64) {
	for i := range a {
		sum += math.Pow(float64(a[i])-float64(b[i]), 2)
	}
	return math.Sqrt(sum)
}
