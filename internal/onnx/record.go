package onnx

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/gomlx/compute"
	onnx "github.com/gomlx/compute-onnx/support/protos"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/notimplemented"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/psi-shapley/psi/internal/engine"
)

// record returns the graph of build for inputs of the given shapes, whose axis of rows may be dynamic. The variables of
// the store become constants. Nothing is run, so ONNX Runtime is not needed.
func record(store *model.Store, inputs []shapes.Shape, build func(in []*graph.Node) []*graph.Node) (*onnx.GraphProto, error) {
	r := &recorder{graph: &onnx.GraphProto{}}
	r.Function.ErrFn = func(op compute.OpType) error {
		return fmt.Errorf("%s: %w in an exported graph", op, compute.ErrNotImplemented)
	}
	err := engine.Catch(func() error {
		store.WithVariableAsConst(true)
		exec, err := model.NewExec(&recording{r: r}, store, func(_ *model.Scope, in []*graph.Node) []*graph.Node { return build(in) })
		if err != nil {
			return err
		}
		defer exec.Finalize()
		_, err = exec.Compile(inputs...)
		return err
	})
	return r.graph, err
}

// recording is a backend for the engine that records what is built on it.
type recording struct {
	notimplemented.Backend
	r *recorder
}

// Name returns the name of the backend.
func (b *recording) Name() string { return "recording" }

// Builder returns the only builder, for one graph.
func (b *recording) Builder(string) compute.Builder { return builder{r: b.r} }

// Capabilities reports that an axis may be dynamic.
func (b *recording) Capabilities() compute.Capabilities {
	return compute.Capabilities{DynamicShapes: compute.DynamicShapesNative, PreferConstantsForVariables: true}
}

type builder struct {
	notimplemented.Builder
	r *recorder
}

// Name returns the name of the graph.
func (b builder) Name() string { return "psi" }

// Main returns the recorded function.
func (b builder) Main() compute.Function { return b.r }

// OpShape returns the shape of a value.
func (b builder) OpShape(v compute.Value) (shapes.Shape, error) { return b.r.Shape(v) }

// Compile ends the recording.
func (b builder) Compile() (compute.Executable, error) { return recorded{b.r}, nil }

// recorded is a graph that cannot be run.
type recorded struct{ r *recorder }

// There is nothing to free.
func (e recorded) Finalize() {}

// Inputs returns the parameters.
func (e recorded) Inputs() (names []string, of []shapes.Shape) {
	for _, v := range e.r.inputs {
		names, of = append(names, v.name), append(of, v.shape)
	}
	return names, of
}

// Outputs returns the results of the function.
func (e recorded) Outputs() (of []shapes.Shape) {
	for _, v := range e.r.outputs {
		of = append(of, v.shape)
	}
	return of
}

// Execute returns an error.
func (e recorded) Execute([]compute.Buffer, []bool, compute.DeviceNum) ([]compute.Buffer, error) {
	return nil, compute.ErrNotImplemented
}

// tensor is a value of the graph.
type tensor struct {
	name  string
	shape shapes.Shape
	made  bool // output of a node
}

// recorder writes each operation of the engine as ONNX nodes. An unsupported operation is an error of the export.
type recorder struct {
	notimplemented.Function
	graph           *onnx.GraphProto
	inputs, outputs []*tensor
	constants       map[string]*tensor // by type, dimensions and content
	names           int
}

// Name returns the name of the main function.
func (r *recorder) Name() string { return compute.MainName }

// Builder returns the builder.
func (r *recorder) Builder() compute.Builder { return builder{r: r} }

// Shape returns the shape of a value.
func (r *recorder) Shape(v compute.Value) (shapes.Shape, error) { return v.(*tensor).shape, nil }

func (r *recorder) name(kind string) string {
	r.names++
	return fmt.Sprintf("%s%d", kind, r.names)
}

// node adds an operator with one output of the given shape.
func (r *recorder) node(op string, shape shapes.Shape, attributes []*onnx.AttributeProto, in ...*tensor) *tensor {
	out := &tensor{r.name("v"), shape, true}
	n := &onnx.NodeProto{OpType: op, Output: []string{out.name}, Attribute: attributes}
	for _, v := range in {
		n.Input = append(n.Input, v.name)
	}
	r.graph.Node = append(r.graph.Node, n)
	return out
}

func attribute(name string, v int) []*onnx.AttributeProto {
	return []*onnx.AttributeProto{{Name: name, Type: onnx.AttributeProto_INT, I: int64(v)}}
}

func wide(list []int) []int64 {
	all := make([]int64, len(list))
	for i, v := range list {
		all[i] = int64(v)
	}
	return all
}

// Parameter adds an input, which onnx.go describes.
func (r *recorder) Parameter(_ string, shape shapes.Shape, _ *compute.ShardingSpec) (compute.Value, error) {
	v := &tensor{r.name("in"), shape, false}
	r.inputs = append(r.inputs, v)
	r.graph.Input = append(r.graph.Input, &onnx.ValueInfoProto{Name: v.name})
	return v, nil
}

// Constant adds an initializer, or returns an equal one.
func (r *recorder) Constant(flat any, dims ...int) (compute.Value, error) {
	return r.constant(flat, dims...)
}

func (r *recorder) constant(flat any, dims ...int) (*tensor, error) {
	var kind dtypes.DType
	switch flat.(type) {
	case []float32:
		kind = dtypes.Float32
	case []float64:
		kind = dtypes.Float64
	case []int32:
		kind = dtypes.Int32
	case []int64:
		kind = dtypes.Int64
	case []bool:
		kind = dtypes.Bool
	default:
		return nil, fmt.Errorf("a constant %T: %w in an exported graph", flat, compute.ErrNotImplemented)
	}
	content, err := binary.Append(nil, binary.LittleEndian, flat)
	if err != nil {
		return nil, err
	}
	key := fmt.Sprint(kind, dims, string(content))
	if v := r.constants[key]; v != nil {
		return v, nil
	}
	if r.constants == nil {
		r.constants = map[string]*tensor{}
	}
	v := &tensor{r.name("c"), shapes.Make(kind, dims...), false}
	r.constants[key] = v
	r.graph.Initializer = append(r.graph.Initializer, &onnx.TensorProto{Name: v.name, DataType: int32(typeOf(kind)), Dims: wide(dims), RawData: content})
	return v, nil
}

// integers returns a constant [len(list)], which operators use for sizes and axes.
func (r *recorder) integers(list ...int) *tensor {
	v, err := r.constant(wide(list), len(list))
	if err != nil {
		panic(err) // cannot fail: int64 is a type of constants
	}
	return v
}

// typeOf returns ONNX's type.
func typeOf(kind dtypes.DType) onnx.TensorProto_DataType {
	switch kind {
	case dtypes.Float32:
		return onnx.TensorProto_FLOAT
	case dtypes.Float64:
		return onnx.TensorProto_DOUBLE
	case dtypes.Int32:
		return onnx.TensorProto_INT32
	case dtypes.Int64:
		return onnx.TensorProto_INT64
	case dtypes.Bool:
		return onnx.TensorProto_BOOL
	}
	return onnx.TensorProto_UNDEFINED
}

// Return marks the outputs; each has its own node.
func (r *recorder) Return(outputs []compute.Value, _ []*compute.ShardingSpec) error {
	for _, o := range outputs {
		v := o.(*tensor)
		if !v.made || slices.Contains(r.outputs, v) {
			v = r.node("Identity", v.shape, nil, v)
		}
		r.outputs = append(r.outputs, v)
		r.graph.Output = append(r.graph.Output, &onnx.ValueInfoProto{Name: v.name})
	}
	return nil
}

// Identity returns its operand.
func (r *recorder) Identity(x compute.Value) (compute.Value, error) { return x, nil }
