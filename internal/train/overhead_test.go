package train

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/form"
)

// randomRun is a run of the default sizes on random rows of d numeric columns.
func randomRun(t testing.TB, b Backend, head form.Head, d int, change func(*form.Config, *Config)) *Run {
	t.Helper()
	const rows, seed = 4096, 5
	rng := rand.New(rand.NewPCG(seed, 0))
	size := form.Size{Rows: 20_000, Columns: d}
	n, c := form.Default(form.Inputs{Numeric: d}, head, size), Default(head, size)
	n.Pairs, n.Learners = nil, 1 // so that any number of channels and any form will do
	data := Unweighted(encode.NewBatch(rows, d, 0), make([]float32, rows))
	for i := range rows {
		for j := range d {
			cell := data.Rows.Numbers[(i*d+j)*2:]
			u := rng.Float32()
			cell[0], cell[1] = u*float32(n.Inputs.Bins), 3.4*(u-.5)
			data.Rows.Observed[i*d+j] = 1
			data.Target[i] += cell[1] / float32(d)
		}
	}
	if change != nil {
		change(&n, &c)
	}
	r, err := New(n, b, c, data, data)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A step of training must cost little more than its graph: drawing rows and coalitions
// and keeping score may add 15 %. Steps with and without that work alternate, so that
// both meet the same machine.
func TestStepCostsLittleMoreThanItsGraph(t *testing.T) {
	if os.Getenv("PSI_SLOW") == "" {
		t.Skip("measures time: set PSI_SLOW=1")
	}
	for _, name := range engine.Names() {
		b, _, err := engine.Open(name)
		if err != nil {
			t.Logf("without %s: %v", name, err)
			continue
		}
		for _, head := range []form.Head{form.Exact, form.Learned} {
			t.Run(fmt.Sprint(name, "/", head), func(t *testing.T) {
				r := randomRun(t, Engine{b}, head, 12, nil)
				for range 3 { // compiles
					if _, err := r.Step(context.Background()); err != nil {
						t.Fatal(err)
					}
				}
				var whole, bare []time.Duration
				for i := range 40 {
					start := time.Now()
					if err := r.stepper.fill(i); err != nil {
						t.Fatal(err)
					}
					if _, err := r.stepper.call(i); err != nil {
						t.Fatal(err)
					}
					whole = append(whole, time.Since(start))
					start = time.Now()
					if _, err := r.stepper.call(i); err != nil {
						t.Fatal(err)
					}
					bare = append(bare, time.Since(start))
				}
				ratio := float64(median(whole)) / float64(median(bare))
				t.Logf("%s, %s head, 12 players, batch %d: step %v, bare graph %v, ratio %.3f", name, head, r.Batch, median(whole), median(bare), ratio)
				if ratio > 1.15 {
					t.Errorf("a step costs %.3f times its graph, more than 1.15", ratio)
				}
			})
		}
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
