package psi_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
)

// The first of several networks is the model of one, as it has the training's own seed, and attributions are their mean.
func TestMembersAreAveraged(t *testing.T) {
	rows := people(t, newRand(t, 15), 200, 3)
	members := func(n int) func(*psi.Settings) {
		return func(s *psi.Settings) {
			quick(s)
			s.Members = n
		}
	}
	single := trained(t, rows, psi.Config{Change: members(1)})
	alone := explained(t, single, rows, psi.ExplainOptions{})
	m := trained(t, rows, psi.Config{Change: members(2)})
	e := explained(t, m, rows, psi.ExplainOptions{})
	addUp(t, e)
	if slices.Equal(alone.Mean, e.Mean) {
		t.Error("the second network says nothing")
	}
	if e.ModelStd != nil || e.Bags != 0 {
		t.Error("networks that learn from the same rows tell a doubt")
	}
}

// Doubt is the deviation over networks that learned from other samples, and beside σ_d.
func TestBagsTellDoubt(t *testing.T) {
	rows := people(t, newRand(t, 15), 200, 3)
	bagged := func(s *psi.Settings) {
		quick(s)
		s.Bags = 3
	}
	m := trained(t, rows, psi.Config{Change: bagged})
	none := trained(t, rows, psi.Config{Change: quick})
	e, plain := explained(t, m, rows, psi.ExplainOptions{}), explained(t, none, rows, psi.ExplainOptions{})
	addUp(t, e)
	if !slices.Equal(e.Mean, plain.Mean) || !slices.Equal(e.Std, plain.Std) {
		t.Error("bags move the attributions")
	}
	d := len(e.Players)
	for i, doubt := range e.ModelStd {
		if there := e.Observed[i/d/3*d+i%d]; (doubt > 0) != there {
			t.Fatalf("attribution %d, observed %v: its doubt is %v", i, there, doubt)
		}
		near(t, "doubt", doubt, stat.StdDev(e.ByBag[3*i:3*i+3], nil))
	}
	lead := explained(t, m, rows, psi.ExplainOptions{Output: "top", Against: "low", Groups: body()})
	if len(lead.ModelStd) != len(lead.Mean) || len(lead.Players) != 3 || slices.Max(lead.ModelStd) == 0 {
		t.Errorf("%d numbers of %d attributions", len(lead.ModelStd), len(lead.Mean))
	}
	same, err := e.Minus(e, 2)
	if err != nil {
		t.Fatal(err)
	}
	if width := 3 * d; slices.Max(same.ModelStd[2*width:3*width]) != 0 || slices.Max(same.ModelStd) == 0 {
		t.Error("a row differs from itself, or from no other")
	}
	if quick := explained(t, m, rows, psi.ExplainOptions{NoDoubt: true}); quick.ModelStd != nil || quick.Interval() != explain.BySpread {
		t.Error("a doubt that was not asked for is told")
	}
	learned := trained(t, rows, psi.Config{Head: "learned", Change: func(s *psi.Settings) { moment(s); s.Bags = 2 }})
	if e := explained(t, learned, rows, psi.ExplainOptions{To: 5}); e.ModelStd != nil {
		t.Error("the learned head tells a doubt that was not measured")
	}
}

// A model with bags is the same after it was saved, and after its training was interrupted within a bag.
func TestBagsAreSavedAndResumed(t *testing.T) {
	rows := people(t, newRand(t, 15), 200, 3)
	bagged := func(s *psi.Settings) {
		quick(s)
		s.Bags = 3
	}
	whole := trained(t, rows, psi.Config{Change: bagged})
	want := explained(t, whole, rows, psi.ExplainOptions{})
	file := filepath.Join(t.TempDir(), "m.psi")
	if err := whole.Save(file); err != nil {
		t.Fatal(err)
	}
	opened, err := psi.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	if got := explained(t, opened, rows, psi.ExplainOptions{}); !slices.Equal(got.ByBag, want.ByBag) {
		t.Error("other bags after saving")
	}

	c := psi.Config{Target: whole.Manifest().Target, Change: bagged, Checkpoint: filepath.Join(t.TempDir(), "c"), SaveEvery: 1}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.Progress = func(p psi.Progress) {
		if p.Stage == "doubt" && p.Member == 1 && p.Step > 2 {
			cancel()
		}
	}
	if _, err := psi.Train(ctx, rows.Source(), c); !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted: %v", err)
	}
	c.Progress, c.Resume = nil, true
	resumed, err := psi.Train(t.Context(), rows.Source(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer resumed.Close()
	if got := explained(t, resumed, rows, psi.ExplainOptions{}); !slices.Equal(got.ByBag, want.ByBag) || !slices.Equal(got.Mean, want.Mean) {
		t.Error("another model after an interruption")
	}
}
