package learn

import (
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/form/formtest"
	"github.com/psi-shapley/psi/internal/kernel/vector"
)

// table is the shape of a known table: its network, and how many distinct values its numbers have, 0 if all are different.
type table struct {
	form.Config
	distinct []int
}

func tables() map[string]table {
	adult := form.Default(form.Inputs{Numeric: 5, Levels: []int{9, 8, 15, 7, 6, 3, 42}}, form.Exact, form.Size{Rows: 48_000, Columns: 12, Classes: true})
	adult.Classes = true
	california := form.Default(form.Inputs{Numeric: 8}, form.Exact, form.Size{Rows: 20_000, Columns: 8})
	california.Channels = 256
	return map[string]table{
		"adult":      {adult, []int{74, 16, 123, 99, 96}},
		"california": {california, []int{0, 52, 0, 0, 0, 0, 862, 844}},
		"100":        {form.Default(form.Inputs{Numeric: 100}, form.Exact, form.Size{Rows: 20_000, Columns: 100}), make([]int, 100)},
		"1000":       {form.Default(form.Inputs{Numeric: 1000}, form.Exact, form.Size{Rows: 20_000, Columns: 1000}), make([]int, 1000)},
	}
}

// repeat gives the numbers of rows few distinct values, small ones more often than large ones.
func repeat(rng *rand.Rand, b *encode.Batch, distinct []int, bins int) {
	for r := range b.Rows {
		for d, n := range distinct {
			if n > 0 {
				u := rng.Float32()
				u = float32(int(u*u*float32(n))) / float32(n)
				cell := b.Numbers[(r*b.Numeric+d)*2:]
				cell[0], cell[1] = u*float32(bins), 3.4*(u-0.5)
			}
		}
	}
}

func BenchmarkStep(b *testing.B) {
	const rows = 256
	for _, name := range []string{"adult", "california", "100", "1000"} {
		c := tables()[name]
		for _, ops := range vector.Available() {
			for _, phase := range []struct {
				name string
				Phase
				dropout bool
			}{{"fit", Fit, false}, {"dropout", Fit, true}, {"spread", Spread, false}} {
				b.Run(name+"/"+ops.String()+"/"+phase.name, func(b *testing.B) {
					defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // the time of one core
					rng := rand.New(rand.NewPCG(1, 1))
					t, err := newTrainer(c.Config, Recipe{Batch: rows, Clip: 1, MaskedExponent: 0.5, SpreadPenalty: 3e-4, Base: make([]float64, c.Outputs)}, ops)
					if err != nil {
						b.Fatal(err)
					}
					defer t.Close()
					for _, which := range []Copy{Current, Average} {
						if err := t.SetWeights(which, c.Start(1)); err != nil {
							b.Fatal(err)
						}
					}
					var batches []*Minibatch
					for range 8 {
						m := draw(rng, c.Config, rows, phase.dropout)
						m.Rows = formtest.Rows(rng, c.Inputs, rows, 0)
						repeat(rng, m.Rows, c.distinct, c.Inputs.Bins)
						batches = append(batches, m)
					}
					for _, m := range batches {
						t.Step(phase.Phase, m, Step{Rate: 1e-3, Decay: 0.1, Keep: 0.99})
					}
					start, i, least := cpuTime(b), 0, time.Hour
					for b.Loop() {
						began := time.Now()
						t.Step(phase.Phase, batches[i%len(batches)], Step{Rate: 1e-3, Decay: 0.1, Keep: 0.99})
						least = min(least, time.Since(began))
						i++
					}
					b.ReportMetric(float64((cpuTime(b)-start).Microseconds())/1000/float64(b.N), "cpu-ms/step")
					b.ReportMetric(float64(least.Microseconds())/1000, "least-ms/step") // nearest to that of a quiet core
				})
			}
		}
	}
}

// cpuTime is the CPU time of the process so far.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
