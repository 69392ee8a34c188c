package network_test

import (
	"slices"
	"testing"

	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/form/formtest"
	"github.com/psi-shapley/psi/internal/network"
)

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
