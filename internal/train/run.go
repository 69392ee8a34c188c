// Package train fits a network: a loop over phases (the mean; with the learned head a
// polish; then σ and h), coalition samplers, early stopping, weight averaging.
//
// A Run is a value that can be stopped, saved and continued: everything random about
// a step is a function of the seed, the phase and the step's number.
package train

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/network"
)

// Copies of the weights in the store.
const (
	current = "current" // being trained
	average = "average" // moving average of current; what is validated and kept
	teacher = "teacher" // the network before its polish
)

// Data are rows with what is to be predicted of them.
type Data struct {
	Rows   *encode.Batch
	Target []float32 // [rows, C]: the target less its mean, in standard deviations of it
}

// Run is a training run.
type Run struct {
	Config
	net              *network.Network
	backend          *engine.Backend
	params           *network.Params
	data, validation Data
	evaluator        *network.Evaluator // of the averaged weights
	nodes            int                // of the exact head's quadrature

	phases []phase
	phase  int // under way
	step   int // next, of that phase

	stepper *stepper
	best    float64
	kept    map[string][]float32
}

// startNodes is the number of quadrature nodes before the fewest that do are known.
const startNodes = 8

// New prepares a run.
func New(net *network.Network, backend *engine.Backend, c Config, data, validation Data) (*Run, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	if data.Rows.Rows == 0 || validation.Rows.Rows == 0 {
		return nil, fmt.Errorf("train: %d training rows and %d validation rows: both are needed", data.Rows.Rows, validation.Rows.Rows)
	}
	r := &Run{Config: c, net: net, backend: backend, data: data, validation: validation, best: math.Inf(1)}
	r.Batch = min(r.Batch, data.Rows.Rows)
	r.params = net.NewParams()
	start := net.Start(c.Seed)
	for _, name := range []string{current, average, teacher} {
		if err := r.params.Put(name, start); err != nil {
			return nil, err
		}
	}
	r.setNodes(min(startNodes, network.ExactNodes(net.Inputs.Players())))
	r.phases = []phase{r.fit()}
	if net.Head == network.Learned && c.PolishSteps > 0 {
		r.phases = append(r.phases, r.polish())
	}
	if c.SpreadSteps > 0 {
		r.phases = append(r.phases, r.spread())
		if net.Head == network.Exact && c.RefitSteps > 0 {
			r.phases = append(r.phases, r.refit(), r.spread())
		}
	}
	return r, nil
}

// Progress tells how far a run is.
type Progress struct {
	Phase       string
	Step, Steps int     // of the phase
	Loss        float64 // of the last step
	Score       float64 // of the last validation; NaN if there was none at this step
	Best        float64 // least score of the phase so far
}

// Done says whether all phases are finished.
func (r *Run) Done() bool { return r.phase == len(r.phases) }

// Train runs to the end. progress, if not nil, is called after every step.
func (r *Run) Train(ctx context.Context, progress func(Progress)) error {
	for !r.Done() {
		if err := ctx.Err(); err != nil {
			return err
		}
		p, err := r.Step(ctx)
		if err != nil {
			return err
		}
		if progress != nil {
			progress(p)
		}
	}
	return nil
}

// validations is how often a phase is validated.
const validations = 40

// Step takes one step of training, and whatever is due after it: a validation, the
// end of a phase.
func (r *Run) Step(ctx context.Context) (Progress, error) {
	p := &r.phases[r.phase]
	if p.candidate && r.step == 0 {
		if _, err := r.validate(ctx, p); err != nil {
			return Progress{}, err
		}
	}
	if r.stepper == nil {
		var err error
		if r.stepper, err = r.newStepper(p); err != nil {
			return Progress{}, err
		}
	}
	loss, err := r.stepper.step(r.step)
	if err != nil {
		return Progress{}, fmt.Errorf("train: step %d of %s: %w", r.step, p.name, err)
	}
	r.step++
	done := Progress{Phase: p.name, Step: r.step, Steps: p.steps, Loss: loss, Score: math.NaN(), Best: r.best}
	last := r.step == p.steps
	if p.score != nil && (last || r.step%max(1, p.steps/validations) == 0) {
		if done.Score, err = r.validate(ctx, p); err != nil {
			return done, err
		}
		done.Best = r.best
	}
	if last {
		err = r.endPhase(ctx)
	}
	return done, err
}

// validate scores the averaged weights and keeps them if they are the best so far.
func (r *Run) validate(ctx context.Context, p *phase) (float64, error) {
	x := &network.Explained{}
	var err error
	if p.spread {
		x, err = r.evaluator.Predict(ctx, r.validation.Rows)
	} else {
		x.Value, err = r.evaluator.Values(ctx, r.validation.Rows)
	}
	if err != nil {
		return 0, err
	}
	weights, err := r.params.Get(average)
	if err != nil {
		return 0, err
	}
	score := p.score(x, r.validation.Target, network.NoiseStd(weights))
	if score < r.best {
		r.best, r.kept = score, weights
	}
	return score, nil
}

// endPhase goes back to the best weights and on to the next phase.
func (r *Run) endPhase(ctx context.Context) error {
	kept := r.kept
	if kept == nil {
		var err error
		if kept, err = r.params.Get(average); err != nil {
			return err
		}
	}
	if err := r.putAll(kept); err != nil {
		return err
	}
	trainedMean := slices.Contains(r.phases[r.phase].groups, network.Mean)
	r.stepper.close()
	r.stepper, r.kept, r.best = nil, nil, math.Inf(1)
	r.phase, r.step = r.phase+1, 0
	if trainedMean {
		return r.measureMean(ctx, kept)
	}
	return nil
}

func (r *Run) putAll(weights map[string][]float32) error {
	for _, name := range []string{current, average, teacher} {
		if err := r.params.Put(name, weights); err != nil {
			return err
		}
	}
	return nil
}

// measureRows bounds the training rows that the training error is measured on.
const measureRows = 4096

// measureMean settles what depends on the mean: the nodes of its integrals, and the
// errors that σ starts from.
func (r *Run) measureMean(ctx context.Context, weights map[string][]float32) error {
	nodes, err := r.net.FewestNodes(ctx, r.backend, r.params, average, r.validation.Rows)
	if err != nil {
		return err
	}
	r.setNodes(nodes)
	n := min(measureRows, r.data.Rows.Rows)
	seen, err := r.evaluator.Values(ctx, r.data.Rows.Head(n))
	if err != nil {
		return err
	}
	unseen, err := r.evaluator.Values(ctx, r.validation.Rows)
	if err != nil {
		return err
	}
	c := r.net.Outputs
	network.SetNoise(weights, squaredErrors(unseen, r.validation.Target, c), squaredErrors(seen, r.data.Target[:n*c], c))
	return r.putAll(weights)
}

// setNodes decides the number of quadrature nodes.
func (r *Run) setNodes(nodes int) {
	if r.evaluator != nil {
		r.evaluator.Close()
	}
	r.nodes = nodes
	r.evaluator = r.net.NewEvaluator(r.backend, r.params, average, engine.Live, nodes)
}

// Nodes is the number of quadrature nodes that the exact head's attributions need.
func (r *Run) Nodes() int { return r.nodes }

// Weights are the averaged weights.
func (r *Run) Weights() (map[string][]float32, error) { return r.params.Get(average) }

// rng is the source of all that is random about a step.
func (r *Run) rng(step int) *rand.Rand {
	return rand.New(rand.NewPCG(r.Seed, uint64(r.phase)<<32|uint64(step)))
}

// epoch is the order of the training rows in a pass over them.
func (r *Run) epoch(pass int) []int {
	return rand.New(rand.NewPCG(r.Seed, 1<<63|uint64(r.phase)<<32|uint64(pass))).Perm(r.data.Rows.Rows)
}
