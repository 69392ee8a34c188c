package learn

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/form/formtest"
	"github.com/psi-shapley/psi/internal/kernel/vector"
)

// cases are networks that have everything a product form can have.
func cases() map[string]form.Config {
	small := form.Config{
		Inputs: form.Inputs{Numeric: 4, Times: 1, Bins: 5, Gaps: true, Levels: []int{3, 40}}, Outputs: 1, Head: form.Exact, Form: form.Product,
		Frequencies: 3, Embedding: 9, Hidden: 1, Channels: 20, SigmaWidth: 5, HiddenWidth: 7,
	}
	all := map[string]form.Config{"number": small}
	add := func(name string, change func(c *form.Config)) {
		c := small
		change(&c)
		all[name] = c
	}
	add("slope, two hidden layers", func(c *form.Config) { c.Hidden, c.Frequencies = 2, 0 })
	add("two classes", func(c *form.Config) { c.Classes = true })
	add("classes", func(c *form.Config) { c.Outputs, c.Classes = 4, true })
	add("classes that share σ", func(c *form.Config) { c.Outputs, c.Classes, c.SharedSigma = 4, true, true })
	add("groups", func(c *form.Config) { c.Inputs.Groups = [][]int{{3}, {0, 4}, {5, 1}, {2}} })
	add("learners", func(c *form.Config) { c.Channels, c.Learners = 32, 2 })
	add("classes, learners of pairs", func(c *form.Config) {
		c.Outputs, c.Classes, c.Channels, c.Learners, c.PairRank, c.Pairs = 4, true, 64, 2, 1, c.Inputs.Matchings(4)
	})
	add("pairs", func(c *form.Config) {
		c.Channels, c.PairRank, c.Pairs = 48, 2, [][]int{{0, 1, 2, 3, 4, 5}, {5, 0, 1, 3, 2, 4}, {4, 0, 3, 5, 1, 2}}
	})
	add("pairs of an odd number of columns", func(c *form.Config) {
		c.Inputs.Levels = c.Inputs.Levels[:1]
		c.Channels, c.PairRank, c.Pairs = 32, 1, [][]int{{0, 1, 2, 3, 4, 5}, {3, 0, 1, 4, 2, 5}}
	})
	return all
}

const batch = 40

func newTest(t testing.TB, c form.Config, rng *rand.Rand, ops vector.Set) *Trainer {
	t.Helper()
	r := Recipe{Batch: batch, Clip: 1, SpreadPenalty: 0.01, Base: make([]float64, c.Outputs)}
	l, err := newTrainer(c, r, ops)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	weights := formtest.Weights(rng, c)
	for _, which := range []Copy{Current, Average} {
		if err := l.SetWeights(which, weights); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// draw is a minibatch of random rows with missing cells.
func draw(rng *rand.Rand, c form.Config, rows int, dropout bool) *Minibatch {
	b := &Minibatch{Rows: formtest.Rows(rng, c.Inputs, rows, 0.2), Target: make([]float32, rows), Weight: make([]float32, rows)}
	b.Masks = formtest.Masks(rng, rows, copies, c.Inputs.Players())
	for r := range rows {
		b.Target[r], b.Weight[r] = float32(rng.NormFloat64()), 0.5+rng.Float32()
		if c.Classes {
			b.Target[r] = float32(rng.IntN(max(2, c.Outputs)))
		}
		for p := range c.Inputs.Players() {
			b.Masks[r*copies*c.Inputs.Players()+p] = 1 // as observed
		}
	}
	if dropout {
		b.Kept = make([]float32, c.Inputs.Columns()*rows*c.Embedding)
		for i := range b.Kept {
			b.Kept[i] = 2 * float32(rng.IntN(2))
		}
	}
	return b
}

// Gradients are the slopes of the loss, measured by moving weights a little. What a part of the loss takes from another part has no
// gradient, so each group of weights is moved with the part it is trained by in view.
func TestGradientsAreSlopes(t *testing.T) {
	const seed = 5
	for name, c := range cases() {
		for _, phase := range []Phase{Fit, Absent, Spread} {
			for _, dropout := range []bool{false, true}[:2-int(phase)/2] {
				t.Run(fmt.Sprintf("%s, phase %d, dropout %v", name, phase, dropout), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(seed, 1))
					l := newTest(t, c, rng, vector.Available()[0])
					b := draw(rng, c, batch, dropout)
					l.gradients(phase, b)
					gradient := l.lay.read(l.gradient)
					for _, w := range c.Weights() {
						if slices.Contains(trained(phase), w.Group) {
							checkSlopes(t, l, phase, b, w, gradient[w.Name], rng)
						}
					}
				})
			}
		}
	}
}

// The mean of a number is learned on the scale of its log by half its gamma deviance, (y/μ − 1 − log(y/μ))/s², whose slope is that of the loss.
func TestErrorOfTheMean(t *testing.T) {
	const s = 1.3
	l := &Trainer{Recipe: Recipe{LogStd: s}}
	for _, y := range []float64{-2, 0, 0.4, 3} {
		for _, v := range []float64{-2, -0.1, 0.4, 2.5} {
			ratio := math.Exp(s*y) / math.Exp(s*v)
			loss, slope := l.errorOf(v - y)
			if want := (ratio - 1 - math.Log(ratio)) / (s * s); math.Abs(loss-want) > 1e-12*max(1, want) {
				t.Errorf("y %g, v %g: loss %g, want %g", y, v, loss, want)
			}
			above, _ := l.errorOf(v + 1e-6 - y)
			below, _ := l.errorOf(v - 1e-6 - y)
			if want := (above - below) / 2e-6; math.Abs(slope-want) > 1e-6*max(1, math.Abs(want)) {
				t.Errorf("y %g, v %g: slope %g, want %g", y, v, slope, want)
			}
		}
	}
	if loss, slope := l.errorOf(-1e6); math.IsInf(loss, 0) || math.Abs(slope) > math.MaxFloat32 {
		t.Errorf("far off: loss %g, slope %g", loss, slope)
	}
}

// trained are the groups of weights that a phase trains.
func trained(p Phase) []form.Group {
	return map[Phase][]form.Group{
		Fit: {form.Mean, form.Absent, form.Hidden}, Absent: {form.Absent}, Spread: {form.Sigma, form.Hidden},
	}[p]
}

// checkSlopes moves a weight's elements in random directions. Long moves cross the bends of relu, short ones drown in rounding: one
// length in between must show the gradient.
func checkSlopes(t *testing.T, l *Trainer, phase Phase, b *Minibatch, w form.Weight, gradient []float32, rng *rand.Rand) {
	t.Helper()
	before := l.Weights(Current)
	lengths := []float64{4e-3, 1e-3, 2.5e-4, 6e-5}
	slopes, gaps := 0.0, make([]float64, len(lengths))
	for range 4 {
		direction := make([]float64, len(gradient))
		want := 0.0
		for i, g := range gradient {
			direction[i] = rng.NormFloat64() / math.Sqrt(float64(len(gradient)))
			want += direction[i] * float64(g)
		}
		at := func(by float64) float64 {
			moved := maps.Clone(before)
			moved[w.Name] = slices.Clone(before[w.Name])
			for i := range direction {
				moved[w.Name][i] += float32(by * direction[i])
			}
			if err := l.SetWeights(Current, moved); err != nil {
				t.Fatal(err)
			}
			loss, hidden := l.gradients(phase, b)
			if w.Group == form.Hidden {
				return hidden
			}
			return loss
		}
		slopes += want * want
		for i, by := range lengths {
			got := (8*(at(by)-at(-by)) - (at(2*by) - at(-2*by))) / (12 * by)
			gaps[i] += (got - want) * (got - want)
		}
	}
	if err := l.SetWeights(Current, before); err != nil {
		t.Fatal(err)
	}
	if far := math.Sqrt(slices.Min(gaps) / slopes); !(far < 2e-2) {
		t.Errorf("%s: slopes %.2e differ from gradients by %.1e of them", w.Name, math.Sqrt(slopes), far)
	}
}

// train takes some steps of all phases and returns the losses and the bits of the weights.
func train(l *Trainer, c form.Config, seed uint64) (losses []float64, weights []float32) {
	rng := rand.New(rand.NewPCG(seed, 9))
	for _, phase := range []Phase{Fit, Spread, Refit, Absent} {
		if phase == Refit && c.Classes {
			continue
		}
		_ = l.SetMoments(Moments{})
		for i := range 8 {
			losses = append(losses, l.Step(phase, draw(rng, c, batch, phase != Spread && i%2 == 0), Step{Rate: 1e-2, Decay: 0.1, Keep: 0.5}))
		}
	}
	return losses, slices.Concat(l.weights, l.average, l.first, l.second)
}

// The number of cores changes nothing, to the bit.
func TestSameBytesOnAnyNumberOfCores(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for name, c := range cases() {
		c.Channels = 200 // several shares
		if c.Pairs != nil || c.Learners > 1 {
			c.Channels = 192
		}
		for _, ops := range vector.Available() {
			var losses []float64
			var weights []float32
			for _, cores := range []int{1, 2, 3} {
				runtime.GOMAXPROCS(cores)
				l := newTest(t, c, rand.New(rand.NewPCG(1, 2)), ops)
				gotLosses, got := train(l, c, 3)
				if cores == 1 {
					losses, weights = gotLosses, got
					continue
				}
				if !slices.Equal(gotLosses, losses) || !slices.Equal(got, weights) {
					t.Errorf("%s, %s: %d cores end in other weights than one", name, ops, cores)
				}
			}
		}
	}
}

// Every instruction set trains the same up to rounding.
func TestInstructionSetsAgree(t *testing.T) {
	for name, c := range cases() {
		for _, phase := range []Phase{Fit, Absent, Spread} {
			want := newTest(t, c, rand.New(rand.NewPCG(1, 2)), vector.Portable)
			b := draw(rand.New(rand.NewPCG(4, 2)), c, batch, phase == Fit)
			wantLoss, _ := want.gradients(phase, b)
			for _, ops := range vector.Available() {
				got := newTest(t, c, rand.New(rand.NewPCG(1, 2)), ops)
				loss, _ := got.gradients(phase, b)
				var gap, size float64
				for i, g := range want.gradient {
					gap += math.Pow(float64(got.gradient[i]-g), 2)
					size += float64(g) * float64(g)
				}
				if far := math.Sqrt(gap / size); !(far < 1e-5) || !(math.Abs(loss-wantLoss) < 1e-5*math.Abs(wantLoss)) {
					t.Errorf("%s, phase %d, %s: gradients differ by %.1e, losses %v and %v", name, phase, ops, far, loss, wantLoss)
				}
			}
		}
	}
}

// Padding has no weight: it stays 0 whatever is trained.
func TestPaddingStaysZero(t *testing.T) {
	for name, c := range cases() {
		l := newTest(t, c, rand.New(rand.NewPCG(1, 2)), vector.Portable)
		train(l, c, 3)
		for which, arena := range map[string][]float32{"weights": l.weights, "average": l.average, "moments": l.second} {
			alone := vector.Floats(len(arena))
			if err := l.lay.write(alone, l.lay.read(arena)); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(alone, arena) {
				t.Errorf("%s: padding of %s was trained", name, which)
			}
		}
	}
}

// A trainer that gets another's weights and moments goes on in the same bits.
func TestMomentsContinueTraining(t *testing.T) {
	c := cases()["number"]
	one := newTest(t, c, rand.New(rand.NewPCG(1, 2)), vector.Portable)
	two := newTest(t, c, rand.New(rand.NewPCG(3, 4)), vector.Portable)
	rng := rand.New(rand.NewPCG(5, 6))
	step := Step{Rate: 1e-2, Decay: 0.1, Keep: 0.5}
	for range 5 {
		one.Step(Fit, draw(rng, c, batch, false), step)
	}
	for _, which := range []Copy{Current, Average} {
		if err := two.SetWeights(which, one.Weights(which)); err != nil {
			t.Fatal(err)
		}
	}
	if err := two.SetMoments(one.Moments()); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		b := draw(rng, c, batch, false)
		one.Step(Fit, b, step)
		two.Step(Fit, b, step)
	}
	if !slices.Equal(one.weights, two.weights) || !slices.Equal(one.average, two.average) || !slices.Equal(one.second, two.second) {
		t.Error("a continued training ends in other weights")
	}
}

func TestStepsAllocateNothing(t *testing.T) {
	for name, c := range cases() {
		l := newTest(t, c, rand.New(rand.NewPCG(1, 2)), vector.Available()[0])
		for _, phase := range []Phase{Fit, Refit, Absent, Spread} {
			if phase == Refit && c.Classes {
				continue
			}
			b := draw(rand.New(rand.NewPCG(5, 6)), c, batch, phase == Fit)
			if n := testing.AllocsPerRun(5, func() { l.Step(phase, b, Step{Rate: 1e-3, Keep: 0.9}) }); n > 0 {
				t.Errorf("%s, phase %d: %g allocations a step", name, phase, n)
			}
		}
	}
}

func TestOtherFormsAreRefused(t *testing.T) {
	c := cases()["number"]
	c.Form = form.TensorTrain
	if _, err := New(c, Recipe{Batch: 1}); err == nil {
		t.Error("a tensor-train is trained as a product")
	}
}
