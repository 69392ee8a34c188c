package onnx

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gomlx/compute"
	onnx "github.com/gomlx/compute-onnx/support/protos"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapeinference"
	"github.com/gomlx/compute/shapes"
)

// unary records an operator with one operand that keeps its shape.
func (r *recorder) unary(op string, x compute.Value) (compute.Value, error) {
	v := x.(*tensor)
	return r.node(op, v.shape, nil, v), nil
}

// binary records an operator with two operands, which are broadcast.
func (r *recorder) binary(op string, kind compute.OpType, a, b compute.Value) (compute.Value, error) {
	x, y := a.(*tensor), b.(*tensor)
	shape, err := shapeinference.BinaryOp(kind, x.shape, y.shape)
	if err != nil {
		return nil, err
	}
	return r.node(op, shape, nil, x, y), nil
}

// comparison is binary with a boolean result.
func (r *recorder) comparison(op string, kind compute.OpType, a, b compute.Value) (compute.Value, error) {
	x, y := a.(*tensor), b.(*tensor)
	shape, err := shapeinference.ComparisonOp(kind, x.shape, y.shape)
	if err != nil {
		return nil, err
	}
	return r.node(op, shape, nil, x, y), nil
}

// reduce records an operator over axes, which are dropped.
func (r *recorder) reduce(op string, x compute.Value, axes []int) (compute.Value, error) {
	v := x.(*tensor)
	if len(axes) == 0 {
		for i := range v.shape.Rank() {
			axes = append(axes, i)
		}
	}
	shape, err := shapeinference.Reduce(v.shape, axes)
	if err != nil {
		return nil, err
	}
	return r.node(op, shape, attribute("keepdims", 0), v, r.integers(axes...)), nil
}

// Operations that ONNX has under the same or another name.

func (r *recorder) Abs(x compute.Value) (compute.Value, error)      { return r.unary("Abs", x) }
func (r *recorder) Ceil(x compute.Value) (compute.Value, error)     { return r.unary("Ceil", x) }
func (r *recorder) Exp(x compute.Value) (compute.Value, error)      { return r.unary("Exp", x) }
func (r *recorder) Floor(x compute.Value) (compute.Value, error)    { return r.unary("Floor", x) }
func (r *recorder) Log(x compute.Value) (compute.Value, error)      { return r.unary("Log", x) }
func (r *recorder) Logistic(x compute.Value) (compute.Value, error) { return r.unary("Sigmoid", x) }
func (r *recorder) Neg(x compute.Value) (compute.Value, error)      { return r.unary("Neg", x) }
func (r *recorder) Round(x compute.Value) (compute.Value, error)    { return r.unary("Round", x) }
func (r *recorder) Sign(x compute.Value) (compute.Value, error)     { return r.unary("Sign", x) }
func (r *recorder) Sin(x compute.Value) (compute.Value, error)      { return r.unary("Sin", x) }
func (r *recorder) Sqrt(x compute.Value) (compute.Value, error)     { return r.unary("Sqrt", x) }
func (r *recorder) Tanh(x compute.Value) (compute.Value, error)     { return r.unary("Tanh", x) }

func (r *recorder) LogicalNot(x compute.Value) (compute.Value, error) { return r.unary("Not", x) }

func (r *recorder) Add(a, b compute.Value) (compute.Value, error) {
	return r.binary("Add", compute.OpTypeAdd, a, b)
}

func (r *recorder) Sub(a, b compute.Value) (compute.Value, error) {
	return r.binary("Sub", compute.OpTypeSub, a, b)
}

func (r *recorder) Mul(a, b compute.Value) (compute.Value, error) {
	return r.binary("Mul", compute.OpTypeMul, a, b)
}

func (r *recorder) Div(a, b compute.Value) (compute.Value, error) {
	return r.binary("Div", compute.OpTypeDiv, a, b)
}

func (r *recorder) Max(a, b compute.Value) (compute.Value, error) {
	return r.binary("Max", compute.OpTypeMax, a, b)
}

func (r *recorder) Min(a, b compute.Value) (compute.Value, error) {
	return r.binary("Min", compute.OpTypeMin, a, b)
}

func (r *recorder) Pow(a, b compute.Value) (compute.Value, error) {
	return r.binary("Pow", compute.OpTypePow, a, b)
}

func (r *recorder) LogicalAnd(a, b compute.Value) (compute.Value, error) {
	return r.binary("And", compute.OpTypeLogicalAnd, a, b)
}

func (r *recorder) LogicalOr(a, b compute.Value) (compute.Value, error) {
	return r.binary("Or", compute.OpTypeLogicalOr, a, b)
}

func (r *recorder) Equal(a, b compute.Value) (compute.Value, error) {
	return r.comparison("Equal", compute.OpTypeEqual, a, b)
}

func (r *recorder) NotEqual(a, b compute.Value) (compute.Value, error) {
	same, err := r.Equal(a, b)
	if err != nil {
		return nil, err
	}
	return r.LogicalNot(same)
}

func (r *recorder) GreaterThan(a, b compute.Value) (compute.Value, error) {
	return r.comparison("Greater", compute.OpTypeGreaterThan, a, b)
}

func (r *recorder) GreaterOrEqual(a, b compute.Value) (compute.Value, error) {
	return r.comparison("GreaterOrEqual", compute.OpTypeGreaterOrEqual, a, b)
}

func (r *recorder) LessThan(a, b compute.Value) (compute.Value, error) {
	return r.comparison("Less", compute.OpTypeLessThan, a, b)
}

func (r *recorder) LessOrEqual(a, b compute.Value) (compute.Value, error) {
	return r.comparison("LessOrEqual", compute.OpTypeLessOrEqual, a, b)
}

func (r *recorder) ReduceSum(x compute.Value, axes ...int) (compute.Value, error) {
	return r.reduce("ReduceSum", x, axes)
}

func (r *recorder) ReduceMax(x compute.Value, axes ...int) (compute.Value, error) {
	return r.reduce("ReduceMax", x, axes)
}

func (r *recorder) ReduceMin(x compute.Value, axes ...int) (compute.Value, error) {
	return r.reduce("ReduceMin", x, axes)
}

func (r *recorder) ReduceProduct(x compute.Value, axes ...int) (compute.Value, error) {
	return r.reduce("ReduceProd", x, axes)
}

// Cos of float64 is a sine: ONNX Runtime supports cosines of float32 only.
func (r *recorder) Cos(x compute.Value) (compute.Value, error) {
	v := x.(*tensor)
	if v.shape.DType != dtypes.Float64 {
		return r.unary("Cos", x)
	}
	turned, err := r.plus(v, math.Pi/2)
	if err != nil {
		return nil, err
	}
	return r.Sin(turned)
}

// Log1p adds 1 first: ONNX has no such function. Package network never calls it with a small number.
func (r *recorder) Log1p(x compute.Value) (compute.Value, error) {
	sum, err := r.plus(x.(*tensor), 1)
	if err != nil {
		return nil, err
	}
	return r.Log(sum)
}

// plus adds a number to a tensor of floats.
func (r *recorder) plus(x *tensor, number float64) (compute.Value, error) {
	var flat any = []float64{number}
	if x.shape.DType == dtypes.Float32 {
		flat = []float32{float32(number)}
	}
	constant, err := r.constant(flat)
	if err != nil {
		return nil, err
	}
	return r.Add(x, constant)
}

// Clamp is Max and Min, whose bounds may be tensors.
func (r *recorder) Clamp(low, x, high compute.Value) (compute.Value, error) {
	above, err := r.Max(x, low)
	if err != nil {
		return nil, err
	}
	return r.Min(above, high)
}

// ConvertDType is Cast.
func (r *recorder) ConvertDType(x compute.Value, kind dtypes.DType) (compute.Value, error) {
	v, to := x.(*tensor), typeOf(kind)
	if to == onnx.TensorProto_UNDEFINED {
		return nil, fmt.Errorf("conversion to %s: %w in an exported graph", kind, compute.ErrNotImplemented)
	}
	shape := v.shape.Clone()
	shape.DType = kind
	return r.node("Cast", shape, attribute("to", int(to)), v), nil
}

// Where selects between two values.
func (r *recorder) Where(condition, yes, no compute.Value) (compute.Value, error) {
	c, a, b := condition.(*tensor), yes.(*tensor), no.(*tensor)
	shape, err := shapeinference.Where(c.shape, a.shape, b.shape)
	if err != nil {
		return nil, err
	}
	return r.node("Where", shape, nil, c, a, b), nil
}

// Iota counts along an axis. Its sizes are known, so it is a constant.
func (r *recorder) Iota(shape shapes.Shape, axis int) (compute.Value, error) {
	if slices.Contains(shape.Dimensions, shapes.DynamicDim) {
		return nil, fmt.Errorf("a count along %s, which is open: %w in an exported graph", shape, compute.ErrNotImplemented)
	}
	inner := 1
	for _, d := range shape.Dimensions[axis+1:] {
		inner *= d
	}
	numbers := make([]int64, shape.Size())
	for i := range numbers {
		numbers[i] = int64(i / inner % shape.Dimensions[axis])
	}
	v, err := r.constant(numbers, shape.Dimensions...)
	if err != nil {
		return nil, err
	}
	return r.ConvertDType(v, shape.DType)
}

// Concatenate is Concat.
func (r *recorder) Concatenate(axis int, operands ...compute.Value) (compute.Value, error) {
	in, of := make([]*tensor, len(operands)), make([]shapes.Shape, len(operands))
	for i, o := range operands {
		in[i] = o.(*tensor)
		of[i] = in[i].shape
	}
	shape, err := shapeinference.Concatenate(of, axis)
	if err != nil {
		return nil, err
	}
	return r.node("Concat", shape, attribute("axis", axis), in...), nil
}

// Transpose permutes axes.
func (r *recorder) Transpose(x compute.Value, order ...int) (compute.Value, error) {
	v := x.(*tensor)
	shape, err := shapeinference.Transpose(v.shape, order)
	if err != nil {
		return nil, err
	}
	return r.transpose(v, shape, order), nil
}

func (r *recorder) transpose(v *tensor, shape shapes.Shape, order []int) *tensor {
	return r.node("Transpose", shape, []*onnx.AttributeProto{{Name: "perm", Type: onnx.AttributeProto_INTS, Ints: wide(order)}}, v)
}

// Slice slices the axes that are not whole.
func (r *recorder) Slice(x compute.Value, starts, limits, strides []int) (compute.Value, error) {
	v := x.(*tensor)
	shape, err := shapeinference.Slice(v.shape, starts, limits, strides)
	if err != nil {
		return nil, err
	}
	var from, to, axes, steps []int
	for i := range starts {
		step := 1
		if len(strides) > 0 {
			step = strides[i]
		}
		if starts[i] != 0 || limits[i] != v.shape.Dimensions[i] || step != 1 {
			from, to, axes, steps = append(from, starts[i]), append(to, limits[i]), append(axes, i), append(steps, step)
		}
	}
	if len(axes) == 0 {
		return x, nil
	}
	return r.node("Slice", shape, nil, v, r.integers(from...), r.integers(to...), r.integers(axes...), r.integers(steps...)), nil
}

// Reshape changes the dimensions, of which one may be dynamic.
func (r *recorder) Reshape(x compute.Value, dims ...int) (compute.Value, error) {
	v := x.(*tensor)
	shape, err := shapeinference.Reshape(v.shape, dims)
	if err != nil {
		return nil, err
	}
	return r.reshape(v, shape)
}

// DynamicReshape is Reshape with a named axis of rows.
func (r *recorder) DynamicReshape(x compute.Value, dims ...compute.DynamicDimensionSpec) (compute.Value, error) {
	v := x.(*tensor)
	shape, err := shapeinference.DynamicReshape(v.shape, dims)
	if err != nil {
		return nil, err
	}
	return r.reshape(v, shape)
}

func (r *recorder) reshape(v *tensor, shape shapes.Shape) (compute.Value, error) {
	dims, open := slices.Clone(shape.Dimensions), 0
	for i, d := range dims {
		if d == shapes.DynamicDim {
			dims[i] = -1 // the remaining size
			open++
		}
	}
	if open > 1 {
		return nil, fmt.Errorf("a reshape to %s, of which more than one axis is open: %w in an exported graph", shape, compute.ErrNotImplemented)
	}
	return r.node("Reshape", shape, nil, v, r.integers(dims...)), nil
}

// DynamicDimensionSize returns the size of an axis, a scalar.
func (r *recorder) DynamicDimensionSize(x compute.Value, axis int) (compute.Value, error) {
	size := r.size(x.(*tensor), axis)
	scalar := r.node("Squeeze", shapes.Make(dtypes.Int64), nil, size, r.integers(0))
	return r.node("Cast", shapes.Make(dtypes.Int32), attribute("to", int(onnx.TensorProto_INT32)), scalar), nil
}

// size returns the size of an axis [1].
func (r *recorder) size(v *tensor, axis int) *tensor {
	all := r.node("Shape", shapes.Make(dtypes.Int64, v.shape.Rank()), nil, v)
	return r.node("Slice", shapes.Make(dtypes.Int64, 1), nil, all, r.integers(axis), r.integers(axis+1))
}

// BroadcastInDim moves axes of x to the given places and repeats it along the others.
func (r *recorder) BroadcastInDim(x compute.Value, shape shapes.Shape, places []int) (compute.Value, error) {
	return r.broadcast(x.(*tensor), shape, places)
}

// DynamicBroadcastInDim is BroadcastInDim with a named axis of rows.
func (r *recorder) DynamicBroadcastInDim(x compute.Value, places []int, dims ...compute.DynamicDimensionSpec) (compute.Value, error) {
	v := x.(*tensor)
	shape := shapes.Shape{DType: v.shape.DType}
	for _, d := range dims {
		size := d.Static
		if d.Name != "" {
			size = shapes.DynamicDim
		}
		shape.Dimensions, shape.AxisNames = append(shape.Dimensions, size), append(shape.AxisNames, d.Name)
	}
	return r.broadcast(v, shape, places)
}

func (r *recorder) broadcast(v *tensor, shape shapes.Shape, places []int) (compute.Value, error) {
	var added []int
	spread := v.shape.Dimensions // with the added axes
	for i := range shape.Dimensions {
		if !slices.Contains(places, i) {
			added, spread = append(added, i), slices.Insert(slices.Clone(spread), i, 1)
		}
	}
	if len(added) > 0 {
		v = r.node("Unsqueeze", shape, nil, v, r.integers(added...))
	}
	parts, same := make([]*tensor, len(shape.Dimensions)), true
	for i, d := range shape.Dimensions {
		switch {
		case spread[i] == d:
			parts[i] = r.integers(1) // unchanged
			continue
		case d == shapes.DynamicDim:
			if len(r.inputs) == 0 {
				return nil, fmt.Errorf("a broadcast to %s without an input: %w in an exported graph", shape, compute.ErrNotImplemented)
			}
			parts[i] = r.size(r.inputs[0], 0) // the only dynamic axis
		default:
			parts[i] = r.integers(d)
		}
		same = false
	}
	if same {
		return v, nil
	}
	return r.node("Expand", shape, nil, v, r.node("Concat", shapes.Make(dtypes.Int64, len(parts)), attribute("axis", 0), parts...)), nil
}

// DotGeneral is an Einsum; a product for each row is a MatMul, see perRow.
func (r *recorder) DotGeneral(a compute.Value, aSum, aBatch []int, b compute.Value, bSum, bBatch []int, config compute.DotGeneralConfig) (compute.Value, error) {
	x, y := a.(*tensor), b.(*tensor)
	shape, err := shapeinference.DotGeneral(x.shape, aSum, aBatch, y.shape, bSum, bBatch, config)
	if err != nil {
		return nil, err
	}
	left, right := make([]byte, x.shape.Rank()), make([]byte, y.shape.Rank())
	next := byte('a')
	for i := range left {
		left[i] = next
		next++
	}
	var out strings.Builder
	for i, axis := range aBatch {
		right[bBatch[i]] = left[axis]
		out.WriteByte(left[axis])
	}
	for i, axis := range aSum {
		right[bSum[i]] = left[axis]
	}
	for i, letter := range left {
		if !slices.Contains(aBatch, i) && !slices.Contains(aSum, i) {
			out.WriteByte(letter)
		}
	}
	for i := range right {
		if right[i] == 0 {
			right[i] = next
			out.WriteByte(next)
			next++
		}
	}
	equation := fmt.Sprintf("%s,%s->%s", left, right, out.String())
	if equation == perRow {
		turned := y.shape.Clone()
		turned.Dimensions = []int{y.shape.Dimensions[1], y.shape.Dimensions[0], y.shape.Dimensions[2]}
		return r.node("MatMul", shape, nil, x, r.transpose(y, turned, []int{1, 0, 2})), nil
	}
	return r.node("Einsum", shape, []*onnx.AttributeProto{{Name: "equation", Type: onnx.AttributeProto_STRING, S: []byte(equation)}}, x, y), nil
}

// perRow is a product for each row a, whose factor has another axis first. ONNX Runtime's Einsum divides by the size of
// the axis of rows, and crashes the process when a call has no rows.
const perRow = "abc,cad->abd"

// Gather looks up rows of a table: the last axis of the indices counts along its first axes.
func (r *recorder) Gather(x, indices compute.Value, vector int, offsets, collapsed, starts, sizes []int, _ bool) (compute.Value, error) {
	table, index := x.(*tensor), indices.(*tensor)
	shape, err := shapeinference.Gather(table.shape, index.shape, vector, offsets, collapsed, starts, sizes, false)
	if err != nil {
		return nil, err
	}
	batch := index.shape.Rank() - 1
	rows := vector == batch && slices.Equal(collapsed, count(0, len(collapsed))) && slices.Equal(starts, collapsed) &&
		slices.Equal(offsets, count(batch, len(offsets))) && slices.Equal(sizes[len(collapsed):], table.shape.Dimensions[len(collapsed):])
	if !rows {
		return nil, fmt.Errorf("a gather of other than rows: %w in an exported graph", compute.ErrNotImplemented)
	}
	long := r.node("Cast", index.shape, attribute("to", int(onnx.TensorProto_INT64)), index)
	return r.node("GatherND", shape, nil, table, long), nil
}

// count returns n consecutive numbers from first.
func count(first, n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = first + i
	}
	return all
}
