package train

import (
	"context"
	"fmt"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/kernel"
	"github.com/psi-shapley/psi/internal/kernel/learn"
)

// Native is the backend that needs no tensor engine. It trains the networks that Trains accepts.
type Native struct{}

// Trains reports whether Native can train a network with a configuration.
func (Native) Trains(net form.Config, c Config) bool {
	return learn.Trains(net) && !(net.Classes && net.Outputs == 1 && c.Likelihood == Bound)
}

func (n Native) open(r *Run) (trainer, error) {
	if !n.Trains(r.net, r.Config) {
		return nil, fmt.Errorf("train: natively there is only the product form of the exact head, and the likelihood %s", Marginal)
	}
	l, err := learn.New(r.net, learn.Recipe{
		Batch: r.Batch, Clip: r.Clip, MaskedExponent: r.MaskedExponent, Base: r.Base, LogStd: r.LogStd, SpreadPenalty: r.SpreadPenalty,
	})
	return &kernelTrainer{r.net, l}, err
}

// kernelTrainer trains with the loops of package learn.
type kernelTrainer struct {
	net   form.Config
	learn *learn.Trainer
}

func (t *kernelTrainer) close() { t.learn.Close() }

// kernelCopies are the copies of the weights by name.
var kernelCopies = map[string]learn.Copy{current: learn.Current, average: learn.Average}

func (t *kernelTrainer) get(name string) (map[string][]float32, error) {
	return t.learn.Weights(kernelCopies[name]), nil
}

func (t *kernelTrainer) put(weights map[string][]float32) error {
	for _, c := range kernelCopies {
		if err := t.learn.SetWeights(c, weights); err != nil {
			return err
		}
	}
	return nil
}

// Names of saved state besides the copies of the weights.
const (
	firstMoments  = "first"
	secondMoments = "second"
	adamSteps     = "/steps"
)

func (t *kernelTrainer) save() (map[string]Variable, error) {
	moments := t.learn.Moments()
	all := map[string]Variable{adamSteps: {Dims: []int{1}, Ints: []int64{int64(moments.Steps)}}}
	for copyName, weights := range map[string]map[string][]float32{
		current: t.learn.Weights(learn.Current), average: t.learn.Weights(learn.Average), firstMoments: moments.First, secondMoments: moments.Second,
	} {
		for name, w := range weights {
			all["/"+copyName+"/"+name] = Variable{Dims: []int{len(w)}, Floats: w}
		}
	}
	return all, nil
}

func (t *kernelTrainer) restore(saved map[string]Variable) error {
	of := func(copyName string) map[string][]float32 {
		weights := map[string][]float32{}
		for _, w := range t.net.Weights() {
			weights[w.Name] = saved["/"+copyName+"/"+w.Name].Floats
		}
		return weights
	}
	for name, c := range kernelCopies {
		if err := t.learn.SetWeights(c, of(name)); err != nil {
			return fmt.Errorf("train: restore: %w", err)
		}
	}
	var moments learn.Moments
	if n := saved[adamSteps].Ints; len(n) == 1 && n[0] > 0 {
		moments = learn.Moments{Steps: int(n[0]), First: of(firstMoments), Second: of(secondMoments)}
	}
	if err := t.learn.SetMoments(moments); err != nil {
		return fmt.Errorf("train: restore: %w", err)
	}
	return nil
}

func (t *kernelTrainer) begin(p *phase) (steps, error) {
	of, known := map[string]learn.Phase{fitPhase: learn.Fit, refitPhase: learn.Refit, absentPhase: learn.Absent, spreadPhase: learn.Spread}[p.name]
	if !known {
		return nil, fmt.Errorf("train: the phase %s needs a tensor engine", p.name)
	}
	return &kernelSteps{t.learn, of, p}, nil
}

// kernelSteps runs the steps of a phase by the kernel.
type kernelSteps struct {
	learn *learn.Trainer
	of    learn.Phase
	phase *phase
}

// close resets the moments of the gradients: the next phase has its own.
func (s *kernelSteps) close() { _ = s.learn.SetMoments(learn.Moments{}) }

func (s *kernelSteps) take(b *minibatch, rate, keep float64) (float64, error) {
	return s.learn.Step(s.of, &learn.Minibatch{
		Rows: b.Rows, Target: b.Target, Weight: b.Weight, Masks: b.masks, Kept: b.kept,
	}, learn.Step{Rate: rate, Decay: s.phase.decay, Keep: keep}), nil
}

func (t *kernelTrainer) evaluator(nodes int) form.Evaluator { return &averaged{t, nodes} }

// averaged evaluates rows with the averaged weights at the time of the call.
type averaged struct {
	t     *kernelTrainer
	nodes int
}

func (a *averaged) net() (*kernel.Net, error) {
	return kernel.New(a.t.net, a.t.learn.Weights(learn.Average), a.nodes)
}

// Pass implements form.Evaluator.
func (a *averaged) Pass(ctx context.Context, b *encode.Batch, want form.Want) (*form.Explained, error) {
	n, err := a.net()
	if err != nil {
		return nil, err
	}
	return n.Pass(ctx, b, want)
}

// Coalitions implements form.Evaluator.
func (a *averaged) Coalitions(ctx context.Context, b *encode.Batch, masks []float32, per int) ([]float32, error) {
	n, err := a.net()
	if err != nil {
		return nil, err
	}
	return n.Coalitions(ctx, b, masks, per)
}

// Interactions implements form.Evaluator.
func (a *averaged) Interactions(ctx context.Context, b *encode.Batch) ([]float32, error) {
	n, err := a.net()
	if err != nil {
		return nil, err
	}
	return n.Interactions(ctx, b)
}

// Close implements form.Evaluator: there is nothing to free.
func (*averaged) Close() {}
