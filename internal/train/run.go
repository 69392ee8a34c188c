// Package train trains a network: a loop over phases (the mean; with the learned head a polish; then σ and h),
// coalition samplers, early stopping, weight averaging.
//
// A Run can be stopped, saved and continued: everything random about a step is a function of the seed, the phase and
// the number of the step.
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

// Run is a training run. It is not safe for concurrent use.
type Run struct {
	Config
	net        form.Config
	trainer    trainer
	store      Store
	validation Data
	check      Data // all or some of the validation rows, used by most validations
	target     target
	evaluator  form.Evaluator // evaluates the averaged weights at the time of the call
	nodes      int            // quadrature nodes of the exact head

	phases []phase
	phase  int // current phase
	step   int // next step of that phase
	taken  int // steps of the phase that were not skipped

	skipped int // steps skipped for lack of time, since the run was created or restored

	stepper *stepper
	best    float64
	kept    []Candidate // candidates of the phase, the best first
	stale   int         // validations since the best
	history []Point

	good      *State  // state at the last valid validation
	slowing   float64 // factor of the learning rate after rollbacks
	rollbacks int     // in the current phase
	naive     float64 // validation score of a mean without features
}

// startNodes is the initial number of quadrature nodes, before measureMean chooses it.
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
	if joint := c.Likelihood == Joint; joint != net.TrainsBase || joint && net.Head != form.Learned {
		return nil, fmt.Errorf("train: likelihood %s needs the learned head, a number and a trained φ_0", Joint)
	}
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

// Done reports whether all phases are finished.
func (r *Run) Done() bool { return r.phase == len(r.phases) }

const (
	validations = 40   // per phase
	checkRows   = 1024 // maximum rows of a validation
	finalists   = 3    // candidates compared on all validation rows at the end of a phase
	patience    = 0.5  // share of a phase without a new best after which it ends
	patientRows = 256  // with fewer validation rows, a phase does not end early
)

// Step runs one training step, and whatever is due after it: a validation, or the end of a phase. If a step gives
// values that are not finite, it is undone, with all steps since the last validation, and the learning rate is lowered.
func (r *Run) Step(ctx context.Context) (Progress, error) { return r.stepTo(ctx, 0) }

// stepTo is Step, after which at least the given number of steps of the phase count as taken: a run that is short of
// time skips some.
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

// beginPhase records the state at the start of a phase.
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

// Candidate is a set of weights that a phase may select.
type Candidate struct {
	Score   float64 // on the rows of a validation
	Weights map[string][]float32
}

// validate scores the averaged weights on some validation rows, and keeps them if they are among the best so far.
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
	if limit := r.finalists(); at < limit {
		kept := slices.Insert(slices.Clone(r.kept), at, Candidate{score, weights}) // saved states share the old list
		r.kept = kept[:min(limit, len(kept))]
	}
	return score, nil
}

// early reports whether the phase spread of a number is in its first half and most rows have missing cells. σ_0 and h
// separate late. Their sum, which is all that such rows depend on, scores well before that.
func (r *Run) early(p *phase) bool {
	return p.spread && !r.net.Classes && 2*r.step < p.steps && 2*r.validation.whole() < r.validation.Len()
}

// score returns the score of the averaged weights on some rows.
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
	return p.score(&validated{x, rows, form.NoiseStd(weights), r.base(weights)}), weights, nil
}

// base returns φ_0 of weights: that of classes, or that of a number if it is trained, else nil.
func (r *Run) base(weights map[string][]float32) []float64 {
	base := r.Base
	for _, v := range form.Base(weights) {
		base = append(base, float64(v))
	}
	return base
}

// finalists returns how many candidates are kept: one if every validation uses all rows.
func (r *Run) finalists() int {
	if r.check.Len() == r.validation.Len() {
		return 1
	}
	return finalists
}

// choose selects the best candidate of the phase on all validation rows, sets the trainer's weights to it and returns
// it.
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

// endPhase restores the best weights and starts the next phase.
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

// minUnit is a lower bound of the squared unit of σ, relative to the error of all rows.
const minUnit = 1e-4

// measureRows is the maximum number of rows for the training error.
const measureRows = 4096

// measureMean sets what depends on the mean: the number of quadrature nodes, and the initial errors of σ.
func (r *Run) measureMean(ctx context.Context, weights map[string][]float32) error {
	nodes, err := r.net.MinNodes(ctx, r.validation.Rows, func(nodes int) (form.Evaluator, error) {
		return r.trainer.evaluator(nodes), nil
	})
	if err != nil {
		return err
	}
	r.setNodes(nodes)
	if r.net.Classes || r.target.fitsSigma() {
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
	if whole := r.scoreOf(mostComplete(seen.Value, sample)); whole < training {
		weights[form.NoiseScale][0] *= float32(math.Sqrt(max(whole/training, minUnit)))
	}
	return r.trainer.put(weights)
}

// sample returns at most the given number of training rows.
func (r *Run) sample(limit int) (Data, error) {
	n := min(limit, r.store.Len())
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

// Close frees the resources of the backend.
func (r *Run) Close() {
	r.evaluator.Close()
	r.endSteps()
	r.trainer.close()
}

// endSteps ends the steps of the current phase.
func (r *Run) endSteps() {
	if r.stepper != nil {
		r.stepper.steps.close()
		r.stepper = nil
	}
}

// setNodes sets the number of quadrature nodes.
func (r *Run) setNodes(nodes int) {
	if r.evaluator != nil {
		r.evaluator.Close()
	}
	r.nodes = nodes
	r.evaluator = r.trainer.evaluator(nodes)
}

// Skipped returns the number of steps skipped for lack of time.
func (r *Run) Skipped() int { return r.skipped }

// Nodes returns the number of quadrature nodes that the exact head's attributions need.
func (r *Run) Nodes() int { return r.nodes }

// Weights returns the averaged weights.
func (r *Run) Weights() (map[string][]float32, error) { return r.trainer.get(average) }

// rng returns the random generator of a step.
func (r *Run) rng(step int) *rand.Rand {
	return rand.New(rand.NewPCG(r.Seed, uint64(r.phase)<<32|uint64(step)))
}

// epoch returns the random generator for the order of the training rows in a pass over them.
func (r *Run) epoch(pass int) *rand.Rand {
	return rand.New(rand.NewPCG(r.Seed, 1<<63|uint64(r.phase)<<32|uint64(pass)))
}

const (
	rollbackRateFactor = 0.3 // factor of the learning rate after a rollback
	maxRollbacks       = 5   // per phase
)

func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// rollBack restores the last valid validation, or the start of the phase, with a lower learning rate, and returns a
// note. After maxRollbacks it keeps the best weights, or fails if no validation was valid. On tiny tables an overfitted
// model degrades on validation rows at any rate.
func (r *Run) rollBack(ctx context.Context, p *phase) (note string, err error) {
	at, slowing, rollbacks := r.step, r.slowing*rollbackRateFactor, r.rollbacks+1
	if rollbacks > maxRollbacks && len(r.kept) > 0 {
		return fmt.Sprintf("%s got worse until step %d at any rate: its best weights are kept", p.name, at), r.endPhase(ctx)
	}
	if rollbacks > maxRollbacks {
		return "", fmt.Errorf("train: %s diverges at step %d even at a rate of %.1g: check the table for absurd values, or set a lower rate", p.name, at, p.rate*r.slowing)
	}
	if err := r.Restore(r.good); err != nil {
		return "", err
	}
	r.slowing, r.rollbacks = slowing, rollbacks
	return fmt.Sprintf("%s diverged at step %d: went back to step %d, rate now %.2g", p.name, at, r.step, p.rate*slowing), nil
}
