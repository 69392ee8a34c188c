package objective_test

import (
	"context"
	"errors"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/objective"
	"github.com/psi-shapley/psi/shapley"
)

// coalition S is the number Σ_{d∈S} 2^d.
type coalition uint

func (s coalition) size() int { return bits.OnesCount(uint(s)) }

func (s coalition) has(d int) bool { return s>>d&1 == 1 }

// subsets are all coalitions of members of s, ∅ first and s last.
func (s coalition) subsets() []coalition {
	var all []coalition
	for part := range s + 1 {
		if part&^s == 0 {
			all = append(all, part)
		}
	}
	return all
}

func everyone(players int) coalition { return 1<<players - 1 }

// game is given by its values, [coalition][output]. v(∅) = 0, as in a network.
type game struct {
	players, outputs int
	v                []float64
}

// randomGame has independent standard normal values.
func randomGame(players, outputs int, rng *rand.Rand) game {
	g := game{players, outputs, make([]float64, outputs<<players)}
	for i := outputs; i < len(g.v); i++ {
		g.v[i] = rng.NormFloat64()
	}
	return g
}

func (g game) value(s coalition, output int) float64 { return g.v[int(s)*g.outputs+output] }

func (g game) Players() int { return g.players }

func (g game) Outputs() int { return g.outputs }

func (g game) Values(_ context.Context, batch *shapley.Coalitions) ([]float64, error) {
	var v []float64
	for i := range batch.Len() {
		var s coalition
		for d := range batch.Members(i) {
			s |= 1 << d
		}
		v = append(v, g.v[int(s)*g.outputs:][:g.outputs]...)
	}
	return v, nil
}

// shapley returns the exact Shapley values [output][player] of the game among the
// members of whole.
func (g game) shapley(t *testing.T, whole coalition) []float64 {
	t.Helper()
	var present []int
	for d := range g.players {
		if whole.has(d) {
			present = append(present, d)
		}
	}
	sub := shapley.Restrict(g, present)
	values, err := shapley.Exact(t.Context(), sub)
	if err != nil {
		t.Fatal(err)
	}
	return values.Extend(sub).Phi
}

// shared are attributions [output][player] that sum to v(S), each member's the same.
func (g game) shared(s coalition) []float64 {
	f := make([]float64, g.outputs*g.players)
	for c := range g.outputs {
		for d := range g.players {
			if s.has(d) {
				f[c*g.players+d] = g.value(s, c) / float64(s.size())
			}
		}
	}
	return f
}

// draw is a coalition with its probability.
type draw struct {
	coalition
	probability float64
}

// drawBySize gives a coalition of members of whole a probability of weight(size) up
// to a factor, shared evenly among those of its size.
func drawBySize(whole coalition, weight func(size int) float64) []draw {
	ofSize := make([]float64, whole.size()+1)
	for _, s := range whole.subsets() {
		ofSize[s.size()]++
	}
	total := 0.0
	for size := range ofSize {
		total += weight(size)
	}
	var draws []draw
	for _, s := range whole.subsets() {
		if w := weight(s.size()); w > 0 {
			draws = append(draws, draw{s, w / total / ofSize[s.size()]})
		}
	}
	return draws
}

// predecessors are the players before d in a random order of the members of whole.
func predecessors(whole coalition, d int) []draw {
	return drawBySize(whole&^(1<<d), func(int) float64 { return 1 })
}

// kernel is the Shapley kernel: sizes 0 < s < n with probability ∝ 1/(s(n−s)).
func kernel(whole coalition) []draw {
	n := whole.size()
	return drawBySize(whole, func(s int) float64 {
		if s == 0 || s == n {
			return 0
		}
		return 1 / float64(s*(n-s))
	})
}

// permutation are the players before a random one in a random order: every size
// below n alike.
func permutation(whole coalition) []draw {
	return drawBySize(whole, func(s int) float64 {
		if s == whole.size() {
			return 0
		}
		return 1
	})
}

// batch holds rows as Estimator.DSHAP takes them, and a weight for each.
type batch struct {
	rows, copies, outputs, players int

	f      []float64 // [rows, copies, outputs, players]
	mask   []float64 // [rows, copies, players]
	pick   []float64 // [rows, players]
	weight []float64 // [rows]
}

// evaluated is a copy of a row with the network's attributions [output][player].
type evaluated struct {
	members coalition
	f       []float64
}

// evaluate is the copy of a row in which only s is present, if the network plays g.
// How v(s) is shared among the members does not matter to what uses it.
func (g game) evaluate(s coalition) evaluated { return evaluated{s, g.shared(s)} }

// add appends a row whose random players are those of pick.
func (b *batch) add(weight float64, pick coalition, copies ...evaluated) {
	b.rows++
	b.weight = append(b.weight, weight)
	b.pick = pick.appendMask(b.pick, b.players)
	for _, e := range copies {
		b.mask = e.members.appendMask(b.mask, b.players)
		b.f = append(b.f, e.f...)
	}
}

func (s coalition) appendMask(mask []float64, players int) []float64 {
	for d := range players {
		mask = append(mask, float64(s>>d&1))
	}
	return mask
}

// attributions are those of one copy of a row for one output, [player]: a part of f
// or of its gradient.
func (b *batch) attributions(f []float64, row, copyAt, output int) []float64 {
	from := ((row*b.copies+copyAt)*b.outputs + output) * b.players
	return f[from : from+b.players]
}

func (b *batch) maskOf(row, copyAt int) []float64 {
	from := (row*b.copies + copyAt) * b.players
	return b.mask[from : from+b.players]
}

// estimate evaluates the estimator: DSHAP [rows, outputs], and the gradient by f of
// its weighted sum over rows and outputs.
func estimate(t *testing.T, on *engine.Backend, e objective.Estimator, b *batch) (value, gradient []float64) {
	t.Helper()
	out := run(t, on, func(in []*Node) []*Node {
		f, mask, pick, weight := in[0], in[1], in[2], in[3]
		dshap := e.DSHAP(f, mask, pick)
		loss := ReduceAllSum(Mul(dshap, InsertAxes(weight, -1)))
		return []*Node{dshap, Gradient(loss, f)[0]}
	},
		tensor(b.f, b.rows, b.copies, b.outputs, b.players),
		tensor(b.mask, b.rows, b.copies, b.players),
		tensor(b.pick, b.rows, b.players),
		vector(b.weight))
	return out[0], out[1]
}

// mean is the weighted sum over rows of values [rows, outputs] of one output.
func (b *batch) mean(value []float64, output int) float64 {
	sum := 0.0
	for row, w := range b.weight {
		sum += w * value[row*b.outputs+output]
	}
	return sum
}

// meanSlope is the sum over rows of the gradient by the attributions of one copy.
func (b *batch) meanSlope(gradient []float64, copyAt, output int) []float64 {
	sum := make([]float64, b.players)
	for row := range b.rows {
		for d, slope := range b.attributions(gradient, row, copyAt, output) {
			sum[d] += slope
		}
	}
	return sum
}

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
