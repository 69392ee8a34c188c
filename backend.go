package psi

import (
	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/kernel"
	"github.com/psi-shapley/psi/internal/network"
)

// Native is the backend of passes that needs no tensor engine. It evaluates the product form.
const Native = "native"

// BackendError refuses a backend that cannot evaluate a model.
type BackendError struct{ Message string }

func (e *BackendError) Error() string { return e.Message + "; leave --backend out" }

// evaluators make networks ready for passes on a backend.
type evaluators struct {
	backend string
	of      func(form.Config, form.Member) (form.Evaluator, error)
}

// passesAfter is the backend of a model that was trained on an engine.
func passesAfter(trained *engine.Backend, c form.Config) string {
	if kernel.Evaluates(c) {
		return Native
	}
	return trained.Name()
}

// openEvaluators opens a backend for passes of networks like this one. "auto" is Native for those that it evaluates, and the fastest
// engine that works for others.
func openEvaluators(backend string, c form.Config) (evaluators, error) {
	if backend == Native || (backend == "" || backend == "auto") && kernel.Evaluates(c) {
		if !kernel.Evaluates(c) {
			return evaluators{}, &BackendError{"the native backend evaluates the product form of the exact head, which this model does not have"}
		}
		return evaluators{Native, func(c form.Config, m form.Member) (form.Evaluator, error) {
			return kernel.New(c, m.Weights, m.Nodes)
		}}, nil
	}
	b, _, err := engine.Open(backend)
	if err != nil {
		return evaluators{}, err
	}
	return evaluators{b.Name(), func(c form.Config, m form.Member) (form.Evaluator, error) {
		return network.FinalEvaluator(b, c, m)
	}}, nil
}
