package train

import (
	"github.com/psi-shapley/psi/internal/form"
)

// Backend is the implementation that a run trains on: Native or an Engine.
type Backend interface {
	// open returns a trainer for a run. The caller sets its weights.
	open(r *Run) (trainer, error)
}

// Copies of the weights that every trainer has.
const (
	current = "current" // being trained
	average = "average" // moving average of current, which is validated and kept
)

// trainer holds copies of the weights of a network and trains them.
type trainer interface {
	// get returns a copy of the named weights.
	get(name string) (map[string][]float32, error)
	// put overwrites all copies of the weights.
	put(weights map[string][]float32) error
	// evaluator returns an evaluator of the averaged weights at the time of each call.
	evaluator(nodes int) form.Evaluator
	// begin prepares the steps of the current phase.
	begin(p *phase) (steps, error)
	// save copies everything that steps change.
	save() (map[string]Variable, error)
	// restore is the inverse of save. There must be no active steps.
	restore(saved map[string]Variable) error
	close()
}

// steps runs the steps of one phase.
type steps interface {
	// take runs a step on a minibatch with a learning rate and a decay of the moving average. It returns the loss
	// before the step.
	take(b *minibatch, rate, keep float64) (float64, error)
	close()
}
