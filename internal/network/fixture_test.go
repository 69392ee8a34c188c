package network_test

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/form/formtest"
	"github.com/psi-shapley/psi/internal/network"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random networks and rows; 0 draws one")

// newRand returns a generator whose seed is drawn anew in each run, for tests that
// must pass whatever it is.
func newRand(t testing.TB) *rand.Rand {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	return fixedRand(t, seed)
}

// fixedRand returns a generator with a fixed seed, for statistical tests, which fail
// for some seeds by their nature, and for benchmarks.
func fixedRand(t testing.TB, seed uint64) *rand.Rand {
	t.Helper()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// onEachBackend runs f as a subtest on every backend that opens here.
func onEachBackend(t *testing.T, f func(t *testing.T, b *engine.Backend)) {
	t.Helper()
	for _, name := range engine.Names() {
		t.Run(name, func(t *testing.T) { f(t, open(t, name)) })
	}
}

// open skips the test if the backend is absent; the one in pure Go never is.
func open(t testing.TB, name string) *engine.Backend {
	t.Helper()
	b, _, err := engine.Open(name)
	switch {
	case err != nil && name == "go":
		t.Fatal(err)
	case err != nil:
		t.Skipf("backend absent: %v", err)
	}
	return b
}

// kind is one of the networks there are: the exact head in its two forms, the product also with
// factors of two columns, and the learned head.
type kind struct {
	name  string
	head  form.Head
	form  form.Form
	pairs bool
}

var (
	product     = kind{"product", form.Exact, form.Product, false}
	pairs       = kind{"pairs", form.Exact, form.Product, true}
	tensorTrain = kind{"tensor-train", form.Exact, form.TensorTrain, false}
	learned     = kind{"learned", form.Learned, "", false}

	kinds      = []kind{product, pairs, tensorTrain, learned}
	exactKinds = []kind{product, pairs, tensorTrain}
)

// onEachKind runs f as a subtest for every kind of network on every backend.
func onEachKind(t *testing.T, f func(t *testing.T, b *engine.Backend, k kind)) {
	t.Helper()
	onEachBackend(t, func(t *testing.T, b *engine.Backend) {
		for _, k := range kinds {
			t.Run(k.name, func(t *testing.T) { f(t, b, k) })
		}
	})
}

// small is a network of few weights that has everything a network can have. Every
// third player is a category, about every third a time, and missing numbers may be levels.
func (k kind) small(players, outputs int) form.Config {
	c := form.Config{
		Inputs: form.Inputs{Bins: 5}, Outputs: outputs, Head: k.head, Form: k.form,
		Frequencies: 2, Embedding: 8, Hidden: 1,
		Channels: 4, Rank: 3,
		Net: form.MENN, Width: 24, Layers: 2,
		SigmaWidth: 4, HiddenWidth: 6,
	}
	for d := range players {
		if d%3 == 2 {
			c.Inputs.Levels = append(c.Inputs.Levels, 2+d%4)
		} else {
			c.Inputs.Numeric++
		}
	}
	c.Inputs.Times, c.Inputs.Gaps = c.Inputs.Numeric/2, true
	if k.pairs {
		c.Pairs, c.PairRank, c.Channels = c.Inputs.Matchings(2), 2, 2*form.PairLanes
	}
	return c
}

// weightsCopy names the copy of the weights that tests look at.
const weightsCopy = "weights"

// subject is a network with weights on a backend.
type subject struct {
	*network.Network
	*network.Params
	backend *engine.Backend
}

// newSubject makes a network with wild weights.
func newSubject(t testing.TB, b *engine.Backend, c form.Config, rng *rand.Rand) *subject {
	t.Helper()
	n, err := network.New(c)
	if err != nil {
		t.Fatal(err)
	}
	s := &subject{n, n.NewParams(), b}
	s.put(t, formtest.Weights(rng, n.Config))
	return s
}

func (s *subject) put(t testing.TB, weights map[string][]float32) {
	t.Helper()
	if err := s.Put(weightsCopy, weights); err != nil {
		t.Fatal(err)
	}
}

// evaluator integrates with the given number of nodes and sees every change of the
// weights. Its passes are small.
func (s *subject) evaluator(t testing.TB, nodes int) *network.Evaluator {
	e := s.fullEvaluator(t, engine.Live, nodes)
	e.SetPassRows(8)
	return e
}

// fullEvaluator has the passes that users have.
func (s *subject) fullEvaluator(t testing.TB, mode engine.Mode, nodes int) *network.Evaluator {
	e := s.NewEvaluator(s.backend, s.Params, weightsCopy, mode, nodes)
	t.Cleanup(e.Close)
	return e
}

// exactNodes is the number of nodes that makes the subject's attributions exact.
func (s *subject) exactNodes() int { return form.ExactNodes(s.Inputs.Players()) }

// call runs a graph that build makes of the subject's rows and further inputs.
func (s *subject) call(
	t testing.TB, build func(f *network.Forward, in []*graph.Node) []*graph.Node,
	rows *encode.Batch, more ...*tensors.Tensor,
) [][]float32 {
	t.Helper()
	f, err := s.backend.Compile(s.Store, engine.Live, func(_ *model.Scope, in []*graph.Node) []*graph.Node {
		split, rest := network.RowsOf(s.Inputs, in)
		return build(s.Forward(s.Lookup(weightsCopy, in[0]), split), rest)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out, err := f.Call(append(network.RowTensors(rows), more...)...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func explain(t testing.TB, e *network.Evaluator, b *encode.Batch) *form.Explained {
	t.Helper()
	x, err := e.Pass(t.Context(), b, form.Everything)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func interactions(t testing.TB, e *network.Evaluator, b *encode.Batch) []float32 {
	t.Helper()
	x, err := e.Interactions(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func coalitions(t testing.TB, e *network.Evaluator, b *encode.Batch, masks []float32, per int) []float32 {
	t.Helper()
	v, err := e.Coalitions(t.Context(), b, masks, per)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// relativeError is the root-mean-square of got − want over that of want; 0 if both
// are all zeros.
func relativeError[G, W float32 | float64](got []G, want []W) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	var square, scale float64
	for i, w := range want {
		square += math.Pow(float64(got[i])-float64(w), 2)
		scale += float64(w) * float64(w)
	}
	if square == 0 {
		return 0
	}
	return math.Sqrt(square / scale)
}

// atMost fails the test unless what, measured as x, is at most limit; NaN is not.
func atMost(t testing.TB, what string, x, limit float64) {
	t.Helper()
	if !(x <= limit) {
		t.Errorf("%s: %.3g, want at most %.3g", what, x, limit)
	}
}

// wantSame fails the test unless every number is the same to the last bit.
func wantSame(t testing.TB, got, want *form.Explained) {
	t.Helper()
	for _, c := range []struct {
		what      string
		got, want []float32
	}{
		{"value", got.Value, want.Value},
		{"attributions", got.Attributions, want.Attributions},
		{"σ", got.Std, want.Std},
		{"h²", got.HiddenVariance, want.HiddenVariance},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: not the same to the last bit, but off by %.1e", c.what, relativeError(c.got, c.want))
		}
	}
}
