package network_test

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/form/formtest"
	"github.com/psi-shapley/psi/internal/network"
)

func TestPutAndGet(t *testing.T) {
	n, err := network.New(product.small(4, 1))
	if err != nil {
		t.Fatal(err)
	}
	p := n.NewParams()
	for _, want := range []map[string][]float32{n.Start(1), n.Start(2)} { // create, then overwrite
		if err := p.Put("copy", want); err != nil {
			t.Fatal(err)
		}
		got, err := p.Get("copy")
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range n.Weights() {
			if len(got[w.Name]) != w.Size() || !slices.Equal(got[w.Name], want[w.Name]) {
				t.Errorf("%s came back as something else", w.Name)
			}
		}
	}
}

// Weights of another network are refused, and the copy stays as it was.
func TestPutRefusesWrongSizes(t *testing.T) {
	n, err := network.New(product.small(4, 1))
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]func(values map[string][]float32){
		"too few elements":  func(v map[string][]float32) { v["channel"] = v["channel"][1:] },
		"too many elements": func(v map[string][]float32) { v["channel"] = append(v["channel"], 0) },
		"a weight missing":  func(v map[string][]float32) { delete(v, "channel") },
		"no weights":        func(v map[string][]float32) { clear(v) },
	}
	for name, spoil := range cases {
		t.Run(name, func(t *testing.T) {
			p := n.NewParams()
			start := n.Start(1)
			if err := p.Put("copy", start); err != nil {
				t.Fatal(err)
			}
			spoilt := n.Start(2)
			spoil(spoilt)
			if err := p.Put("copy", spoilt); err == nil {
				t.Error("no error")
			}
			kept, err := p.Get("copy")
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range n.Weights() {
				if !slices.Equal(kept[w.Name], start[w.Name]) {
					t.Errorf("%s was overwritten all the same", w.Name)
				}
			}
		})
	}
}

func TestGetOfACopyThatIsNotThere(t *testing.T) {
	n, err := network.New(product.small(4, 1))
	if err != nil {
		t.Fatal(err)
	}
	err = engine.Catch(func() error {
		_, err := n.NewParams().Get("nobody")
		return err
	})
	if err == nil {
		t.Error("no error")
	}
}

// SetTrainable leaves exactly the weights of the groups of one copy trainable.
func TestSetTrainable(t *testing.T) {
	s := newSubject(t, open(t, "go"), product.small(4, 1), newRand(t))
	if err := s.Put("other", s.Start(1)); err != nil {
		t.Fatal(err)
	}
	for _, groups := range [][]form.Group{{form.Mean}, {form.Sigma, form.Hidden}, nil} {
		s.SetTrainable(weightsCopy, groups...)
		for _, copyName := range []string{weightsCopy, "other"} {
			for _, w := range s.Weights() {
				want := copyName == weightsCopy && slices.Contains(groups, w.Group)
				if got := s.Store.GetVariable("/" + copyName + "/" + w.Name).Trainable; got != want {
					t.Errorf("groups %v: %s of copy %s is trainable: %v", groups, w.Name, copyName, got)
				}
			}
		}
	}
}

// σ_0 on the host is σ_0 in a graph, whatever the unit of noise.
func TestNoiseStd(t *testing.T) {
	onEachBackend(t, func(t *testing.T, b *engine.Backend) {
		rng := newRand(t)
		s := newSubject(t, b, product.small(4, 3), rng)
		weights, err := s.Get(weightsCopy)
		if err != nil {
			t.Fatal(err)
		}
		for i, raw := range weights["sigma0"] {
			got, want := float64(form.NoiseStd(weights)[i]), math.Log(1+math.Exp(float64(raw)))
			atMost(t, "distance from softplus", math.Abs(got-want), 1e-6)
		}
		for _, w := range s.Weights() {
			if w.Group == form.Fixed {
				for i := range weights[w.Name] {
					weights[w.Name][i] = 0.5 + rng.Float32()
				}
			}
		}
		for _, raw := range [][]float32{weights["sigma0"], {-60, -20, -9}, {-4.6, -4.5, 0}, {5, 20, 60}} { // small ones too
			weights["sigma0"] = raw
			s.put(t, weights)
			got := s.call(t, func(f *network.Forward, _ []*graph.Node) []*graph.Node {
				return []*graph.Node{f.NoiseStd()}
			}, formtest.Rows(rng, s.Inputs, 1, 0))[0]
			for i, want := range form.NoiseStd(weights) {
				atMost(t, "relative difference", relativeError(got[i:][:1], []float32{want}), 1e-5)
			}
		}
	})
}
