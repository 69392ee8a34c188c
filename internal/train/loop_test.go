package train_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/kernel"
	"github.com/psi-shapley/psi/internal/train"
)

// A rate that is far too high must cost some steps, not the run.
func TestDivergenceIsRolledBackAndSaid(t *testing.T) {
	s := newSmall(t)
	recipe := shortRecipe()
	recipe.Rate, recipe.Clip = 300, 1e6
	var notes []string
	run := func() map[string][]float32 {
		r := s.run(t, train.Native{}, s.network(form.Exact, form.Product), recipe)
		err := r.Train(context.Background(), train.RunOptions{Progress: func(p train.Progress) {
			if p.Note != "" {
				notes = append(notes, p.Note)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		return finish(t, r)
	}
	first := run()
	if len(notes) == 0 || !strings.Contains(notes[0], "diverged") {
		t.Fatalf("nothing was said of a divergence: %q", notes)
	}
	t.Log(notes)
	for name, w := range first {
		for _, v := range w {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				t.Fatalf("%s ends with %v in it", name, v)
			}
		}
	}
	sameBits(t, first, run())
}

func TestHopelessDivergenceIsAnError(t *testing.T) {
	s := newSmall(t)
	s.data.Target[3] = float32(math.NaN())
	r := s.run(t, train.Native{}, s.network(form.Exact, form.Product), shortRecipe())
	err := r.Train(context.Background(), train.RunOptions{})
	if err == nil || !strings.Contains(err.Error(), "diverges") {
		t.Errorf("a target that is not a number ended in %v", err)
	}
}

// Every state that is handed out for saving leads to the same weights, also when the
// run later rolls back.
func TestSavedStatesLeadToTheSameWeights(t *testing.T) {
	s := newSmall(t)
	for _, rate := range []float64{shortRecipe().Rate, 300} {
		recipe := shortRecipe()
		if recipe.Rate = rate; rate > 1 {
			recipe.Clip = 1e6
		}
		n := s.network(form.Exact, form.Product)
		var states []*train.State
		r := s.run(t, train.Native{}, n, recipe)
		err := r.Train(context.Background(), train.RunOptions{Save: func(s *train.State) error {
			states = append(states, s)
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		want := finish(t, r)
		for i := 3; i < len(states); i += 31 {
			again := s.run(t, train.Native{}, n, recipe)
			if err := again.Restore(states[i]); err != nil {
				t.Fatal(err)
			}
			sameBits(t, want, finish(t, again))
			if len(again.History()) != len(r.History()) {
				t.Errorf("from state %d the history has %d points, want %d", i, len(again.History()), len(r.History()))
			}
		}
	}
}

func TestDeadlineCutsEveryPhaseShort(t *testing.T) {
	s := newSmall(t)
	recipe := shortRecipe()
	recipe.Steps, recipe.RefitSteps, recipe.SpreadSteps = 1_000_000, 1_000_000, 1_000_000
	r := s.run(t, train.Native{}, s.network(form.Exact, form.Product), recipe)
	start := time.Now()
	taken := map[string]int{}
	err := r.Train(context.Background(), train.RunOptions{
		Deadline: start.Add(3 * time.Second),
		Progress: func(p train.Progress) { taken[p.Phase]++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%v in %v", taken, time.Since(start))
	if used := time.Since(start); used > 15*time.Second {
		t.Errorf("a run of 3 s took %v", used)
	}
	if !r.Done() || taken["fit"] == 0 || taken["refit"] == 0 || taken["spread"] < 2 {
		t.Errorf("steps taken: %v", taken)
	}
}

// A run that is told to stop early leaves no phase out, and soon ends.
func TestStopEarlyCutsEveryPhaseShort(t *testing.T) {
	s := newSmall(t)
	recipe := shortRecipe()
	recipe.Steps, recipe.RefitSteps, recipe.SpreadSteps = 1_000_000, 1_000_000, 1_000_000
	r := s.run(t, train.Native{}, s.network(form.Exact, form.Product), recipe)
	stopEarly := make(chan struct{})
	taken, begun := map[string]int{}, time.Now()
	var told time.Time
	err := r.Train(context.Background(), train.RunOptions{StopEarly: stopEarly, Progress: func(p train.Progress) {
		if taken[p.Phase]++; told.IsZero() && time.Since(begun) > time.Second {
			told = time.Now()
			close(stopEarly)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if used := time.Since(told); used > 10*time.Second {
		t.Errorf("a run of %v took %v more", told.Sub(begun), used)
	}
	if !r.Done() || taken["refit"] == 0 || taken["spread"] < 2 {
		t.Errorf("steps taken: %v", taken)
	}
}

func TestProgressEstimatesTheRest(t *testing.T) {
	s := newSmall(t)
	r := s.run(t, train.Native{}, s.network(form.Exact, form.Product), shortRecipe())
	last := 0.0
	err := r.Train(context.Background(), train.RunOptions{Progress: func(p train.Progress) {
		if p.Done <= last || p.Done > 1 {
			t.Errorf("%s %d: share done %g after %g", p.Phase, p.Step, p.Done, last)
		}
		last = p.Done
		if p.Done > 0.5 && p.Done < 1 && p.Remaining <= 0 {
			t.Errorf("%s %d: nothing said of the time left", p.Phase, p.Step)
		}
	}})
	if err != nil || last != 1 {
		t.Errorf("ended at %g of the work: %v", last, err)
	}
}

// With many validation rows a validation is by some of them, and all decide between the best.
func TestAllRowsDecideBetweenTheBest(t *testing.T) {
	s := newSmall(t)
	recipe := shortRecipe()
	recipe.AbsentSteps, recipe.SpreadSteps, recipe.Steps, recipe.Rate, recipe.Decay = 0, 0, 80, 1e-2, 0.1
	for s.validation.Len() < 3000 {
		s.validation.Rows.Append(s.data.Rows)
		s.validation.Target = append(s.validation.Target, s.data.Target...)
		s.validation.Weight = append(s.validation.Weight, s.data.Weight...)
	}
	rng := rand.New(rand.NewPCG(4, 4))
	for i := range s.validation.Target { // so noisy that some rows tell little
		s.validation.Target[i] += 30 * float32(rng.NormFloat64())
	}
	n := s.network(form.Exact, form.Product)
	r := s.run(t, train.Native{}, n, recipe)
	var last *train.State
	var final float64
	err := r.Train(context.Background(), train.RunOptions{
		Save: func(s *train.State) error {
			if s.Phase == 0 {
				last = s
			}
			return nil
		},
		Progress: func(p train.Progress) { final = p.Score },
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(last.Kept) != 3 || final < last.Kept[2].Score {
		t.Fatalf("%d candidates, and a last score of %g", len(last.Kept), final)
	}
	scores := make([]float64, 3)
	for i, c := range last.Kept {
		scores[i] = squaredError(t, n, c.Weights, s.validation)
	}
	t.Logf("by some rows %g, %g, %g, by all %v", last.Kept[0].Score, last.Kept[1].Score, last.Kept[2].Score, scores)
	if got := squaredError(t, n, finish(t, r), s.validation); got != slices.Min(scores) {
		t.Errorf("the weights that were kept err by %g", got)
	}
	if slices.Min(scores) == scores[0] {
		t.Error("the rows of the test are such that some tell as much as all")
	}
}

func squaredError(t *testing.T, n form.Config, weights map[string][]float32, rows train.Data) float64 {
	t.Helper()
	k, err := kernel.New(n, weights, 1)
	if err != nil {
		t.Fatal(err)
	}
	x, err := k.Pass(context.Background(), rows.Rows, 0)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for i, v := range x.Value {
		gap := float64(v) - float64(rows.Target[i])
		sum += gap * gap
	}
	return sum / float64(len(x.Value))
}

// What only gets worse is not trained on, if there are validation rows enough to tell.
func TestStalePhaseEnds(t *testing.T) {
	s := newSmall(t)
	recipe := shortRecipe()
	recipe.AbsentSteps, recipe.SpreadSteps, recipe.Steps, recipe.Dropout, recipe.Decay, recipe.Rate = 0, 0, 1000, 0, 0, 3e-2
	for i := range s.validation.Target { // nothing that is learned holds there
		s.validation.Target[i] *= -1
	}
	stepsTaken := func() (steps int) {
		r := s.run(t, train.Native{}, s.network(form.Exact, form.Product), recipe)
		if err := r.Train(context.Background(), train.RunOptions{Progress: func(train.Progress) { steps++ }}); err != nil {
			t.Fatal(err)
		}
		return steps
	}
	if few := stepsTaken(); few != 1000 {
		t.Errorf("it took %d steps by few validation rows", few)
	}
	all := s.validation.Rows.Like(0)
	for range 3 {
		all.Append(s.validation.Rows)
	}
	s.validation = train.Unweighted(all, slices.Repeat(s.validation.Target, 3))
	if many := stepsTaken(); many > 750 {
		t.Errorf("it took %d steps by many", many)
	}
}
