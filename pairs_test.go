package psi_test

import (
	"slices"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/artifact"
)

// paired are settings with factors of two columns.
func paired(s *psi.Settings) {
	quick(s)
	s.Channels, s.Pairs, s.PairRank = 48, 3, 2
}

// Models whose factors have two columns are as exact as others, of columns and of groups, whether the groups were there in training or
// join columns that were paired apart.
func TestPairsAreExact(t *testing.T) {
	rows := people(t, newRand(t, 6), 300, 3)
	for name, c := range map[string]struct {
		trained, explained []psi.Group
	}{
		"columns":                {},
		"groups before training": {body(), body()},
		"groups after training":  {nil, body()},
		"no groups any more":     {body(), nil},
	} {
		m := trained(t, rows, psi.Config{Groups: c.trained, Change: paired})
		fast := explained(t, m, rows, psi.ExplainOptions{Groups: c.explained, Interactions: true, To: 20})
		exact := explained(t, m, rows, psi.ExplainOptions{Groups: c.explained, Interactions: true, To: 20, Mode: explain.Exact})
		addUp(t, fast)
		if a, i := apart(fast.Mean, exact.Mean), apart(fast.Interactions, exact.Interactions); !(a < 1e-5 && i < 1e-5) {
			t.Errorf("%s: attributions differ from those of all coalitions by %.1e, interactions by %.1e", name, a, i)
		}
		again := explained(t, reopened(t, m), rows, psi.ExplainOptions{Groups: c.explained, To: 20})
		if !slices.Equal(again.Mean, explained(t, m, rows, psi.ExplainOptions{Groups: c.explained, To: 20}).Mean) {
			t.Errorf("%s: a model that was saved says something else", name)
		}
	}
}

// A program that has no factors of two columns must not read a model that has them.
func TestPairsAreRequired(t *testing.T) {
	m := trained(t, people(t, newRand(t, 6), 100, 2), psi.Config{Change: paired})
	_, content := saved(t, m)
	file, err := artifact.Read(content, artifact.Model)
	if err != nil || !slices.Equal(file.Requires, []string{"pairs", "scale"}) {
		t.Errorf("requires %q, %v", file.Requires, err)
	}
}
