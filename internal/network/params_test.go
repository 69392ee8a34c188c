package network_test

import (
	"math"
	"slices"
	"strings"
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

func TestValidate(t *testing.T) {
	cases := []struct {
		name   string
		kind   kind
		change func(c *form.Config)
		want   string // part of the error; "" if there is none
	}{
		{"product", product, func(*form.Config) {}, ""},
		{"tensor-train", tensorTrain, func(*form.Config) {}, ""},
		{"learned", learned, func(*form.Config) {}, ""},
		{"numbers only", product, func(c *form.Config) { c.Inputs.Levels = nil }, ""},
		{"categories only need no bins", product, func(c *form.Config) { c.Inputs.Numeric, c.Inputs.Times, c.Inputs.Bins = 0, 0, 0 }, ""},
		{"no hidden layer, no waves", product, func(c *form.Config) { c.Hidden, c.Frequencies = 0, 0 }, ""},
		{"the product form has no rank", product, func(c *form.Config) { c.Rank = 0 }, ""},
		{"the learned head has no channels", learned, func(c *form.Config) { c.Channels, c.Rank = 0, 0 }, ""},
		{"order", tensorTrain, func(c *form.Config) { c.Order = []int{2, 0, 3, 1} }, ""},

		{"no players", product, func(c *form.Config) { c.Inputs = form.Inputs{Bins: 5} }, "no players"},
		{"no bins", product, func(c *form.Config) { c.Inputs.Bins = 0 }, "bins"},
		{"no outputs", product, func(c *form.Config) { c.Outputs = 0 }, "outputs"},
		{"no embedding", product, func(c *form.Config) { c.Embedding = 0 }, "embedding"},
		{"negative hidden", product, func(c *form.Config) { c.Hidden = -1 }, "hidden"},
		{"negative frequencies", product, func(c *form.Config) { c.Frequencies = -1 }, "frequencies"},
		{"no σ network", product, func(c *form.Config) { c.SigmaWidth = 0 }, "σ"},
		{"no h network", product, func(c *form.Config) { c.HiddenWidth = 0 }, "h networks"},
		{"no channels", product, func(c *form.Config) { c.Channels = 0 }, "channels"},
		{"no rank", tensorTrain, func(c *form.Config) { c.Rank = 0 }, "rank"},
		{"order too short", tensorTrain, func(c *form.Config) { c.Order = []int{0, 1} }, "order"},
		{"order names a player twice", tensorTrain, func(c *form.Config) { c.Order = []int{0, 1, 1, 3} }, "order"},
		{"order names nobody", tensorTrain, func(c *form.Config) { c.Order = []int{0, 1, 2, 4} }, "order"},
		{"no form", product, func(c *form.Config) { c.Form = "" }, "form"},
		{"no width", learned, func(c *form.Config) { c.Width = 0 }, "width"},
		{"no layers", learned, func(c *form.Config) { c.Layers = 0 }, "layers"},
		{"unknown head", product, func(c *form.Config) { c.Head = "two" }, `unknown head "two"`},
		{"every fault is named", product, func(c *form.Config) { c.Outputs, c.Channels = 0, 0 }, "channels"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			config := c.kind.small(4, 1)
			c.change(&config)
			err := config.Validate()
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want one about %q", err, c.want)
			}
			if _, newErr := network.New(config); (newErr == nil) != (err == nil) {
				t.Errorf("New says %v, Validate %v", newErr, err)
			}
		})
	}
}

func TestDefaultIsValid(t *testing.T) {
	for _, in := range []form.Inputs{
		{Numeric: 3}, {Levels: []int{4, 2}}, {Numeric: 3, Levels: []int{4, 2}}, {Numeric: 1000},
	} {
		for _, head := range []form.Head{form.Exact, form.Learned} {
			for _, rows := range []int{100, 5000, 1_000_000} {
				for _, classes := range []bool{false, true} {
					size := form.Size{Rows: rows, Columns: in.Columns(), Classes: classes}
					if err := form.Default(in, head, size).Validate(); err != nil {
						t.Errorf("%+v, %s head, %+v: %v", in, head, size, err)
					}
				}
			}
		}
	}
}

// What a network was asked for it has: no layer is left out in silence.
func TestEveryHiddenLayerHasWeights(t *testing.T) {
	config := product.small(4, 1)
	for hidden := range 8 {
		config.Hidden = hidden
		n, err := network.New(config)
		if err != nil {
			continue // refused, not ignored
		}
		layers := 0
		for _, w := range n.Weights() {
			if strings.HasPrefix(w.Name, "player") && !strings.HasSuffix(w.Name, "_bias") {
				layers++
			}
		}
		if layers != hidden {
			t.Errorf("%d hidden layers have the weights of %d", hidden, layers)
		}
	}
}
