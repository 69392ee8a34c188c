package network_test

import (
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/form/formtest"
)

// A Live evaluator that has run sees weights that change later, whether they are put
// or set by a graph. The engine would compile weights that are not trainable into the
// graph and say nothing: validating averaged weights would never see training move.
// Final evaluators allow it that, and are for weights that will not change.
func TestLiveEvaluatorSeesWeightsChange(t *testing.T) {
	onEachKind(t, func(t *testing.T, b *engine.Backend, k kind) {
		rng := newRand(t)
		s := newSubject(t, b, k.small(5, 1), rng)
		rows := formtest.Rows(rng, s.Inputs, 3, 0)
		hideOneEach(rows)
		e := s.evaluator(t, s.exactNodes())
		first := explain(t, e, rows)

		s.put(t, formtest.Weights(rng, s.Config))
		second := explain(t, e, rows)
		wantSame(t, second, explain(t, s.evaluator(t, s.exactNodes()), rows))
		wantOther(t, "value after Put", second.Value, first.Value)
		wantOther(t, "σ after Put", second.Std, first.Std)
		wantOther(t, "h² after Put", second.HiddenVariance, first.HiddenVariance)

		scaleWeights(t, s, 0.5)
		third := explain(t, e, rows)
		wantSame(t, third, explain(t, s.evaluator(t, s.exactNodes()), rows))
		wantOther(t, "value after Set", third.Value, second.Value)
	})
}

// A Final evaluator gives the numbers of a Live one.
func TestFinalEvaluatorAgrees(t *testing.T) {
	onEachKind(t, func(t *testing.T, b *engine.Backend, k kind) {
		rng := newRand(t)
		s := newSubject(t, b, k.small(5, 2), rng)
		rows := formtest.Rows(rng, s.Inputs, 3, 0.2)
		live := explain(t, s.fullEvaluator(t, engine.Live, 2), rows)
		final := explain(t, s.fullEvaluator(t, engine.Final, 2), rows)
		atMost(t, "value", relativeError(final.Value, live.Value), 1e-6)
		atMost(t, "attributions", relativeError(final.Attributions, live.Attributions), 1e-6)
		atMost(t, "σ", relativeError(final.Std, live.Std), 1e-6)
		atMost(t, "h²", relativeError(final.HiddenVariance, live.HiddenVariance), 1e-6)
	})
}

// Copies of the weights are independent of each other.
func TestCopiesAreApart(t *testing.T) {
	rng := newRand(t)
	s := newSubject(t, open(t, "go"), product.small(5, 1), rng)
	before, err := s.Get(weightsCopy)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Put("other", formtest.Weights(rng, s.Config)); err != nil {
		t.Fatal(err)
	}
	after, err := s.Get(weightsCopy)
	if err != nil {
		t.Fatal(err)
	}
	for name := range before {
		if !slices.Equal(after[name], before[name]) {
			t.Errorf("%s changed with the other copy's", name)
		}
	}
}

// scaleWeights multiplies every weight in a graph, as a training step would.
func scaleWeights(t *testing.T, s *subject, by float32) {
	t.Helper()
	f, err := s.backend.Compile(s.Store, engine.Live, func(_ *model.Scope, in []*Node) []*Node {
		weight := s.Lookup(weightsCopy, in[0])
		for _, w := range s.Weights() {
			s.Set(weightsCopy, w.Name, Mul(weight(w.Name), in[0]))
		}
		return []*Node{in[0]}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Call(engine.Tensor([]float32{by})); err != nil {
		t.Fatal(err)
	}
}

func wantOther(t *testing.T, what string, got, before []float32) {
	t.Helper()
	if slices.Equal(got, before) {
		t.Errorf("%s: still %v", what, got)
	}
}
