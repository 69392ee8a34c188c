// Package train fits a network: a loop over phases (the mean; with the learned head a
// polish; then σ and h), coalition samplers, early stopping, weight averaging.
//
// A Run is a value that can be stopped, saved and continued: everything random about
// a step is a function of the seed, the phase and the step's number.
package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/psi-shapley/psi/internal/form"
)

// Run is a training run.
type Run struct {
	Config
	net        form.Config
	trainer    trainer
	store      Store
	validation Data
	check      Data // some of the validation rows, or all, by which most validations are
	target     target
	evaluator  form.Evaluator // of the averaged weights, as they are when it is called
	nodes      int            // of the exact head's quadrature

	phases []phase
	phase  int // under way
	step   int // next, of that phase
	taken  int // steps of the phase that were not skipped

	skipped int // steps of all phases for which there was no time, since the run was made or restored

	stepper *stepper
	best    float64
	kept    []Candidate // of the phase, the best first
	stale   int         // validations since the best
	history []Point

	good      *State  // at the last validation that was sound
	slowing   float64 // of the learning rate, by rollbacks
	rollbacks int     // since the phase began
	naive     float64 // score, on validation rows, of a mean that knows nothing of a row
}

// startNodes is the number of quadrature nodes before the fewest that do are known.
const startNodes = 8

// New prepares a run of a network on a backend.
func New(net form.Config, on Backend, c Config, data Store, validation Data) (*Run, error) {
	if err := errors.Join(net.Validate(), c.Validate()); err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	if data.Len() == 0 || validation.Len() == 0 {
		return nil, fmt.Errorf("train: %d training rows and %d validation rows: both are needed", data.Len(), validation.Len())
	}
	r := &Run{Config: c, net: net, store: data, validation: validation, check: validation.some(checkRows), best: math.Inf(1), slowing: 1}
	r.Batch = min(r.Batch, data.Len())
	if net.Classes && len(c.Base) != net.Outputs {
		return nil, fmt.Errorf("train: φ_0 of %d outputs, but there are %d", len(c.Base), net.Outputs)
	}
	var err error
	if r.trainer, err = on.open(r); err != nil {
		return nil, err
	}
	if err := r.trainer.put(net.Start(c.Seed)); err != nil {
		r.trainer.close()
		return nil, err
	}
	r.setNodes(min(startNodes, form.ExactNodes(net.Inputs.Players())))
	r.target = r.newTarget()
	r.naive = r.scoreOf(make([]float32, validation.Len()*net.Outputs), validation)
	r.phases = []phase{r.fit()}
	if net.Head == form.Learned && c.PolishSteps > 0 {
		r.phases = append(r.phases, r.polish())
	}
	spreads := c.SpreadSteps > 0 && !r.target.fitsSigma()
	if spreads && net.Head == form.Exact && c.RefitSteps > 0 && r.target.refits() {
		r.phases = append(r.phases, r.spread(), r.refit())
	}
	if net.Head == form.Exact && c.AbsentSteps > 0 {
		r.phases = append(r.phases, r.absent())
	}
	if spreads {
		r.phases = append(r.phases, r.spread())
	}
	return r, nil
}

// Done says whether all phases are finished.
func (r *Run) Done() bool { return r.phase == len(r.phases) }

const (
	validations = 40   // of a phase
	checkRows   = 1024 // of a validation, at most
	finalists   = 3    // candidates that all validation rows decide between at the end of a phase
	patience    = 0.5  // of a phase: it ends after so long without a new best
	patientRows = 256  // fewer validation rows do not tell whether a phase has stopped improving
)

// Step takes one step of training, and whatever is due after it: a validation, the
// end of a phase. A step that ends in numbers that make no sense is undone, together
// with all since the last validation, and the rate lowered.
func (r *Run) Step(ctx context.Context) (Progress, error) { return r.stepTo(ctx, 0) }

// stepTo is Step, after which at least the given number of steps of the phase count as
// taken: a run that is short of time skips some.
func (r *Run) stepTo(ctx context.Context, atLeast int) (Progress, error) {
	p := &r.phases[r.phase]
	if r.step == 0 {
		if err := r.beginPhase(ctx, p); err != nil {
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
	every := max(1, p.steps/validations)
	before := r.step / every
	next := r.step + 1
	r.step = min(max(next, atLeast), p.steps)
	r.skipped += r.step - next
	r.taken++
	done := Progress{Phase: p.name, Step: r.step, Steps: p.steps, Loss: loss, Score: math.NaN(), Best: r.best, Error: math.NaN()}
	last := r.step == p.steps
	sound := isFinite(loss)
	due := last || r.step/every != before
	if sound && due {
		if done.Score, err = r.validate(ctx, p); err != nil {
			return done, err
		}
		last = last || r.check.Len() >= patientRows && float64(r.stale*every) >= patience*float64(p.steps)
		if done.Best = r.best; !p.spread && !p.masked {
			done.Error = r.best
		}
		sound = !p.scoredAt(r.step) || p.sound(done.Score, r.best, r.naive)
	}
	if !sound {
		done.Note, err = r.rollBack(ctx, p)
		return done, err
	}
	if due {
		r.history = append(r.history, Point{Phase: p.name, Step: r.step, Loss: loss, Score: done.Score})
	}
	switch {
	case last:
		err = r.endPhase(ctx)
	case due:
		r.good, err = r.State()
	}
	return done, err
}

// beginPhase remembers where the phase starts from.
func (r *Run) beginPhase(ctx context.Context, p *phase) (err error) {
	if p.candidate {
		if _, err := r.validate(ctx, p); err != nil {
			return err
		}
	}
	if r.good == nil {
		r.good, err = r.State()
	}
	return err
}

// Candidate is weights that a phase may end in.
type Candidate struct {
	Score   float64 // by the rows of a validation
	Weights map[string][]float32
}

// validate scores the averaged weights, by some of the validation rows, and keeps them if they are among the best so far.
func (r *Run) validate(ctx context.Context, p *phase) (float64, error) {
	if !p.scoredAt(r.step) {
		return math.NaN(), nil
	}
	score, weights, err := r.score(ctx, p, r.check)
	if err != nil {
		return 0, err
	}
	if !isFinite(score) || r.early(p) {
		return score, nil
	}
	if score < r.best {
		r.best, r.stale = score, 0
	} else {
		r.stale++
	}
	at, _ := slices.BinarySearchFunc(r.kept, score, func(c Candidate, score float64) int { return cmp.Compare(c.Score, score) })
	if most := r.finalists(); at < most {
		kept := slices.Insert(slices.Clone(r.kept), at, Candidate{score, weights}) // states have the old list
		r.kept = kept[:min(most, len(kept))]
	}
	return score, nil
}

// early says whether the phase spread of a number has not come half its way, if most rows have gaps. σ_0 and h part late, and their
// sum, which is all that such rows see, scores well before.
func (r *Run) early(p *phase) bool {
	return p.spread && !r.net.Classes && 2*r.step < p.steps && 2*r.validation.whole() < r.validation.Len()
}

// score is that of the averaged weights on some rows.
func (r *Run) score(ctx context.Context, p *phase, rows Data) (float64, map[string][]float32, error) {
	var want form.Want
	if p.spread {
		want = form.Spread
	}
	var x *form.Explained
	var err error
	if p.masked {
		x, rows, err = r.hideSome(ctx, rows)
	} else {
		x, err = r.evaluator.Pass(ctx, rows.Rows, want)
	}
	if err != nil {
		return 0, nil, err
	}
	weights, err := r.trainer.get(average)
	if err != nil {
		return 0, nil, err
	}
	return p.score(&validated{x, rows, form.NoiseStd(weights), r.Base}), weights, nil
}

// finalists is how many candidates are kept: one if every validation is by all rows.
func (r *Run) finalists() int {
	if r.check.Len() == r.validation.Len() {
		return 1
	}
	return finalists
}

// choose puts the best candidate of the phase, by all validation rows, into the trainer and returns it.
func (r *Run) choose(ctx context.Context, p *phase) (map[string][]float32, error) {
	if len(r.kept) == 0 { // a phase without a score
		weights, err := r.trainer.get(average)
		if err != nil {
			return nil, err
		}
		return weights, r.trainer.put(weights)
	}
	best := 0
	least := math.Inf(1)
	for i, c := range r.kept {
		if len(r.kept) == 1 {
			break
		}
		if err := r.trainer.put(c.Weights); err != nil {
			return nil, err
		}
		score, _, err := r.score(ctx, p, r.validation)
		if err != nil {
			return nil, err
		}
		if score < least {
			best, least = i, score
		}
	}
	return r.kept[best].Weights, r.trainer.put(r.kept[best].Weights)
}

// endPhase goes back to the best weights and on to the next phase.
func (r *Run) endPhase(ctx context.Context) error {
	kept, err := r.choose(ctx, &r.phases[r.phase])
	if err != nil {
		return err
	}
	trainedMean := slices.Contains(r.phases[r.phase].groups, form.Absent)
	r.endSteps()
	r.kept, r.best, r.stale = nil, math.Inf(1), 0
	r.phase, r.step, r.taken = r.phase+1, 0, 0
	r.slowing, r.rollbacks = 1, 0
	if trainedMean {
		if err := r.measureMean(ctx, kept); err != nil {
			return err
		}
	}
	r.good, err = r.State()
	return err
}

// minUnit bounds how much smaller, in squares, σ's unit is than the error of all rows.
const minUnit = 1e-4

// measureRows bounds the training rows that the training error is measured on.
const measureRows = 4096

// measureMean settles what depends on the mean: the nodes of its integrals, and the
// errors that σ starts from.
func (r *Run) measureMean(ctx context.Context, weights map[string][]float32) error {
	nodes, err := r.net.FewestNodes(ctx, r.validation.Rows, func(nodes int) (form.Evaluator, error) {
		return r.trainer.evaluator(nodes), nil
	})
	if err != nil {
		return err
	}
	r.setNodes(nodes)
	if r.net.Classes {
		return nil
	}
	sample, err := r.sample(measureRows)
	if err != nil {
		return err
	}
	seen, err := r.evaluator.Pass(ctx, sample.Rows, 0)
	if err != nil {
		return err
	}
	unseen, err := r.evaluator.Pass(ctx, r.validation.Rows, 0)
	if err != nil {
		return err
	}
	training := r.scoreOf(seen.Value, sample)
	form.SetNoise(weights, r.scoreOf(unseen.Value, r.validation), training)
	if whole := r.scoreOf(wholest(seen.Value, sample)); whole < training {
		weights[form.NoiseScale][0] *= float32(math.Sqrt(max(whole/training, minUnit)))
	}
	return r.trainer.put(weights)
}

// sample is some of the training rows, at most the given number.
func (r *Run) sample(most int) (Data, error) {
	n := min(most, r.store.Len())
	order := newShuffle(r.store, r.net.Inputs.Players(), n, r.epoch)
	window, rows, err := order.rowsOf(0)
	if err != nil {
		return Data{}, err
	}
	sample := newData(n, window)
	for i, j := range rows {
		sample.set(i, window, j)
	}
	return sample, nil
}

// Close frees what the backend holds.
func (r *Run) Close() {
	r.evaluator.Close()
	r.endSteps()
	r.trainer.close()
}

// endSteps ends the steps of the phase under way.
func (r *Run) endSteps() {
	if r.stepper != nil {
		r.stepper.steps.close()
		r.stepper = nil
	}
}

// setNodes decides the number of quadrature nodes.
func (r *Run) setNodes(nodes int) {
	if r.evaluator != nil {
		r.evaluator.Close()
	}
	r.nodes = nodes
	r.evaluator = r.trainer.evaluator(nodes)
}

// Skipped is the number of steps for which there was no time.
func (r *Run) Skipped() int { return r.skipped }

// Nodes is the number of quadrature nodes that the exact head's attributions need.
func (r *Run) Nodes() int { return r.nodes }

// Weights are the averaged weights.
func (r *Run) Weights() (map[string][]float32, error) { return r.trainer.get(average) }

// rng is the source of all that is random about a step.
func (r *Run) rng(step int) *rand.Rand {
	return rand.New(rand.NewPCG(r.Seed, uint64(r.phase)<<32|uint64(step)))
}

// epoch is the source of the order of the training rows in a pass over them.
func (r *Run) epoch(pass int) *rand.Rand {
	return rand.New(rand.NewPCG(r.Seed, 1<<63|uint64(r.phase)<<32|uint64(pass)))
}
