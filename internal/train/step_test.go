package train

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/form"
)

func TestDropOutKeepsTheMean(t *testing.T) {
	rng := seeded(t, 1)
	for _, share := range []float64{0, 0.1, 0.5, 0.9} {
		kept := make([]float32, draws+3)
		dropOut(rng, share, kept)
		zeros := 0
		for i, v := range kept {
			switch v {
			case 0:
				zeros++
			case float32(1 / (1 - share)):
			default:
				t.Fatalf("share %g: element %d is %g", share, i, v)
			}
		}
		if got, bound := float64(zeros)/float64(len(kept)), 5*math.Sqrt(share*(1-share)/draws)+1.0/(1<<16); math.Abs(got-share) > bound {
			t.Errorf("share %g: %g of the elements are left out", share, got)
		}
	}
}

// Every row of a large table is seen, at any size.
func TestStepsGrowWithRows(t *testing.T) {
	for _, classes := range []bool{false, true} {
		last := 0
		for _, rows := range []int{1e4, 3e4, 1e5, 1e6, 1e8} {
			c := Default(form.Exact, form.Size{Rows: rows, Columns: 10, Classes: classes})
			if c.Steps < last || c.Steps*c.Batch < rows {
				t.Errorf("%d rows (classes: %v): %d steps of %d rows", rows, classes, c.Steps, c.Batch)
			}
			last = c.Steps
		}
	}
}

func TestOneCycleEndsAndTop(t *testing.T) {
	const n, top = 1000, 2e-3
	for _, c := range []struct {
		name string
		step int
		want float64
	}{
		{"first step", 0, top / 25},
		{"half way up", n / 20, (top/25 + top) / 2},
		{"top", n / 10, top},
		{"last step", n - 1, top / 2500},
	} {
		if got := oneCycle(c.step, n, top); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: rate %g, want %g", c.name, got, c.want)
		}
	}
}

func TestOneCycleRisesThenFalls(t *testing.T) {
	for _, n := range []int{5, 10, 13, 40, 999, 1000} {
		for i := 1; i < n; i++ {
			last, rate := oneCycle(i-1, n, 1), oneCycle(i, n, 1)
			rising := float64(i) <= 0.1*float64(n)
			falling := float64(i-1) >= 0.1*float64(n)
			if rising && rate <= last || falling && rate >= last {
				t.Errorf("of %d steps, step %d has rate %g after %g", n, i, rate, last)
			}
		}
	}
}

func TestOneCycleOfAnyLength(t *testing.T) {
	for n := 1; n <= 60; n++ {
		for i := range n {
			rate := oneCycle(i, n, 3)
			if !(rate >= 3.0/2500-1e-15 && rate <= 3) { // false for NaN
				t.Errorf("of %d steps, step %d has rate %g", n, i, rate)
			}
		}
	}
}

func TestKeepForgetsTheStartThenHolds(t *testing.T) {
	const decay = 0.99
	if got := keep(0, decay); got != 1.0/11 {
		t.Errorf("the first step keeps %g, want 1/11", got)
	}
	start := 1.0 // the share of the random start in the average
	for i := range 2000 {
		share := keep(i, decay)
		if i > 0 && share < keep(i-1, decay) || share > decay {
			t.Errorf("step %d keeps %g after %g", i, share, keep(i-1, decay))
		}
		start *= share
		if i == 50 && start > 1e-6 {
			t.Errorf("after 50 steps the average still holds %g of the random start", start)
		}
	}
	if got := keep(2000, decay); got != decay {
		t.Errorf("a late step keeps %g, want %g", got, decay)
	}
	if got := keep(2000, 0); got != 0 {
		t.Errorf("without an average a step keeps %g", got)
	}
}

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
