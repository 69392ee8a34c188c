// Package learn trains the product form of the exact head by hand-written loops. A step computes the loss of a
// minibatch, its gradient, clipping, AdamW and the moving average of the weights. It needs no tensor engine.
//
// A column's network is evaluated once for each distinct cell of a minibatch. A copy of a row is then a list of
// offsets, one per column: those of its cells' factors or, for absent columns, of their baselines. Its value is Σ_k w_k
// (Π_d F_dk − Π_d (1 + c_dk)).
//
// Work is divided among cores into shares that do not depend on the number of cores, and no two shares add to the same
// number. The same minibatches therefore give the same bytes on any number of cores.
//
// The names follow docs/equations.md.
package learn

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/kernel/vector"
)

// Phase is a phase of training: it determines the trained weights and the loss.
type Phase int

// Phases.
const (
	Fit    Phase = iota // the mean, together with h
	Refit               // as Fit, with rows weighted by their precision under σ
	Absent              // weights for absent players, with the rest frozen
	Spread              // σ and h, with the mean frozen
)

// trained returns the parts of an arena that a phase trains; each is clipped by its own norm.
func (l *layout) trained(p Phase) []span {
	hidden := l.groups[form.Hidden]
	switch p {
	case Spread:
		return []span{l.groups[form.Sigma], hidden}
	case Absent:
		return []span{l.groups[form.Absent]}
	default:
		return []span{{l.groups[form.Mean].from, l.groups[form.Absent].to}, hidden}
	}
}

// usesSigma reports whether the loss of a phase uses σ.
func (p Phase) usesSigma() bool { return p == Refit || p == Spread }

// Recipe holds the hyperparameters that all phases share.
type Recipe struct {
	Batch          int       // rows per step
	Clip           float64   // maximum gradient norm of a group of weights
	MaskedExponent float64   // γ of numbers: a masked copy has the weight (τ/(τ+h²))^γ relative to its row as observed
	Base           []float64 // φ_0 [C] of classes
	LogStd         float64   // scale log-mean: standard deviation of the log of the target; else 0
	SpreadPenalty  float64   // λ of Σ_d E σ_d²
}

// Copies of a row: as observed, and masked.
const (
	observed = iota
	masked
	copies
)

// Minibatch holds the rows of a step. All slices are read-only.
type Minibatch struct {
	Rows           *encode.Batch
	Target, Weight []float32 // [B]
	Masks          []float32 // [B, 2, players] players present as observed, and in the masked copy
	Kept           []float32 // [columns, B, embedding] dropout factors of the embeddings; nil without dropout
}

// Step holds the parameters of a step besides its rows.
type Step struct {
	Rate  float64 // learning rate
	Decay float64 // weight decay, times the rate
	Keep  float64 // decay of the moving average
}

// Trainer holds the weights of a network and trains them. It is not safe for concurrent use.
type Trainer struct {
	form.Config
	Recipe
	ops     vector.Set
	lay     *layout
	workers *workers

	weights, average, gradient, first, second []float32 // arenas
	steps                                     int       // of the optimiser

	columns []column
	shared
	hide     hide
	spread   spread
	loss     losses
	player   []int // of each column
	learners int
	normOf   []float64
	current  step // current step

	// the shares of work, created once so that steps do not allocate
	forwardShare, valueShare, rowShare, sigmaShare, productShare, backShare, normShare, adamShare func(i int)
}

// step is what the shares of a step read.
type step struct {
	*Minibatch
	phase Phase
	adam  vector.Adam
	span  span // of the weights being updated
}

// Trains reports whether this package can train a network.
func Trains(c form.Config) bool {
	return c.Head == form.Exact && c.Form == form.Product && (c.Classes || c.Outputs == 1)
}

// New returns a trainer whose weights are 0.
func New(c form.Config, r Recipe) (*Trainer, error) {
	ops, err := vector.Best()
	if err != nil {
		return nil, err
	}
	return newTrainer(c, r, ops)
}

// newTrainer is New with a given instruction set.
func newTrainer(c form.Config, r Recipe, ops vector.Set) (*Trainer, error) {
	if !Trains(c) {
		return nil, errors.New("learn: the network has no product form")
	}
	if c.Classes && len(r.Base) != c.Outputs {
		return nil, fmt.Errorf("learn: φ_0 of %d outputs, but there are %d", len(r.Base), c.Outputs)
	}
	if floats := (r.Batch + 2) * c.Inputs.Columns() * (vector.Padded(max(c.Parts()*c.Channels, c.HiddenWidth)) + vector.Lanes); floats > math.MaxInt32 {
		return nil, fmt.Errorf("learn: a step of %d rows would need %d factors: lower the batch or the channels", r.Batch, floats)
	}
	t := &Trainer{Config: c, Recipe: r, ops: ops, lay: newLayout(c), workers: newWorkers(), learners: c.LearnerCount()}
	for _, arena := range []*[]float32{&t.weights, &t.average, &t.gradient, &t.first, &t.second} {
		*arena = vector.Floats(t.lay.size)
	}
	t.player = c.Inputs.PlayerOf()
	t.shared = newShared(t)
	t.hide, t.spread, t.loss = newHide(t), newSpread(t), newLosses(t)
	first := 0
	for d := range c.Inputs.Columns() {
		t.columns = append(t.columns, newColumn(t, d, first))
		if k := d - c.Inputs.Numeric; k >= 0 {
			first += c.Inputs.Levels[k]
		}
	}
	t.normOf = make([]float64, t.lay.size/updateBlock+len(t.lay.groups))
	t.forwardShare = func(d int) { t.columns[d].forward(t) }
	t.valueShare, t.productShare = t.values, t.products
	t.rowShare = t.rows
	t.sigmaShare = func(d int) { t.columns[d].sigma(t) }
	t.backShare = func(d int) { t.columns[d].backward(t) }
	t.normShare, t.adamShare = t.norm, t.update
	return t, nil
}

// Close ends the trainer's goroutines. The weights can still be read.
func (t *Trainer) Close() { t.workers.close() }

// Copy identifies one of the copies of the weights.
type Copy int

// Copies of the weights.
const (
	Current Copy = iota // being trained
	Average             // their moving average
)

func (t *Trainer) arena(c Copy) []float32 {
	if c == Average {
		return t.average
	}
	return t.weights
}

// Weights returns a copy of the weights.
func (t *Trainer) Weights(c Copy) map[string][]float32 { return t.lay.read(t.arena(c)) }

// SetWeights overwrites weights.
func (t *Trainer) SetWeights(c Copy, values map[string][]float32) error {
	return t.lay.write(t.arena(c), values)
}

// Moments is the state of the optimiser: its number of steps, and the moments of the gradients by weight. There are
// none before the first step.
type Moments struct {
	Steps         int
	First, Second map[string][]float32
}

// Moments returns a copy of the state of the optimiser.
func (t *Trainer) Moments() Moments {
	if t.steps == 0 {
		return Moments{}
	}
	return Moments{t.steps, t.lay.read(t.first), t.lay.read(t.second)}
}

// SetMoments overwrites the state of the optimiser. The zero value is the state before the first step.
func (t *Trainer) SetMoments(m Moments) error {
	t.steps = m.Steps
	if m.Steps == 0 {
		clear(t.first)
		clear(t.second)
		return nil
	}
	return errors.Join(t.lay.write(t.first, m.First), t.lay.write(t.second, m.Second))
}

// Step runs a step and returns the loss before it.
func (t *Trainer) Step(phase Phase, b *Minibatch, s Step) float64 {
	loss, hidden := t.gradients(phase, b)
	t.optimise(phase, s)
	return loss + hidden
}

// gradients computes the loss of a minibatch, and its gradient by all weights that the phase trains.
func (t *Trainer) gradients(phase Phase, b *Minibatch) (loss, hidden float64) {
	t.current.Minibatch, t.current.phase = b, phase
	t.workers.each(len(t.columns), t.forwardShare)
	t.workers.each(len(t.shares), t.valueShare)
	t.workers.each(t.rowShares(), t.rowShare)
	if phase.usesSigma() {
		t.workers.each(len(t.columns), t.sigmaShare)
	}
	loss, hidden = t.losses()
	if phase != Spread {
		t.workers.each(len(t.shares), t.productShare)
	}
	if phase != Absent {
		t.hide.backward(t)
	}
	t.workers.each(len(t.columns), t.backShare)
	return loss, hidden
}

// updateBlock is the number of weights that are updated as one share.
const updateBlock = 1 << 14

// blocks divides a span. The blocks, and so the sums over them, do not depend on the number of cores.
func (s span) blocks() int { return (s.to - s.from + updateBlock - 1) / updateBlock }

func (s span) block(i int) span {
	from := s.from + i*updateBlock
	return span{from, min(from+updateBlock, s.to)}
}

// optimise runs a step of the optimiser. The gradients of each group of weights are clipped by their own norm, so that
// no group dominates another.
func (t *Trainer) optimise(phase Phase, s Step) {
	t.steps++
	n := float64(t.steps)
	t.current.adam = vector.Adam{
		Rate: float32(s.Rate), Decay: float32(s.Rate * s.Decay), Keep: float32(s.Keep),
		Debias1: float32(1 / (1 - math.Pow(vector.Beta1, n))), Debias2: float32(1 / (1 - math.Pow(vector.Beta2, n))),
	}
	for _, of := range t.lay.trained(phase) {
		t.current.span = of
		t.workers.each(of.blocks(), t.normShare)
		square := 0.0
		for _, part := range t.normOf[:of.blocks()] {
			square += part
		}
		t.current.adam.Scale = float32(min(1, t.Clip/(math.Sqrt(square)+1e-6)))
		t.workers.each(of.blocks(), t.adamShare)
	}
}

func (t *Trainer) norm(i int) {
	b := t.current.span.block(i)
	t.normOf[i] = float64(t.ops.SquaredSum(t.gradient[b.from:b.to]))
}

func (t *Trainer) update(i int) {
	b := t.current.span.block(i)
	a := t.current.adam
	a.Weights, a.Gradient, a.Average = t.weights[b.from:b.to], t.gradient[b.from:b.to], t.average[b.from:b.to]
	a.First, a.Second = t.first[b.from:b.to], t.second[b.from:b.to]
	t.ops.Adam(&a)
}

// workers runs the shares of some work on the cores that Go may use.
type workers struct {
	wake    chan struct{}
	helpers int
	ended   sync.WaitGroup

	f    func(i int)
	n    int
	next atomic.Int64
	left sync.WaitGroup
}

func newWorkers() *workers {
	w := &workers{helpers: runtime.GOMAXPROCS(0) - 1}
	if w.helpers == 0 {
		return w
	}
	w.wake = make(chan struct{}, w.helpers)
	for range w.helpers {
		w.ended.Go(func() {
			for range w.wake {
				w.work()
				w.left.Done()
			}
		})
	}
	return w
}

func (w *workers) close() {
	if w.wake != nil {
		close(w.wake)
		w.ended.Wait()
		w.wake, w.helpers = nil, 0
	}
}

// each calls f for the shares 0 … n−1, several at a time.
func (w *workers) each(n int, f func(i int)) {
	helpers := min(w.helpers, n-1)
	if helpers <= 0 {
		for i := range n {
			f(i)
		}
		return
	}
	w.f, w.n = f, n
	w.next.Store(0)
	w.left.Add(helpers)
	for range helpers {
		w.wake <- struct{}{}
	}
	w.work()
	w.left.Wait()
}

func (w *workers) work() {
	for i := int(w.next.Add(1)) - 1; i < w.n; i = int(w.next.Add(1)) - 1 {
		w.f(i)
	}
}
