package onnx

import (
	onnx "github.com/gomlx/compute-onnx/support/protos"
)

// products are the sums of products that MatMul does too, if the axes of their second factor are put into this order; nil
// leaves them as they are.
func products() map[string][]int64 {
	return map[string][]int64{
		"abc,acd->abd":  nil,
		"abc,cd->abd":   nil,
		"abcd,de->abce": nil,
		"abc,cad->abd":  {1, 0, 2},
	}
}

// withoutEinsum writes these products as MatMul: ONNX Runtime's Einsum divides by the size of a batch axis, and takes the whole
// process down when a call has no rows. Other programs are quicker at MatMul, or know nothing else.
func withoutEinsum(nodes []*onnx.NodeProto) []*onnx.NodeProto {
	known := products()
	var all []*onnx.NodeProto
	for _, n := range nodes {
		order, plain := known[equation(n)]
		if !plain {
			all = append(all, n)
			continue
		}
		second := n.Input[1]
		if order != nil {
			turned := n.Output[0] + "_turned"
			all = append(all, &onnx.NodeProto{
				OpType: "Transpose", Input: []string{second}, Output: []string{turned},
				Attribute: []*onnx.AttributeProto{{Name: "perm", Type: onnx.AttributeProto_INTS, Ints: order}},
			})
			second = turned
		}
		all = append(all, &onnx.NodeProto{OpType: "MatMul", Input: []string{n.Input[0], second}, Output: n.Output})
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
