package network

import (
	"fmt"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/psi-shapley/psi/internal/form"
)

// Params hold named copies of a network's weights in the engine's store: the one
// being trained, its moving average, a teacher.
type Params struct {
	Store *model.Store
	net   *Network
}

// NewParams makes an empty store.
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

// Get copies the weights out.
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

// SetTrainable makes the weights of the given groups of a copy trainable, and all
// other weights of all copies not.
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

// Lookup finds the weights of a copy in a graph.
func (p *Params) Lookup(copyName string, g graph.GraphProvider) Lookup {
	return func(name string) *graph.Node { return p.variable(copyName, name).NodeValue(g) }
}

// Variable is a weight of a copy as the engine keeps it.
func (p *Params) variable(copyName, name string) *model.Variable {
	return p.Store.GetVariable(path(copyName, name))
}

// Set gives a weight of a copy a new value in a graph.
func (p *Params) Set(copyName, name string, value *graph.Node) {
	p.variable(copyName, name).SetNodeValue(value)
}

func path(copyName, name string) string { return "/" + copyName + "/" + name }

// TrainableGroups are the groups of the trainable weights that the graph of in uses, in
// the order in which the engine lists their gradients.
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
