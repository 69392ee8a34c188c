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

// Backend is what trains and evaluates networks.
type Backend string

// Backends. ONNX and XLA are part of programs that are built with the tags onnx and xla.
const (
	Auto   Backend = "auto"   // the fastest that can run the model and is always part of the program; also ""
	Native Backend = "native" // no tensor engine: the product form of the exact head, which is the default
	Go     Backend = "go"     // GoMLX's engine in pure Go: every model
	ONNX   Backend = "onnx"   // ONNX Runtime
	XLA    Backend = "xla"    // OpenXLA
)

// evaluators make networks ready for passes on a backend.
type evaluators struct {
	backend Backend
	of      func(form.Config, form.Member) (form.Evaluator, error)
}

// chosenLater reports whether a backend depends on the network.
func chosenLater(backend Backend) bool { return backend == "" || backend == Auto || backend == Native }

// choose decides what trains, now that the settings and the task are known: Native if it can, else a tensor engine.
func (t *training) choose(task Task) error {
	if !chosenLater(t.Backend) {
		return nil
	}
	net := t.settings.network(form.Inputs{Numeric: 1})
	if net.Classes = task != Regression; task == Multiclass {
		net.Outputs = 3 // or more
	}
	if (train.Native{}).Trains(net, t.settings.recipe(0)) {
		var err error
		t.cpu, err = kernel.CPU()
		t.note("backend " + string(Native))
		return err
	}
	if t.Backend == Native {
		return wrongBackend(configBackend, fmt.Sprintf("the native backend trains the exact head's product form with the %s likelihood, which these settings are not", train.Marginal))
	}
	return t.openEngine()
}

// openEngine opens the tensor engine that trains.
func (t *training) openEngine() error {
	b, err := openEngine(t.Backend, configBackend)
	if err != nil {
		return err
	}
	t.engine = b
	t.note("backend " + b.Name())
	return nil
}

// openEngine opens the tensor engine that a setting names. One that is not part of this program is an ErrBackend.
func openEngine(backend Backend, setting string) (*engine.Backend, error) {
	b, _, err := engine.Open(string(backend))
	if absent, ok := errors.AsType[*engine.AbsentError](err); ok {
		return nil, wrongBackend(setting, fmt.Sprintf("this program was built without the %s backend: build one that has it (%s)", absent.Name, absent.Build))
	}
	return b, err
}

// backend is what trains.
func (t *training) backend() train.Backend {
	if t.engine == nil {
		return train.Native{}
	}
	return train.Engine{Backend: t.engine}
}

// backendName is the name of what trains.
func (t *training) backendName() Backend {
	if t.engine == nil {
		return Native
	}
	return Backend(t.engine.Name())
}

// passes is the backend of the model's passes: Native if it can, else what trains.
func (t *training) passes(c form.Config) Backend {
	if kernel.Evaluates(c) {
		return Native
	}
	return t.backendName()
}

// openEvaluators opens a backend for passes of networks like this one. "auto" is Native for those that it evaluates, and the tensor
// engine in pure Go for others.
func openEvaluators(backend Backend, c form.Config) (evaluators, error) {
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
