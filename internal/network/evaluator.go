package network

import (
	"context"
	"fmt"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/engine"
)

// Evaluator runs a copy of a network forward. Passes are padded to one of three fixed
// numbers of rows, all multiples of what the backend takes at a time, so a row's numbers
// do not depend on its neighbours.
type Evaluator struct {
	net      *Network
	backend  *engine.Backend
	params   *Params
	copyName string
	mode     engine.Mode
	rows     int // per pass
	nodes    int

	values   map[int]*engine.Function // by coalitions per row
	shares   *engine.Function
	explain  *engine.Function
	predict  *engine.Function
	interact *engine.Function
}

// PassRows is the number of rows in a pass: small enough that the tensors of a pass stay
// in a core's cache, and a multiple of what every backend takes at a time.
const PassRows = 60

// NewEvaluator makes an evaluator of a copy of the weights. nodes is the number of
// quadrature nodes of the exact head's integrals.
func (n *Network) NewEvaluator(b *engine.Backend, p *Params, copyName string, mode engine.Mode, nodes int) *Evaluator {
	return &Evaluator{
		net: n, backend: b, params: p, copyName: copyName, mode: mode, rows: PassRows, nodes: nodes,
		values: map[int]*engine.Function{},
	}
}

// Close frees the compiled graphs.
func (e *Evaluator) Close() {
	for _, f := range e.values {
		f.Close()
	}
	for _, f := range []*engine.Function{e.shares, e.explain, e.predict, e.interact} {
		if f != nil {
			f.Close()
		}
	}
}

// Explained is what one pass says of rows, in standard deviations of the target.
type Explained struct {
	Value          []float32 // [rows, C] f(x_S), of the coalition S of the observed cells
	Attributions   []float32 // [rows, C, players] f_d(x_S)
	Std            []float32 // [rows, C, players] σ_d(x_S)
	HiddenVariance []float32 // [rows, C] h²(x_S)
}

// Values is f(x_S) [rows, C] of the coalitions of observed cells.
func (e *Evaluator) Values(ctx context.Context, b *encode.Batch) ([]float32, error) {
	return e.Coalitions(ctx, b, b.Observed, 1)
}

// Coalitions is f(x_S) [rows, per, C] of masks [rows, per, D].
func (e *Evaluator) Coalitions(ctx context.Context, b *encode.Batch, masks []float32, per int) ([]float32, error) {
	if e.values[per] == nil {
		f, err := e.compile(func(f *Forward, mask *graph.Node) []*graph.Node {
			return []*graph.Node{f.Value(mask)}
		})
		if err != nil {
			return nil, err
		}
		e.values[per] = f
	}
	out, err := e.run(ctx, e.values[per], b, masks, per)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// Attributions are f_d(x_S) [rows, C, players] alone.
func (e *Evaluator) Attributions(ctx context.Context, b *encode.Batch) ([]float32, error) {
	if e.shares == nil {
		f, err := e.compile(func(f *Forward, mask *graph.Node) []*graph.Node {
			return []*graph.Node{f.Attributions(mask, e.nodes)}
		})
		if err != nil {
			return nil, err
		}
		e.shares = f
	}
	out, err := e.run(ctx, e.shares, b, b.Observed, 1)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// Predict is Explain without the attributions.
func (e *Evaluator) Predict(ctx context.Context, b *encode.Batch) (*Explained, error) {
	return e.all(ctx, b, &e.predict, false)
}

// Explain gives the values, attributions and their spread of rows in one pass.
func (e *Evaluator) Explain(ctx context.Context, b *encode.Batch) (*Explained, error) {
	return e.all(ctx, b, &e.explain, true)
}

func (e *Evaluator) all(ctx context.Context, b *encode.Batch, f **engine.Function, attributions bool) (*Explained, error) {
	if *f == nil {
		compiled, err := e.compile(func(f *Forward, mask *graph.Node) []*graph.Node {
			out := []*graph.Node{f.Value(mask), e.net.Inputs.playerStd(f.Std(mask)), f.HiddenVariance(mask)}
			if attributions {
				out = append(out, f.Attributions(mask, e.nodes))
			}
			return out
		})
		if err != nil {
			return nil, err
		}
		*f = compiled
	}
	out, err := e.run(ctx, *f, b, b.Observed, 1)
	if err != nil {
		return nil, err
	}
	x := &Explained{Value: out[0], Std: out[1], HiddenVariance: out[2]}
	if attributions {
		x.Attributions = out[3]
	}
	return x, nil
}

// Interactions are the pairwise Shapley interaction indices [rows, C, players, players] of the
// coalitions of observed cells. Only the exact head has them.
func (e *Evaluator) Interactions(ctx context.Context, b *encode.Batch) ([]float32, error) {
	if e.net.Head != Exact {
		return nil, fmt.Errorf("network: the %s head has no exact interactions", e.net.Head)
	}
	d, c := e.net.Inputs.Players(), e.net.Outputs
	if e.interact == nil {
		f, err := e.backend.Compile(e.params.Store, e.mode, func(_ *model.Scope, in []*graph.Node) []*graph.Node {
			rows, rest := e.net.Inputs.Split(in)
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
		rows, rest := e.net.Inputs.Split(in)
		return build(e.net.Forward(e.params.Lookup(e.copyName, in[0]), rows), rest[0])
	})
}

// run passes rows through f in padded passes and joins the outputs.
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

// passRows is the size of the next pass when that many rows are left.
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

// RowTensors are the tensors that a graph reads rows from.
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

// Split undoes RowTensors inside a graph and returns what follows the rows.
func (in Inputs) Split(nodes []*graph.Node) (Rows, []*graph.Node) {
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
