package onnx

import (
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
)

// recordedOperators are the operators of a graph of one input [n, 3], in their order.
func recordedOperators(t *testing.T, build func(x *graph.Node) *graph.Node) (string, error) {
	t.Helper()
	input := shapes.MakeDynamic(dtypes.Float32, []int{shapes.DynamicDim, 3}, []string{rowsAxis, ""})
	g, err := record(model.NewStore(), []shapes.Shape{input}, func(in []*graph.Node) []*graph.Node { return []*graph.Node{build(in[0])} })
	var all []string
	for _, n := range g.Node {
		all = append(all, n.OpType)
	}
	return strings.Join(all, " "), err
}

// Operations become operators. An output is always a node's of its own.
func TestRecordedOperators(t *testing.T) {
	for _, c := range []struct {
		name, want string
		build      func(x *graph.Node) *graph.Node
	}{
		{"input", "Identity", func(x *graph.Node) *graph.Node { return x }},
		{"slice of all", "Identity", func(x *graph.Node) *graph.Node { return graph.Slice(x, graph.AxisRange(), graph.AxisRange(0, 3)) }},
		{"slice", "Slice", func(x *graph.Node) *graph.Node { return graph.Slice(x, graph.AxisRange(), graph.AxisRange(1, 3)) }},
		{"sum", "ReduceSum", func(x *graph.Node) *graph.Node { return graph.ReduceSum(x, -1) }},
		{"not equal", "Equal Not", func(x *graph.Node) *graph.Node { return graph.NotEqual(x, x) }},
		{"cosine", "Cos", graph.Cos},
		{"cosine of float64", "Cast Add Sin", func(x *graph.Node) *graph.Node { return graph.Cos(double(x)) }},
	} {
		if got, err := recordedOperators(t, c.build); err != nil || got != c.want {
			t.Errorf("%s became %q, want %q; %v", c.name, got, c.want, err)
		}
	}
}

// An operation that the recorder lacks fails the export, with its name.
func TestUnknownOperation(t *testing.T) {
	if got, err := recordedOperators(t, graph.Erf); err == nil || !strings.Contains(err.Error(), "Erf") {
		t.Errorf("became %q, %v", got, err)
	}
}
