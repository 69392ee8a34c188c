package onnx

import (
	onnx "github.com/gomlx/compute-onnx/support/protos"
)

// perRow is a product for each row a, whose factor comes with another axis first.
const perRow = "abc,cad->abd"

// withoutRowEinsum writes products for each row as MatMul: ONNX Runtime's Einsum divides by the size of their axis, and takes the
// whole process down when a call has no rows.
func withoutRowEinsum(nodes []*onnx.NodeProto) []*onnx.NodeProto {
	var all []*onnx.NodeProto
	for _, n := range nodes {
		if equation(n) != perRow {
			all = append(all, n)
			continue
		}
		turned := n.Output[0] + "_turned"
		all = append(all,
			&onnx.NodeProto{
				OpType: "Transpose", Input: n.Input[1:], Output: []string{turned},
				Attribute: []*onnx.AttributeProto{{Name: "perm", Type: onnx.AttributeProto_INTS, Ints: []int64{1, 0, 2}}},
			},
			&onnx.NodeProto{OpType: "MatMul", Input: []string{n.Input[0], turned}, Output: n.Output})
	}
	return all
}

// equation of an Einsum; "" of another operator.
func equation(n *onnx.NodeProto) string {
	if n.OpType != "Einsum" {
		return ""
	}
	for _, a := range n.Attribute {
		if a.Name == "equation" {
			return string(a.S)
		}
	}
	return ""
}
