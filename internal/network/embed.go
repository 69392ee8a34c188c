package network

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/psi-shapley/psi/internal/form"
)

// steepest is where the linear feature of a column is clipped, in standard deviations.
const steepest = 4

// embed is MENN₁: an independent network per player, z_d = E_d(x_d), all players at once as batched blocks [D, in,
// out]. The paper writes it as dense layers under block masks, which is the same function with D times the weights.
func embed(c form.Config, w Lookup, rows Rows) *Node {
	var parts []*Node
	if rows.Numbers != nil {
		parts = append(parts, embedNumbers(c, w, rows))
	}
	if rows.Codes != nil {
		rowsOf := Gather(w("levels"), InsertAxes(rows.Codes, -1)) // [B, categorical, Z]
		parts = append(parts, TransposeAllAxes(rowsOf, 1, 0, 2))
	}
	h := parts[0]
	if len(parts) > 1 {
		h = Concatenate(parts, 0)
	}
	if c.Head == form.Learned && c.Net == form.FFNN { // a linear map, which the trunk's first layer includes
		return h
	}
	h = relu(h)
	for _, name := range c.HiddenLayers() {
		h = relu(playerLayer(w, name, h))
	}
	return h
}

// embedNumbers maps [B, N, 2] to the first layer of the numeric columns [N, B, Z].
func embedNumbers(c form.Config, w Lookup, rows Rows) *Node {
	x := TransposeAllAxes(rows.Numbers, 1, 0, 2)
	position := Slice(x, AxisRange(), AxisRange(), AxisRange(0, 1)) // [N, B, 1]
	bin := Iota(x.Graph(), shapes.Make(dtypes.Float32, 1, 1, c.Inputs.Bins), -1)
	code := ClipScalar(Sub(position, bin), 0, 1) // piecewise-linear: full bins, then a part of one
	h := Add(Einsum("dbi,dij->dbj", code, w("bins")), w("bins_bias"))
	value := Slice(x, AxisRange(), AxisRange(), AxisRange(1, 2))
	if c.Frequencies > 0 {
		turns := Mul(value, w("frequency"))
		turns = Sub(turns, StopGradient(Round(turns))) // otherwise the fractional part of large values would be lost
		angle := MulScalar(turns, 2*math.Pi)
		waves := Concatenate([]*Node{Sin(angle), Cos(angle)}, -1)
		h = Add(h, Einsum("dbi,dij->dbj", waves, w("periodic")))
	} else { // no waves: a linear feature
		h = Add(h, Mul(ClipScalar(value, -steepest, steepest), w("slope")))
	}
	if c.Inputs.Times > 0 { // the last columns also have cyclic parts
		parts := Einsum("dbi,dij->dbj", TransposeAllAxes(rows.Cycles, 1, 0, 2), w("cycles"))
		plain := c.Inputs.Numeric - c.Inputs.Times
		times := Add(half(h, plain, c.Inputs.Numeric), parts)
		if plain > 0 {
			times = Concatenate([]*Node{half(h, 0, plain), times}, 0)
		}
		h = times
	}
	if c.Inputs.Gaps { // a missing cell that is a level of its own lies below all bins
		gap := ConvertDType(LessThan(position, ZerosLike(position)), position.DType())
		h = Add(Mul(OneMinus(gap), h), Mul(gap, w("gap")))
	}
	return h
}

// playerLayer applies every player's own dense layer to h [D, B, in].
func playerLayer(w Lookup, name string, h *Node) *Node {
	return Add(Einsum("dbi,dij->dbj", h, w(name)), w(name+"_bias"))
}

func relu(x *Node) *Node { return MaxScalar(x, 0) }

// positive returns log(1 + eˣ), written with functions that have gradients on every backend. It is above 0 until eˣ
// underflows.
func positive(x *Node) *Node {
	return Add(relu(x), logOnePlus(Exp(Neg(Abs(x)))))
}

// logOnePlus returns log(1 + u) for u in [0, 1]. ONNX Runtime has no such function, and its backend adds 1 first, which
// loses a small u. Small u use a series with a relative error below u⁴/5.
func logOnePlus(u *Node) *Node {
	series := Mul(u, OneMinus(Mul(u, AddScalar(Mul(u, AddScalar(MulScalar(u, .25), -1./3)), .5))))
	return Where(LessThan(u, Const(u.Graph(), float32(.01))), series, Log1P(u))
}

// columnsFirst turns masks [B, P, D] into [D, B, P, 1].
func columnsFirst(mask *Node) *Node {
	return InsertAxes(TransposeAllAxes(mask, 2, 0, 1), -1)
}
