package objective_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/psi-shapley/psi/internal/engine"
)

// onEveryBackend runs a test on each tensor backend that is compiled in.
func onEveryBackend(t *testing.T, test func(t *testing.T, b *engine.Backend)) {
	t.Helper()
	for _, name := range engine.Names() {
		t.Run(name, func(t *testing.T) {
			b, _, err := engine.Open(name)
			if _, absent := errors.AsType[*engine.AbsentError](err); absent {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			test(t, b)
		})
	}
}

// run builds a graph, evaluates it and returns its outputs, flat. The losses are
// formulas for any type of float: in double precision tests of them can be strict.
func run(t *testing.T, b *engine.Backend, build func(in []*Node) []*Node, in ...*tensors.Tensor) [][]float64 {
	t.Helper()
	args := make([]any, len(in))
	for i, x := range in {
		args[i] = x
	}
	var out [][]float64
	err := engine.Catch(func() error {
		results, err := CallOnceN(b.Backend, build, args...)
		if err != nil {
			return err
		}
		for _, r := range results {
			flat, err := tensors.CopyFlatData[float64](r)
			if err != nil {
				return err
			}
			out = append(out, flat)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func tensor(x []float64, dims ...int) *tensors.Tensor {
	return tensors.FromFlatDataAndDimensions(x, dims...)
}

func vector(x []float64) *tensors.Tensor { return tensor(x, len(x)) }

// seeded returns a generator with a fixed seed and prints the seed.
func seeded(t *testing.T, seed uint64) *rand.Rand {
	t.Helper()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// near fails the test unless got is want to within tolerance.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s = %.12g, want %.12g", what, got, want)
	}
}

// furthest is the largest distance between elements of a and b.
func furthest(a, b []float64) float64 {
	most := 0.0
	for i := range a {
		most = max(most, math.Abs(a[i]-b[i]))
	}
	return most
}
