package network

import (
	"fmt"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/psi-shapley/psi/internal/form"
)

// Params holds named copies of a network's weights in the engine's store: the current one, its moving average, a
// teacher.
type Params struct {
	Store *model.Store
	net   *Network
}

// NewParams returns an empty store.
func (n *Network) NewParams() *Params { return &Params{Store: model.NewStore(), net: n} }

// Put creates or overwrites a copy. Its weights are not trainable.
func (p *Params) Put(copyName string, values map[string][]float32) error {
	for _, w := range p.net.weights {
		if n := len(values[w.Name]); n != w.Size() {
			return fmt.Errorf("network: weight %q has %d elements, want %d of shape %v", w.Name, n, w.Size(), w.Dims)
		}
	}
	for _, w := range p.net.weights {
		t := tensors.FromFlatDataAndDimensions(values[w.Name], w.Dims...)
		if old := p.variable(copyName, w.Name); old != nil {
			if err := old.SetValue(t); err != nil {
				return err
			}
			continue
		}
		p.Store.VariableWithValue(path(copyName, w.Name), t).SetTrainable(false)
	}
	return nil
}

// Get returns a copy of the weights.
func (p *Params) Get(copyName string) (map[string][]float32, error) {
	values := make(map[string][]float32, len(p.net.weights))
	for _, w := range p.net.weights {
		t, err := p.variable(copyName, w.Name).Value()
		if err != nil {
			return nil, err
		}
		if values[w.Name], err = tensors.CopyFlatData[float32](t); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// SetTrainable makes the weights of the given groups of a copy trainable, and no others.
func (p *Params) SetTrainable(copyName string, groups ...form.Group) {
	for v := range p.Store.IterVariables() {
		v.SetTrainable(false)
	}
	for _, w := range p.net.weights {
		for _, g := range groups {
			if w.Group == g {
				p.variable(copyName, w.Name).SetTrainable(true)
			}
		}
	}
}

// Lookup returns the lookup of a copy's weights in a graph.
func (p *Params) Lookup(copyName string, g graph.GraphProvider) Lookup {
	return func(name string) *graph.Node { return p.variable(copyName, name).NodeValue(g) }
}

// variable returns a weight of a copy as the engine's variable.
func (p *Params) variable(copyName, name string) *model.Variable {
	return p.Store.GetVariable(path(copyName, name))
}

// Set assigns a weight of a copy a new value in a graph.
func (p *Params) Set(copyName, name string, value *graph.Node) {
	p.variable(copyName, name).SetNodeValue(value)
}

func path(copyName, name string) string { return "/" + copyName + "/" + name }

// TrainableGroups returns the groups of the trainable weights that the graph of in uses, in the order of the engine's
// gradients.
func (p *Params) TrainableGroups(scope *model.Scope, in graph.GraphProvider) []form.Group {
	of := map[string]form.Group{}
	for _, w := range p.net.weights {
		of[w.Name] = w.Group
	}
	var groups []form.Group
	for v := range scope.IterVariables() {
		if v.Trainable && v.InUseByGraph(in.Graph()) {
			groups = append(groups, of[v.Name()])
		}
	}
	return groups
}
