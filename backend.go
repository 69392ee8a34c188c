package psi

import (
	"errors"
	"fmt"

	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/kernel"
	"github.com/psi-shapley/psi/internal/network"
	"github.com/psi-shapley/psi/internal/train"
)

// Backend is an implementation that trains and evaluates networks.
type Backend string

// Backends. ONNX and XLA need a program that is built with the tag onnx or xla.
const (
	Auto   Backend = "auto"   // Native if it supports the model, else Go; also ""
	Native Backend = "native" // no tensor engine: the exact head's product form, the default form
	Go     Backend = "go"     // GoMLX's engine in pure Go: every model
	ONNX   Backend = "onnx"   // ONNX Runtime
	XLA    Backend = "xla"    // OpenXLA
)

// evaluators prepares networks for evaluation on a backend.
type evaluators struct {
	backend Backend
	of      func(form.Config, form.Member) (form.Evaluator, error)
}

// chosenLater reports whether the choice of the backend depends on the network.
func chosenLater(backend Backend) bool { return backend == "" || backend == Auto || backend == Native }

// choose selects the training backend once settings and task are known: Native if it supports them, else a tensor
// engine.
func (t *training) choose(task Task) error {
	net := t.settings.network(form.Inputs{Numeric: 1})
	if net.Classes = task != Regression; task == Multiclass {
		net.Outputs = 3 // or more: the backends treat all numbers of classes above two alike
	}
	if recipe := t.settings.recipe(0); t.settings.Bags > 0 && !(train.Native{}).Trains(net.Bag(), recipe.Bag()) {
		t.settings.Bags = 0
		t.note(fmt.Sprintf("psi does not estimate the epistemic uncertainty of attributions: that needs the likelihood %s", train.Marginal))
	}
	if !chosenLater(t.Backend) {
		return nil
	}
	if (train.Native{}).Trains(net, t.settings.recipe(0)) {
		var err error
		t.cpu, err = kernel.CPU()
		t.note("backend " + string(Native))
		return err
	}
	if t.Backend == Native {
		return wrongBackend(configBackend, fmt.Sprintf("the native backend needs the exact head, the product form and the %s likelihood; these settings differ", train.Marginal))
	}
	return t.openEngine()
}

// openEngine opens the tensor engine for training.
func (t *training) openEngine() error {
	b, err := openEngine(t.Backend, configBackend)
	if err != nil {
		return err
	}
	t.engine = b
	t.note("backend " + b.Name())
	return nil
}

// openEngine opens the tensor engine that a setting names. It returns ErrBackend if the engine was not compiled into
// this program.
func openEngine(backend Backend, setting string) (*engine.Backend, error) {
	b, _, err := engine.Open(string(backend))
	if absent, ok := errors.AsType[*engine.AbsentError](err); ok {
		return nil, wrongBackend(setting, fmt.Sprintf("this program was built without the %s backend: build one that has it (%s)", absent.Name, absent.Build))
	}
	return b, err
}

// backend returns the training backend.
func (t *training) backend() train.Backend {
	if t.engine == nil {
		return train.Native{}
	}
	return train.Engine{Backend: t.engine}
}

// backendName returns the name of the training backend.
func (t *training) backendName() Backend {
	if t.engine == nil {
		return Native
	}
	return Backend(t.engine.Name())
}

// passes returns the backend that evaluates the model: Native if it supports it, else the training backend.
func (t *training) passes(c form.Config) Backend {
	if kernel.Evaluates(c) {
		return Native
	}
	return t.backendName()
}

// openEvaluators opens a backend that evaluates networks like this one. Auto selects Native if it supports the network,
// else the tensor engine in pure Go.
func openEvaluators(backend Backend, c form.Config) (evaluators, error) {
	if !c.HasWeights() {
		if backend != "" && backend != Auto && backend != Native {
			return evaluators{}, wrongBackend(openBackend, "only the native backend evaluates trees and mixtures")
		}
		return evaluators{backend: Native}, nil
	}
	if backend == Native || (backend == "" || backend == Auto) && kernel.Evaluates(c) {
		if !kernel.Evaluates(c) {
			return evaluators{}, wrongBackend(openBackend, "the native backend evaluates the product form of the exact head, which this model does not have")
		}
		return evaluators{Native, func(c form.Config, m form.Member) (form.Evaluator, error) {
			return kernel.New(c, m.Weights, m.Nodes)
		}}, nil
	}
	b, err := openEngine(backend, openBackend)
	if err != nil {
		return evaluators{}, err
	}
	return evaluators{Backend(b.Name()), func(c form.Config, m form.Member) (form.Evaluator, error) {
		return network.FinalEvaluator(b, c, m)
	}}, nil
}

const (
	defaultBags = 8
	minBags     = 4    // minimum that a training cut short must finish; with fewer, it keeps none
	bagsShare   = 0.25 // of the time budget
)
