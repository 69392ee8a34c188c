package psi_test

import (
	"errors"
	"math"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
)

// A mixture's attributions are its Shapley values, also after saving and opening, with groups and unknown columns; its
// prediction is the weighted mean of its members', recalibrated.
func TestMix(t *testing.T) {
	rows := gappy(t, 1500)
	change := func(bins int) func(s *psi.Settings) {
		return func(s *psi.Settings) {
			few(s)
			s.Bags, s.Bins, s.Steps = 2, bins, 200 // bins, so that the two encode rows differently
		}
	}
	halves := [2][]int{}
	for i := range 1000 {
		halves[i%2] = append(halves[i%2], i)
	}
	a := trained(t, rows.Select(halves[0]), psi.Config{Seed: 1, Change: change(12)})
	b := trained(t, rows.Select(halves[1]), psi.Config{Seed: 2, Change: change(11)})
	m, err := psi.Mix(t.Context(), []*psi.Model{a, b}, rows.Source())
	if err != nil {
		t.Fatal(err)
	}
	path, _ := saved(t, m)
	opened, err := psi.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	manifest := opened.Manifest()
	if shares := manifest.Mixture.Shares; math.Abs(shares[0]+shares[1]-1) > 1e-9 || shares[0] < 0 || shares[1] < 0 {
		t.Errorf("shares %v", shares)
	}
	if !(*opened.StoredAudit().RelativeRMSE < 1e-5) || !(*opened.StoredAudit().SubgameRelativeRMSE < 1e-5) {
		t.Errorf("attributions are off by %g, of sub-games by %g", *opened.StoredAudit().RelativeRMSE, *opened.StoredAudit().SubgameRelativeRMSE)
	}
	for _, o := range []psi.ExplainOptions{{}, {Interactions: true}, {Unknown: []string{"x1"}}, {Groups: []psi.Group{{Name: "g", Columns: []string{"x1", "x3"}}}}} {
		fast, err := opened.Explain(t.Context(), rows.Select([]int{0, 1, 2, 3, 4}).Source(), o)
		if err != nil {
			t.Fatal(err)
		}
		again, err := m.Explain(t.Context(), rows.Select([]int{0, 1, 2, 3, 4}).Source(), o)
		if err != nil {
			t.Fatal(err)
		}
		o.Mode = explain.Exact
		exact, err := opened.Explain(t.Context(), rows.Select([]int{0, 1, 2, 3, 4}).Source(), o)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range fast.Mean {
			if math.Abs(v-exact.Mean[i]) > 1e-5 || v != again.Mean[i] {
				t.Errorf("%+v: an attribution is %g, enumerated %g, and before saving %g", o, v, exact.Mean[i], again.Mean[i])
			}
		}
		for i, v := range fast.Interactions {
			if math.Abs(v-exact.Interactions[i]) > 1e-5 {
				t.Errorf("an interaction is %g, enumerated %g", v, exact.Interactions[i])
			}
		}
		if fast.ModelStd == nil || fast.Std == nil || fast.Bags != a.Manifest().Settings.Bags {
			t.Errorf("doubt by %d bags", fast.Bags)
		}
	}
	checkGames(t, opened, rows.Select([]int{0, 1, 2, 3, 4, 5, 6}))
}

func TestMixRefuses(t *testing.T) {
	rows := gappy(t, 400)
	a := trained(t, rows, psi.Config{Seed: 1})
	if _, err := psi.Mix(t.Context(), []*psi.Model{a}, rows.Source()); !errors.As(err, new(*psi.Error)) {
		t.Errorf("a mixture of one: %v", err)
	}
	if _, err := psi.Mix(t.Context(), []*psi.Model{a, a}, rows.Select([]int{0, 1, 2}).Source()); !errors.As(err, new(*psi.Error)) {
		t.Errorf("a mixture by three rows: %v", err)
	}
	f := treeFileOf(t, "xgboost", "number")
	if _, err := psi.Mix(t.Context(), []*psi.Model{a, f.imported(t, psi.ImportOptions{})}, rows.Source()); !errors.As(err, new(*psi.Error)) {
		t.Errorf("a mixture of different games: %v", err)
	}
}
