package train

import (
	"context"
	"math"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/form"
)

// shortRun is a run of a few steps on random rows.
func shortRun(t *testing.T, change func(c *Config)) *Run {
	t.Helper()
	r := randomRun(t, Native{}, form.Exact, 3, func(n *form.Config, c *Config) {
		n.Channels, n.Embedding, n.Frequencies = 8, 8, 2
		c.Batch, c.Steps, c.RefitSteps, c.SpreadSteps = 32, 200, 10, 10
		if change != nil {
			change(c)
		}
	})
	r.validation = Unweighted(r.validation.Rows.Head(64), r.validation.Target[:64])
	return r
}

// poison makes the weights numbers that are none.
func poison(t *testing.T, r *Run) {
	t.Helper()
	all, err := r.trainer.save()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range r.net.Weights() {
		for i := range all["/"+current+"/"+w.Name].Floats {
			all["/"+current+"/"+w.Name].Floats[i] = float32(math.NaN())
		}
	}
	if err := r.trainer.restore(all); err != nil {
		t.Fatal(err)
	}
}

// Numbers that are none, before the first validation of a phase, must not survive in the
// moments of the optimiser, which the start of the phase knows nothing of.
func TestRollbackToTheStartOfAPhase(t *testing.T) {
	r := shortRun(t, nil)
	ctx := context.Background()
	if _, err := r.Step(ctx); err != nil {
		t.Fatal(err)
	}
	poison(t, r)
	notes := 0
	err := r.Train(ctx, RunOptions{Progress: func(p Progress) {
		if p.Note != "" {
			notes++
			t.Log(p.Note)
		}
	}})
	if err != nil || notes != 1 {
		t.Errorf("one poisoned step led to %d rollbacks: %v", notes, err)
	}
}

// A phase that got worse at any rate ends in the best weights it had, and the run goes on.
func TestBestWeightsAreKeptWhereEveryRateGetsWorse(t *testing.T) {
	r := shortRun(t, nil)
	ctx := context.Background()
	for r.kept == nil {
		if _, err := r.Step(ctx); err != nil {
			t.Fatal(err)
		}
	}
	best := r.kept[0].Weights
	r.rollbacks = maxRollbacks
	poison(t, r)
	said, err := r.Step(ctx)
	if err != nil || !strings.Contains(said.Note, "its best weights are kept") {
		t.Fatalf("the last rollback said %q: %v", said.Note, err)
	}
	if r.phase != 1 || r.rollbacks != 0 {
		t.Errorf("the run is in phase %d after %d rollbacks of it, and not at the start of the next", r.phase, r.rollbacks)
	}
	now, err := r.trainer.get(average)
	if err != nil {
		t.Fatal(err)
	}
	for name, w := range best {
		if !slices.Equal(now[name], w) {
			t.Errorf("%s is not as it was at the best validation", name)
		}
	}
	if err := r.Train(ctx, RunOptions{}); err != nil || !r.Done() {
		t.Errorf("the run did not go on: %v", err)
	}
}

// A wild target among the validation rows is not the network's fault.
func TestOutliersAreNoDivergence(t *testing.T) {
	r := shortRun(t, nil)
	target := make([]float32, len(r.validation.Target))
	copy(target, r.validation.Target)
	target[0] = 3e4
	again, err := New(r.net, Native{}, r.Config, r.store, Unweighted(r.validation.Rows, target))
	if err != nil {
		t.Fatal(err)
	}
	err = again.Train(context.Background(), RunOptions{Progress: func(p Progress) {
		if p.Note != "" {
			t.Error(p.Note)
		}
	}})
	if err != nil {
		t.Error(err)
	}
}

// The average must follow the weights also when steps are skipped.
func TestAverageFollowsSkippingSteps(t *testing.T) {
	r := shortRun(t, func(c *Config) { c.Steps, c.Rate = 5000, 1e-2 })
	start := r.net.Start(r.Seed)
	for i := range 40 {
		if _, err := r.stepTo(context.Background(), (i+1)*100); err != nil {
			t.Fatal(err)
		}
	}
	now, err := r.trainer.get(current)
	if err != nil {
		t.Fatal(err)
	}
	mean, err := r.trainer.get(average)
	if err != nil {
		t.Fatal(err)
	}
	behind, moved := apart(now, mean), apart(now, start)
	t.Logf("the weights moved by %.3f, their average is %.3f behind", moved, behind)
	if behind > 0.5*moved {
		t.Errorf("after 40 steps the average is %.2f of the way behind", behind/moved)
	}
}

func apart(a, b map[string][]float32) (sum float64) {
	for name, v := range a {
		for i := range v {
			d := float64(v[i] - b[name][i])
			sum += d * d
		}
	}
	return math.Sqrt(sum)
}

// Products of many factors must neither vanish nor blow up. A tensor-train has a car for
// each player in its graph, which a thousand of them make slow to compile.
func TestManyPlayersStayFinite(t *testing.T) {
	steps, trains := 3, 30
	if os.Getenv("PSI_SLOW") != "" {
		steps, trains = 200, 60
	}
	b, _, err := engine.Open("auto")
	if err != nil {
		t.Fatal(err)
	}
	for shape, players := range map[form.Form]int{form.Product: 1000, form.TensorTrain: trains} {
		var on Backend = Native{}
		if shape != form.Product {
			on = Engine{b}
		}
		r := randomRun(t, on, form.Exact, players, func(n *form.Config, c *Config) {
			n.Inputs.Bins, n.Frequencies, n.Form = 16, 4, shape
			n.Channels, n.Rank, n.Embedding = 32, 2, 16
			c.Batch, c.Steps = 64, 1000
		})
		r.validation.Rows = r.validation.Rows.Head(64)
		r.validation.Target = r.validation.Target[:64]
		start := time.Now()
		for i := range steps {
			p, err := r.Step(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if math.IsNaN(p.Loss) || math.IsInf(p.Loss, 0) {
				t.Fatalf("%s: the loss of step %d is %v", shape, i, p.Loss)
			}
			if i == 0 {
				t.Logf("%s, %d players: first step, with compiling, %v, loss %.3f", shape, players, time.Since(start).Round(time.Millisecond), p.Loss)
				start = time.Now()
			} else if i == steps-1 {
				t.Logf("%s, %d players: loss %.3f after %d steps, %v a step of 64 rows, %d MiB in memory at most", shape, players, p.Loss, steps,
					(time.Since(start) / time.Duration(steps-1)).Round(time.Millisecond), peakMemory(t)>>20)
			}
		}
		weights, err := r.Weights()
		if err != nil {
			t.Fatal(err)
		}
		for name, w := range weights {
			for _, v := range w {
				if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
					t.Fatalf("%s: %s holds %v", shape, name, v)
				}
			}
		}
		x, err := r.evaluator.Pass(context.Background(), r.validation.Rows, form.Attributions)
		if err != nil {
			t.Fatal(err)
		}
		if res := x.Residual(); !(res < 1e-4) {
			t.Errorf("%s: Σφ misses v by %.1e of it with %d nodes", shape, res, r.nodes)
		}
	}
}

// peakMemory is the most memory, in bytes, that the process has held.
func peakMemory(t *testing.T) int64 {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return u.Maxrss << 10
}
