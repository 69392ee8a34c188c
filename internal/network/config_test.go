package network_test

import (
	"strings"
	"testing"

	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/network"
)

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
