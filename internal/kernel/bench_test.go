package kernel_test

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/form/formtest"
	"github.com/psi-shapley/psi/internal/kernel"
)

// tables are of the shapes of known ones. Of adult's numbers most values come many times; california's are all different.
func tables() map[string]form.Config {
	adult := form.Default(form.Inputs{Numeric: 5, Bins: 128, Levels: []int{9, 8, 16, 7, 6, 3, 43}}, form.Exact, form.Size{Rows: 48_000, Columns: 12, Classes: true})
	adult.Classes = true
	california := form.Default(form.Inputs{Numeric: 8, Bins: 128}, form.Exact, form.Size{Rows: 20_000, Columns: 8})
	california.Channels = 256
	return map[string]form.Config{
		"adult":      adult,
		"california": california,
		"100":        form.Default(form.Inputs{Numeric: 100}, form.Exact, form.Size{Rows: 20_000, Columns: 100}),
		"1000":       form.Default(form.Inputs{Numeric: 1000}, form.Exact, form.Size{Rows: 20_000, Columns: 1000}),
	}
}

// repeat lets the numbers of rows come again and again.
func repeat(b *encode.Batch, values int) {
	for i := range b.Rows {
		for d := range b.Numeric {
			copy(b.Numbers[(i*b.Numeric+d)*2:][:2], b.Numbers[(i*7%values*b.Numeric+d)*2:][:2])
		}
	}
}

func BenchmarkPass(b *testing.B) {
	for _, name := range []string{"adult", "california", "100", "1000"} {
		c := tables()[name]
		rng := rand.New(rand.NewPCG(1, 1))
		n, err := kernel.New(c, formtest.Weights(rng, c), 4)
		if err != nil {
			b.Fatal(err)
		}
		rows := formtest.Rows(rng, c.Inputs, 2048, 0)
		if name == "adult" {
			repeat(rows, 70)
		}
		for what, want := range map[string]form.Want{"values": 0, "predict": form.Spread, "explain": form.Everything} {
			b.Run(name+"/"+what, func(b *testing.B) {
				start := cpuTime(b)
				for b.Loop() {
					if _, err := n.Pass(b.Context(), rows, want); err != nil {
						b.Fatal(err)
					}
				}
				perRow := float64(cpuTime(b)-start) / float64(b.N*rows.Rows)
				b.ReportMetric(perRow, "cpu-ns/row")
				if what == "explain" && name != "adult" { // whose cells are cached
					b.ReportMetric(float64(operations(c, 4))/perRow, "GFLOP/s")
				}
			})
		}
	}
}

// References cost about as many passes as there are of them; passes that only predict cost what they do without.
func BenchmarkAgainst(b *testing.B) {
	const references = 100
	for _, name := range []string{"adult", "california", "100"} {
		c := tables()[name]
		rng := rand.New(rand.NewPCG(1, 1))
		n, err := kernel.New(c, formtest.Weights(rng, c), form.MaxNodes(c.Inputs.Players()))
		if err != nil {
			b.Fatal(err)
		}
		rows, lacking := formtest.Rows(rng, c.Inputs, 64, 0), formtest.Rows(rng, c.Inputs, 64, .1)
		e := againstRows(b, n, formtest.Rows(rng, c.Inputs, references, 0))
		for _, one := range []struct {
			what string
			of   form.Evaluator
			rows *encode.Batch
			want form.Want
			per  int // references of a row
		}{
			{"values of absent cells", n, rows, 0, 1},
			{"absent cells", n, rows, form.Attributions, 1},
			{"references", e, rows, form.Attributions, references},
			{"references of rows with missing cells", e, lacking, form.Attributions, references},
			{"values of references", e, rows, 0, 1},
		} {
			b.Run(name+"/"+one.what, func(b *testing.B) {
				b.ReportAllocs()
				start := cpuTime(b)
				for b.Loop() {
					if _, err := one.of.Pass(b.Context(), one.rows, one.want); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(cpuTime(b)-start)/float64(b.N*one.rows.Rows*one.per), "cpu-ns/game")
			})
		}
	}
}

// operations are the additions and multiplications of explaining a row of numbers, none of which was met before; functions such as tanh
// do not count.
func operations(c form.Config, nodes int) int {
	cell := 2*c.Embedding*(1+2*c.Frequencies) + 2*c.Hidden*c.Embedding*c.Embedding + 2*c.Embedding*(c.Channels+c.SigmaWidth+c.HiddenWidth)
	pair := nodes*8 + 11 // of players, in one channel
	return c.Inputs.Numeric * (cell + c.Channels*(2+pair/2+2))
}

// cpuTime is the CPU time of the process so far: on a busy machine it tells more than the clock.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
