package train

import (
	"github.com/psi-shapley/psi/internal/form"
)

// Backend is what a run trains on: Native or an Engine.
type Backend interface {
	// open makes a trainer for a run, whose weights are still to be put.
	open(r *Run) (trainer, error)
}

// Copies of the weights that every trainer has.
const (
	current = "current" // being trained
	average = "average" // moving average of current; what is validated and kept
)

// trainer has the weights of a network, in copies, and trains them.
type trainer interface {
	// get copies a copy of the weights out.
	get(name string) (map[string][]float32, error)
	// put overwrites all copies of the weights.
	put(weights map[string][]float32) error
	// evaluator evaluates rows with the averaged weights as they are at each call.
	evaluator(nodes int) form.Evaluator
	// begin prepares the steps of the phase that is under way.
	begin(p *phase) (steps, error)
	// save copies all that steps change.
	save() (map[string]Variable, error)
	// restore is the inverse of save. It needs that no steps are under way.
	restore(saved map[string]Variable) error
	close()
}

// steps are those of one phase.
type steps interface {
	// take takes a step on a minibatch, at a learning rate and with a share of the moving average kept, and returns the loss
	// before it.
	take(b *minibatch, rate, keep float64) (float64, error)
	close()
}
