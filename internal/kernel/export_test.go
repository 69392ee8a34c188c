package kernel

import (
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/kernel/vector"
)

// OnEach makes a network with each of the loops that this machine can run.
func OnEach(c form.Config, weights map[string][]float32, nodes int) map[string]*Net {
	nets := map[string]*Net{}
	for _, o := range vector.Available() {
		nets[o.String()] = newNet(c, weights, nodes, o)
	}
	return nets
}
