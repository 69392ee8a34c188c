package train

import (
	"context"
	"math"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/form"
)

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
