package network_test

import (
	"math"
	"testing"

	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/form/formtest"
	"github.com/psi-shapley/psi/internal/network"
	"github.com/psi-shapley/psi/shapley"
)

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
