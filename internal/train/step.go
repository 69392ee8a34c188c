package train

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
	gomlx "github.com/gomlx/gomlx/ml/train"
	"github.com/gomlx/gomlx/ml/train/optimizer"

	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/network"
	"github.com/psi-shapley/psi/internal/objective"
)

// minibatch is what a step reads, filled on the host.
type minibatch struct {
	Data
	window  Data      // that the rows are of
	masks   []float32 // [B, P, players]
	picks   []float32 // [B, players]
	kept    []float32 // [D, B, Z], what dropout leaves of the embeddings; empty without
	copies  int
	players int
	groups  [][]int // the columns of each player; nil if each is one
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

// stepper takes the steps of one phase.
type stepper struct {
	run   *Run
	phase *phase
	f     *engine.Function
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
	r.params.SetTrainable(current, p.groups...)
	var err error
	s.f, err = r.backend.Compile(r.params.Store, engine.Live, func(scope *model.Scope, in []*Node) []*Node {
		return []*Node{r.stepGraph(p, scope, in)}
	})
	return s, err
}

func (s *stepper) close() { s.f.Close() }

// step fills the minibatch of step i, runs it and returns the loss.
func (s *stepper) step(i int) (float64, error) {
	if err := s.fill(i); err != nil {
		return 0, err
	}
	return s.call(i)
}

// call runs step i on the minibatch as it is.
func (s *stepper) call(i int) (float64, error) {
	r, b := s.run, &s.batch
	in := network.RowTensors(b.Rows)
	in = append(in,
		engine.Tensor(b.Target, r.Batch, 1),
		engine.Tensor(b.Weight, r.Batch, 1),
		engine.Tensor(b.Rows.Observed, r.Batch, b.Rows.Players()),
		engine.Tensor(b.masks, r.Batch, b.copies, b.players),
		engine.Tensor([]float32{float32(r.slowing * oneCycle(i, s.phase.steps, s.phase.rate))}),
		engine.Tensor([]float32{float32(keep(r.taken, r.Average))}))
	if s.phase.picks {
		in = append(in, engine.Tensor(b.picks, r.Batch, b.players))
	}
	if s.phase.drop > 0 {
		in = append(in, engine.Tensor(b.kept, r.net.Inputs.Columns(), r.Batch, r.net.Embedding))
	}
	out, err := s.f.Call(in...)
	if err != nil {
		return 0, err
	}
	return float64(out[0][0]), nil
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

// dropOut leaves out that share of the elements, and scales the rest to a mean of 1. Four
// elements share a random word.
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

// otherOneIn is how rarely a label is read as "other", so that there is something to say of
// labels that were never seen.
const otherOneIn = 64

// forgetLabels reads some of a row's labels as "other", the first of each category's rows of
// the embedding table.
func (s *stepper) forgetLabels(rng *rand.Rand, row int) {
	other := int32(0)
	for k, levels := range s.run.net.Inputs.Levels {
		if rng.IntN(otherOneIn) == 0 {
			s.batch.Rows.Codes[row*len(s.run.net.Inputs.Levels)+k] = other
		}
		other += int32(levels)
	}
}

// stepGraph is one step: loss, gradients clipped by their global norm, AdamW, and the
// moving average.
func (r *Run) stepGraph(p *phase, scope *model.Scope, in []*Node) *Node {
	rows, rest := network.RowsOf(r.net.Inputs, in)
	y, weight, observed, players, rate, keep := rest[0], rest[1], rest[2], rest[3], rest[4], rest[5]
	mask := network.ColumnsOf(r.net.Inputs, players, observed)
	x := lossInputs{y: y, weight: weight, mask: mask, players: players}
	rest = rest[6:]
	if p.picks {
		x.pick, rest = rest[0], rest[1:]
	}
	var kept *Node
	if p.drop > 0 {
		kept = rest[0]
	}
	x.Forward = r.net.Thinned(r.trained(p, mask), rows, kept)
	if p.taught {
		x.teacher = r.net.Forward(r.params.Lookup(teacher, mask), rows)
	}
	loss := p.loss(x)
	grads := scope.BuildTrainableVariablesGradientsGraph(loss)
	clip(grads, r.params.TrainableGroups(scope, loss), r.Clip)
	optimizer.LearningRateVar(scope, dtypes.Float32, 0).SetNodeValue(Reshape(rate))
	adam := optimizer.Adam().Scope(fmt.Sprintf("adam%d", r.phase)).Betas(0.9, 0.99).Epsilon(1e-8).WeightDecay(p.decay).Done()
	adam.(gomlx.OptimizeWithGradients).UpdateGraphWithGradients(scope, grads, dtypes.Float32)
	now, then := r.params.Lookup(current, mask), r.params.Lookup(average, mask)
	for _, w := range r.net.Weights() {
		if p.trains(w) {
			a := now(w.Name)
			r.params.Set(average, w.Name, Add(a, Mul(Reshape(keep), Sub(then(w.Name), a))))
		}
	}
	return loss
}

// trained looks up the weights under training where the phase trains them, and the
// averaged ones of earlier phases elsewhere.
func (r *Run) trained(p *phase, in *Node) network.Lookup {
	moving, frozen := r.params.Lookup(current, in), r.params.Lookup(average, in)
	groups := map[string]form.Weight{}
	for _, w := range r.net.Weights() {
		groups[w.Name] = w
	}
	return func(name string) *Node {
		if p.trains(groups[name]) {
			return moving(name)
		}
		return StopGradient(frozen(name))
	}
}

func (p *phase) trains(w form.Weight) bool {
	return slices.Contains(p.groups, w.Group)
}

// clip scales the gradients to a norm of at most top: those of the mean by their
// global norm, those of each other group by theirs, so that none drowns another.
func clip(grads []*Node, groups []form.Group, top float64) {
	square := map[form.Group]*Node{}
	for i, g := range grads {
		s := ReduceAllSum(Square(g))
		if sum, ok := square[groups[i]]; ok {
			s = Add(sum, s)
		}
		square[groups[i]] = s
	}
	for i := range grads {
		norm := AddScalar(Sqrt(square[groups[i]]), 1e-6)
		grads[i] = Mul(grads[i], MinScalar(Div(ConstAs(norm, top), norm), 1))
	}
}
