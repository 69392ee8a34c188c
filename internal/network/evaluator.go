package network

import (
	"context"
	"fmt"
	"sync"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/form"
)

// Evaluator evaluates a copy of a network. Passes are padded to one of three fixed numbers of rows, all multiples of
// the backend's block size, so the numbers of a row do not depend on other rows.
type Evaluator struct {
	net      *Network
	backend  *engine.Backend
	params   *Params
	copyName string
	mode     engine.Mode
	rows     int // per pass
	nodes    int

	mu       sync.Mutex // serialises passes
	passes   map[form.Want]*engine.Function
	values   map[int]*engine.Function // by coalitions per row
	interact *engine.Function
}

// PassRows is the number of rows in a pass: small enough that its tensors stay in a core's cache, and a multiple of
// every backend's block size.
const PassRows = 60

// NewEvaluator returns an evaluator of a copy of the weights. nodes is the number of quadrature nodes of the exact
// head's integrals.
func (n *Network) NewEvaluator(b *engine.Backend, p *Params, copyName string, mode engine.Mode, nodes int) *Evaluator {
	return &Evaluator{
		net: n, backend: b, params: p, copyName: copyName, mode: mode, rows: PassRows, nodes: nodes,
		passes: map[form.Want]*engine.Function{}, values: map[int]*engine.Function{},
	}
}

// Close frees the compiled graphs.
func (e *Evaluator) Close() {
	for _, f := range e.passes {
		f.Close()
	}
	for _, f := range e.values {
		f.Close()
	}
	if e.interact != nil {
		e.interact.Close()
	}
}

// Coalitions returns f(x_S) [rows, per, C] for masks [rows, per, D].
func (e *Evaluator) Coalitions(ctx context.Context, b *encode.Batch, masks []float32, per int) ([]float32, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if per <= fewCoalitions {
		repeated := b.Like(b.Rows * per)
		for i := range repeated.Rows {
			repeated.Set(i, b, i/per)
		}
		b, per = repeated, 1
	}
	padded := per
	if per > 1 { // a graph for every number of coalitions would be too many
		padded = (per + coalitionsPerPass - 1) / coalitionsPerPass * coalitionsPerPass
	}
	if e.values[padded] == nil {
		f, err := e.compile(func(f *Forward, mask *graph.Node) []*graph.Node {
			return []*graph.Node{f.Value(mask)}
		})
		if err != nil {
			return nil, err
		}
		e.values[padded] = f
	}
	d, c := b.Players(), e.net.Outputs
	if padded == per {
		out, err := e.run(ctx, e.values[padded], b, masks, per)
		if err != nil {
			return nil, err
		}
		return out[0], nil
	}
	wide := make([]float32, b.Rows*padded*d)
	for i := range b.Rows {
		copy(wide[i*padded*d:], masks[i*per*d:(i+1)*per*d])
	}
	out, err := e.run(ctx, e.values[padded], b, wide, padded)
	if err != nil {
		return nil, err
	}
	values := make([]float32, 0, b.Rows*per*c)
	for i := range b.Rows {
		values = append(values, out[0][i*padded*c:][:per*c]...)
	}
	return values, nil
}

const (
	// coalitionsPerPass divides the padded number of coalitions of a row.
	coalitionsPerPass = 512
	// fewCoalitions of a row are evaluated as rows of their own, because passes of them would be mostly padding.
	fewCoalitions = 8
)

// Pass evaluates rows: their values, and what else is wanted.
func (e *Evaluator) Pass(ctx context.Context, b *encode.Batch, want form.Want) (*form.Explained, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.passes[want] == nil {
		f, err := e.compile(func(f *Forward, mask *graph.Node) []*graph.Node {
			out := []*graph.Node{f.Value(mask)}
			if want&form.Spread != 0 {
				out = append(out, playerStd(e.net.Inputs, f.Std(mask)), f.HiddenVariance(mask))
			}
			if want&form.Attributions != 0 {
				out = append(out, f.Attributions(mask, e.nodes))
			}
			return out
		})
		if err != nil {
			return nil, err
		}
		e.passes[want] = f
	}
	out, err := e.run(ctx, e.passes[want], b, b.Observed, 1)
	if err != nil {
		return nil, err
	}
	x := &form.Explained{Value: out[0]}
	if want&form.Spread != 0 {
		x.Std, x.HiddenVariance = out[1], out[2]
	}
	if want&form.Attributions != 0 {
		x.Attributions = out[len(out)-1]
	}
	return x, nil
}

// Interactions returns the pairwise Shapley interaction indices [rows, C, players, players] of the coalitions of
// observed cells. It needs the exact head.
func (e *Evaluator) Interactions(ctx context.Context, b *encode.Batch) ([]float32, error) {
	if e.net.Head != form.Exact {
		return nil, fmt.Errorf("network: the %s head has no exact interactions", e.net.Head)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	d, c := e.net.Inputs.Players(), e.net.Outputs
	if e.interact == nil {
		f, err := e.backend.Compile(e.params.Store, e.mode, func(_ *model.Scope, in []*graph.Node) []*graph.Node {
			rows, rest := RowsOf(e.net.Inputs, in)
			f := e.net.Forward(e.params.Lookup(e.copyName, in[0]), rows)
			return []*graph.Node{f.Game.(Interacting).Interactions(rest[0], rest[1], e.nodes)}
		})
		if err != nil {
			return nil, err
		}
		e.interact = f
	}
	all := make([]float32, b.Rows*c*d*d)
	for i := range d {
		pivot := make([]float32, d)
		pivot[i] = 1
		out, err := e.run(ctx, e.interact, b, b.Observed, 1, func() *tensors.Tensor { return engine.Tensor(pivot, d) })
		if err != nil {
			return nil, err
		}
		for k := range b.Rows * c {
			copy(all[(k*d+i)*d:], out[0][k*d:(k+1)*d])
		}
	}
	return all, nil
}

func (e *Evaluator) compile(build func(f *Forward, mask *graph.Node) []*graph.Node) (*engine.Function, error) {
	return e.backend.Compile(e.params.Store, e.mode, func(_ *model.Scope, in []*graph.Node) []*graph.Node {
		rows, rest := RowsOf(e.net.Inputs, in)
		return build(e.net.Forward(e.params.Lookup(e.copyName, in[0]), rows), rest[0])
	})
}

// run evaluates rows with f in padded passes and joins the outputs.
func (e *Evaluator) run(ctx context.Context, f *engine.Function, b *encode.Batch, masks []float32, per int, more ...func() *tensors.Tensor) ([][]float32, error) {
	d := b.Players()
	var pass *encode.Batch
	var mask []float32
	var joined [][]float32
	for from := 0; from < b.Rows; from += pass.Rows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if rows := e.passRows(b.Rows-from, per); pass == nil || pass.Rows != rows {
			pass = b.Like(rows)
			mask = make([]float32, rows*per*d)
		}
		k := min(pass.Rows, b.Rows-from)
		for i := range k {
			pass.Set(i, b, from+i)
		}
		copy(mask, masks[from*per*d:(from+k)*per*d])
		in := append(RowTensors(pass), engine.Tensor(mask, pass.Rows, per, d))
		for _, t := range more {
			in = append(in, t())
		}
		out, err := f.Call(in...)
		if err != nil {
			return nil, err
		}
		if joined == nil {
			joined = make([][]float32, len(out))
		}
		for i, o := range out {
			joined[i] = append(joined[i], o[:len(o)/pass.Rows*k]...)
		}
	}
	return joined, nil
}

// passRows returns the size of the next pass, given the number of remaining rows.
func (e *Evaluator) passRows(left, per int) int {
	few := e.backend.RowsAtATime()
	switch {
	case per > 1:
		return 1 // the coalitions of a row fill a pass
	case few == 0 || e.rows%few != 0:
		return e.rows
	case left <= few:
		return few
	}
	if some := e.rows / few / 3 * few; some > 0 && left <= 2*some {
		return some
	}
	return e.rows
}

// RowTensors returns the tensors from which a graph reads rows.
func RowTensors(b *encode.Batch) []*tensors.Tensor {
	var in []*tensors.Tensor
	if b.Numeric > 0 {
		in = append(in, engine.Tensor(b.Numbers, b.Rows, b.Numeric, 2))
	}
	if b.Times > 0 {
		in = append(in, engine.Tensor(b.Cycles, b.Rows, b.Times, encode.CyclicParts))
	}
	if b.Categorical > 0 {
		in = append(in, engine.Tensor(b.Codes, b.Rows, b.Categorical))
	}
	return in
}

// RowsOf is the inverse of RowTensors inside a graph, and returns the nodes after the rows.
func RowsOf(in form.Inputs, nodes []*graph.Node) (Rows, []*graph.Node) {
	var rows Rows
	if in.Numeric > 0 {
		rows.Numbers, nodes = nodes[0], nodes[1:]
	}
	if in.Times > 0 {
		rows.Cycles, nodes = nodes[0], nodes[1:]
	}
	if len(in.Levels) > 0 {
		rows.Codes, nodes = nodes[0], nodes[1:]
	}
	return rows, nodes
}

// FinalEvaluator prepares a trained network for evaluation on a backend.
func FinalEvaluator(b *engine.Backend, c form.Config, m form.Member) (*Evaluator, error) {
	n, err := New(c)
	if err != nil {
		return nil, err
	}
	p := n.NewParams()
	if err := p.Put("final", m.Weights); err != nil {
		return nil, err
	}
	return n.NewEvaluator(b, p, "final", engine.Final, m.Nodes), nil
}
