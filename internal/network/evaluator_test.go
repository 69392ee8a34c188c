package network_test

import (
	"math"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/form/formtest"
	"github.com/psi-shapley/psi/internal/network"
	"github.com/psi-shapley/psi/shapley"
)

// Coalitions of a row at once, few or many, have the values they have one by one.
func TestCoalitionAxis(t *testing.T) {
	onEachKind(t, func(t *testing.T, b *engine.Backend, k kind) {
		rng := newRand(t)
		const outputs = 2
		s := newSubject(t, b, k.small(7, outputs), rng)
		e := s.evaluator(t, 1)
		for _, per := range []int{network.FewCoalitions, network.FewCoalitions + 1} {
			rows := formtest.Rows(rng, s.Inputs, 6, 0)
			masks := formtest.Masks(rng, rows.Rows, per, rows.Players())
			together := coalitions(t, e, rows, masks, per)

			alone := make([]float32, len(together))
			for p := range per {
				for i := range rows.Rows {
					copy(rows.Observed[i*rows.Players():(i+1)*rows.Players()], masks[(i*per+p)*rows.Players():])
				}
				values, err := e.Pass(t.Context(), rows, 0)
				if err != nil {
					t.Fatal(err)
				}
				for i := range rows.Rows {
					copy(alone[(i*per+p)*outputs:][:outputs], values.Value[i*outputs:])
				}
			}
			atMost(t, "relative difference", relativeError(together, alone), 1e-6)
		}
	})
}

// What a pass finds out does not depend on what else is wanted.
func TestPassesAgree(t *testing.T) {
	onEachKind(t, func(t *testing.T, b *engine.Backend, k kind) {
		rng := newRand(t)
		s := newSubject(t, b, k.small(7, 2), rng)
		rows := formtest.Rows(rng, s.Inputs, 6, 0.2)
		e := s.evaluator(t, s.exactNodes())
		explained := explain(t, e, rows)
		for _, want := range []form.Want{0, form.Spread, form.Attributions} {
			x, err := e.Pass(t.Context(), rows, want)
			if err != nil {
				t.Fatal(err)
			}
			atMost(t, "values", relativeError(x.Value, explained.Value), 1e-6)
			if want == form.Spread {
				atMost(t, "σ", relativeError(x.Std, explained.Std), 1e-6)
				atMost(t, "h²", relativeError(x.HiddenVariance, explained.HiddenVariance), 1e-6)
			}
			if want == form.Attributions {
				atMost(t, "attributions", relativeError(x.Attributions, explained.Attributions), 1e-6)
			}
		}
	})
}

// A row's numbers do not depend on the rows beside it, their number or its place among
// them: not a bit changes.
func TestRowsDoNotSeeTheirNeighbours(t *testing.T) {
	onEachKind(t, func(t *testing.T, b *engine.Backend, k kind) {
		rng := newRand(t)
		s := newSubject(t, b, k.small(5, 2), rng)
		e := s.fullEvaluator(t, engine.Live, 2)
		rows := formtest.Rows(rng, s.Inputs, 2*network.PassRows+3, 0.2)
		together := explain(t, e, rows)
		for _, i := range []int{0, 1, 6, network.PassRows - 1, network.PassRows, rows.Rows - 1} {
			others := formtest.Rows(rng, s.Inputs, i+1, 0.2)
			others.Set(i, rows, i)
			wantSame(t, part(explain(t, e, others), i+1, i), part(together, rows.Rows, i))
			wantSame(t, explain(t, e, only(rows, i)), part(together, rows.Rows, i))
		}
		for _, per := range []int{network.FewCoalitions, network.FewCoalitions + 1} {
			masks := formtest.Masks(rng, rows.Rows, per, rows.Players())
			values := coalitions(t, e, rows, masks, per)
			last := rows.Rows - 1
			alone := coalitions(t, e, only(rows, last), masks[last*per*rows.Players():], per)
			if among := values[len(values)-len(alone):]; !slices.Equal(alone, among) {
				t.Errorf("%d coalitions of a row alone are worth %v, among others %v", per, alone, among)
			}
		}
	})
}

// A few rows go through a small pass, and have the bits they have in a large one, also
// with layers as wide as tables are fitted with.
func TestSmallPassesGiveTheSameBits(t *testing.T) {
	for _, head := range []form.Head{form.Exact, form.Learned} {
		onEachBackend(t, func(t *testing.T, b *engine.Backend) {
			rng := newRand(t)
			in := form.Inputs{Numeric: 4, Bins: 128, Levels: []int{7, 3}}
			s := newSubject(t, b, form.Default(in, head, form.Size{Rows: 20_000, Columns: in.Columns()}), rng)
			e := s.fullEvaluator(t, engine.Final, 3)
			rows := formtest.Rows(rng, s.Inputs, network.PassRows, 0.1)
			together := explain(t, e, rows)
			for _, i := range []int{0, 1, 5, 30, 59} {
				wantSame(t, explain(t, e, only(rows, i)), part(together, rows.Rows, i))
			}
		})
	}
}

// only is row i by itself.
func only(rows *encode.Batch, i int) *encode.Batch {
	one := rows.Like(1)
	one.Set(0, rows, i)
	return one
}

// part is what x, of n rows, says of row i.
func part(x *form.Explained, n, i int) *form.Explained {
	of := func(all []float32) []float32 {
		width := len(all) / n
		return all[i*width : (i+1)*width]
	}
	return &form.Explained{
		Value: of(x.Value), Attributions: of(x.Attributions), Std: of(x.Std), HiddenVariance: of(x.HiddenVariance),
	}
}

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

// An ensemble's answers are the means of its members', its variances those of the law of
// total variance, and its attributions the Shapley values of the mean game.
func TestEnsembleIsTheMeanOfItsMembers(t *testing.T) {
	onEachKind(t, func(t *testing.T, b *engine.Backend, k kind) {
		rng := newRand(t)
		s := newSubject(t, b, k.small(5, 1), rng)
		rows := formtest.Rows(rng, s.Inputs, 4, 0.2)
		nodes := s.exactNodes()
		var members []form.Member
		var answers []*form.Explained
		noise := 0.0
		for range 3 {
			m := form.Member{Weights: formtest.Weights(rng, s.Config), Nodes: nodes}
			members = append(members, m)
			s.put(t, m.Weights)
			answers = append(answers, explain(t, s.evaluator(t, nodes), rows))
			sigma0 := float64(form.NoiseStd(m.Weights)[0])
			noise += sigma0 * sigma0 / 3
		}
		e, err := s.NewEnsemble(members, func(m form.Member) (form.Evaluator, error) { return network.FinalEvaluator(b, s.Config, m) })
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		got, err := e.Pass(t.Context(), rows, form.Everything)
		if err != nil {
			t.Fatal(err)
		}
		predicted, err := e.Pass(t.Context(), rows, form.Spread)
		if err != nil {
			t.Fatal(err)
		}
		alone, err := e.Pass(t.Context(), rows, form.Attributions)
		if err != nil {
			t.Fatal(err)
		}
		moments := func(of func(x *form.Explained) float64) (mean, variance float64) {
			for _, x := range answers {
				mean += of(x) / 3
			}
			for _, x := range answers {
				variance += (of(x) - mean) * (of(x) - mean) / 2
			}
			return mean, variance
		}
		d := rows.Players()
		for i := range rows.Rows {
			value, ofValues := moments(func(x *form.Explained) float64 { return float64(x.Value[i]) })
			hidden, _ := moments(func(x *form.Explained) float64 { return float64(x.HiddenVariance[i]) })
			total := noise + hidden + ofValues
			for j := range d {
				at := i*d + j
				phi, _ := moments(func(x *form.Explained) float64 { return float64(x.Attributions[at]) })
				sigma, _ := moments(func(x *form.Explained) float64 { return float64(x.Std[at]) * float64(x.Std[at]) })
				total += sigma
				near(t, "attribution", float64(got.Attributions[at]), phi)
				near(t, "attribution alone", float64(alone.Attributions[at]), phi)
				near(t, "σ", float64(got.Std[at]), math.Sqrt(sigma))
			}
			near(t, "value", float64(got.Value[i]), value)
			near(t, "predicted value", float64(predicted.Value[i]), value)
			near(t, "variance", got.Variance[i], total)
			near(t, "predicted variance", predicted.Variance[i], total)
		}
		if k.head == form.Learned {
			return
		}
		for i := range rows.Rows {
			game := shapley.Restrict(e.RowGame(rows, i), observed(rows, i))
			values, err := shapley.Exact(t.Context(), game)
			if err != nil {
				t.Fatal(err)
			}
			atMost(t, "relative distance from Shapley values", relativeError(got.Attributions[i*d:(i+1)*d], values.Extend(game).Of(0)), 1e-5)
		}
	})
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-5*(1+math.Abs(want)) {
		t.Errorf("%s is %g, want %g", what, got, want)
	}
}

// All backends give the same numbers for the same weights. The pure Go one, which is
// always there, is what the others are held to.
func TestBackendsAgree(t *testing.T) {
	const (
		tolerance = 1e-4
		outputs   = 2
	)
	for _, name := range engine.Names() {
		if name == "go" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			backend, reference := open(t, name), open(t, "go")
			for _, k := range kinds {
				t.Run(k.name, func(t *testing.T) {
					rng := newRand(t)
					want := newSubject(t, reference, k.small(10, outputs), rng)
					weights, err := want.Get(weightsCopy)
					if err != nil {
						t.Fatal(err)
					}
					got := newSubject(t, backend, want.Config, rng)
					got.put(t, weights)
					rows := formtest.Rows(rng, want.Inputs, 40, 0.2)
					agree := func(what string, got, want []float32) {
						e := relativeError(got, want)
						t.Logf("%s: relative difference %.1e", what, e)
						atMost(t, what, e, tolerance)
					}
					eg, ew := got.evaluator(t, 3), want.evaluator(t, 3)
					xg, xw := explain(t, eg, rows), explain(t, ew, rows)
					agree("value", xg.Value, xw.Value)
					agree("attributions", xg.Attributions, xw.Attributions)
					agree("σ", xg.Std, xw.Std)
					agree("h²", xg.HiddenVariance, xw.HiddenVariance)
					if slices.Contains(exactKinds, k) {
						agree("interactions", interactions(t, eg, rows), interactions(t, ew, rows))
					}
				})
			}
		})
	}
}

// Weights are drawn on the host: a seed gives the same ones everywhere, another seed
// others.
func TestStartDependsOnTheSeedAlone(t *testing.T) {
	for _, k := range kinds {
		n, err := network.New(k.small(5, 2))
		if err != nil {
			t.Fatal(err)
		}
		first, again, other := n.Start(1), n.Start(1), n.Start(2)
		for _, w := range n.Weights() {
			if !slices.Equal(first[w.Name], again[w.Name]) {
				t.Errorf("%s: %s differs between two draws", k.name, w.Name)
			}
		}
		if slices.Equal(first["bins"], other["bins"]) {
			t.Errorf("%s: two seeds give the same weights", k.name)
		}
	}
}
