package train

import (
	"math/rand/v2"

	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/objective"
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

// minibatch holds the inputs of a step.
type minibatch struct {
	Data
	window  Data      // source of the rows
	masks   []float32 // [B, P, players]
	picks   []float32 // [B, players]
	kept    []float32 // [D, B, Z], dropout factors of the embeddings; empty without dropout
	copies  int
	players int
	groups  [][]int // columns of each player; nil if each column is a player
}

func (b *minibatch) mask(row, at int) []float32 {
	from := (row*b.copies + at) * b.players
	return b.masks[from : from+b.players]
}

// observe sets a row's first coalition to the players that have a cell.
func (b *minibatch) observe(row int) {
	whole := b.mask(row, objective.Observed)
	if b.groups == nil {
		copy(whole, b.Rows.Observed[row*b.players:])
		return
	}
	for player, columns := range b.groups {
		whole[player] = 0
		for _, j := range columns {
			whole[player] = max(whole[player], b.Rows.Observed[row*b.Rows.Players()+j])
		}
	}
}

func (b *minibatch) pickOf(row int) []float32 {
	return b.picks[row*b.players : (row+1)*b.players]
}

// stepper runs the steps of one phase.
type stepper struct {
	run   *Run
	phase *phase
	steps steps
	batch minibatch
	order *shuffle
}

func (r *Run) newStepper(p *phase) (*stepper, error) {
	d := r.net.Inputs.Players()
	s := &stepper{run: r, phase: p, order: newShuffle(r.store, d, r.Batch, r.epoch), batch: minibatch{
		Data:    newData(r.Batch, r.validation),
		masks:   make([]float32, r.Batch*p.copies*d),
		picks:   make([]float32, r.Batch*d),
		copies:  p.copies,
		players: d,
		groups:  r.net.Inputs.Groups,
	}}
	if p.drop > 0 {
		s.batch.kept = make([]float32, r.net.Inputs.Columns()*r.Batch*r.net.Embedding)
	}
	var err error
	s.steps, err = r.trainer.begin(p)
	return s, err
}

// step fills the minibatch of step i, runs it and returns the loss.
func (s *stepper) step(i int) (float64, error) {
	if err := s.fill(i); err != nil {
		return 0, err
	}
	return s.call(i)
}

// call runs step i on the current minibatch.
func (s *stepper) call(i int) (float64, error) {
	r := s.run
	return s.steps.take(&s.batch, r.slowing*oneCycle(i, s.phase.steps, s.phase.rate), keep(r.taken, r.Average))
}

// fill draws the rows, in the order of the epoch, and their coalitions.
func (s *stepper) fill(i int) error {
	b := &s.batch
	window, rows, err := s.order.rowsOf(i)
	if err != nil {
		return err
	}
	b.window = window
	rng := s.run.rng(i)
	for row, j := range rows {
		b.set(row, window, j)
		s.forgetLabels(rng, row)
		b.observe(row)
		s.phase.draw(rng, b, row)
	}
	dropOut(rng, s.phase.drop, b.kept)
	return nil
}

// dropOut zeroes the given share of the elements, and scales the rest to a mean of 1. Four elements share a random
// word.
func dropOut(rng *rand.Rand, share float64, kept []float32) {
	below, scale := uint64(share*(1<<16)), float32(1/(1-share))
	var word uint64
	for i := range kept {
		if i%4 == 0 {
			word = rng.Uint64()
		}
		kept[i] = scale
		if word&(1<<16-1) < below {
			kept[i] = 0
		}
		word >>= 16
	}
}

// otherOneIn: one label in so many is read as "other", so that the embedding of unseen labels is trained.
const otherOneIn = 64

// forgetLabels reads some of a row's labels as "other", the first of each category's rows in the embedding table.
func (s *stepper) forgetLabels(rng *rand.Rand, row int) {
	other := int32(0)
	for k, levels := range s.run.net.Inputs.Levels {
		if rng.IntN(otherOneIn) == 0 {
			s.batch.Rows.Codes[row*len(s.run.net.Inputs.Levels)+k] = other
		}
		other += int32(levels)
	}
}
