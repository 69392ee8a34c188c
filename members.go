package psi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

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
	if !chosenLater(t.Backend) {
		return nil
	}
	net := t.settings.network(form.Inputs{Numeric: 1})
	if net.Classes = task != Regression; task == Multiclass {
		net.Outputs = 3 // or more: the backends treat all numbers of classes above two alike
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

// bags trains the bagged networks that point does not have yet. Their spread is the epistemic uncertainty.
func (t *training) bags(ctx context.Context, m *Model, point *checkpoint) error {
	for i := range t.settings.Bags {
		if t.settings.Members+i < len(point.Members) {
			continue // finished before the interruption
		}
		var bag *trained
		if !t.stopped() {
			var err error
			if bag, err = t.bag(ctx, i, point); err != nil {
				return err
			}
		}
		if t.stopped() {
			t.keepBags(m, i)
			break
		}
		point.Members = append(point.Members, *bag)
		point.State, point.unsaved = nil, true
		t.tryToSave(point)
	}
	m.bags = point.members()[t.settings.Members:][:t.settings.Bags]
	for _, b := range m.bags {
		m.manifest.BagNodes = append(m.manifest.BagNodes, b.Nodes)
	}
	return nil
}

// keepBags keeps the finished bags, or none if there are too few.
func (t *training) keepBags(m *Model, done int) {
	note := fmt.Sprintf("the uncertainty of attributions is based on %d networks instead of %d", done, t.settings.Bags)
	if done < min(minBags, t.settings.Bags) {
		done, note = 0, "the training stopped too early to estimate the uncertainty of attributions"
	}
	t.settings.Bags, m.manifest.Settings.Bags = done, done
	t.note(note)
}

// bag trains a network on a bootstrap sample of the rows, or resumes it from point.
func (t *training) bag(ctx context.Context, i int, point *checkpoint) (*trained, error) {
	seed := memberSeed(t.Seed, maxSettings["members"]+1+i)
	recipe := t.settings.recipe(seed).Bag()
	recipe.Base, recipe.LogStd = t.in.Target.Base, t.in.Target.LogStd()
	run, err := train.New(t.net.Bag(), train.Native{}, recipe, train.Bootstrap(t.in.Training, seed, t.in.Units), t.in.Validation)
	if err != nil {
		return nil, err
	}
	defer run.Close()
	watch := train.RunOptions{StopEarly: t.StopEarly, Progress: func(p train.Progress) {
		t.report(Progress{
			Stage: "doubt", Member: i, Step: p.Step, Steps: p.Steps, Done: (float64(i) + p.Done) / float64(t.settings.Bags),
			Remaining: remaining(p, t.settings.Bags-1-i), Error: math.NaN(), Note: p.Note,
		})
	}}
	if t.TimeBudget > 0 {
		watch.Deadline = t.sharedUntil(t.start.Add(time.Duration((1-auditShare)*float64(t.TimeBudget))), t.settings.Bags-i)
	}
	return t.finish(ctx, run, point, watch)
}

// finish trains a network to its end, resuming it from point if it was interrupted.
func (t *training) finish(ctx context.Context, run *train.Run, point *checkpoint, watch train.RunOptions) (*trained, error) {
	if point.State != nil {
		if err := run.Restore(point.State); err != nil {
			return nil, err
		}
	}
	watch.Save = func(s *train.State) error {
		t.advance(point, s)
		return nil
	}
	if err := run.Train(ctx, watch); err != nil {
		return nil, err
	}
	weights, err := run.Weights()
	if err != nil {
		return nil, err
	}
	return &trained{Member: form.Member{Weights: weights, Nodes: run.Nodes()}, History: run.History()}, nil
}

// sharedUntil returns the deadline of the first of several networks that share the time until end.
func (t *training) sharedUntil(end time.Time, networks int) time.Time {
	now := time.Now()
	return now.Add(end.Sub(now) / time.Duration(networks))
}
