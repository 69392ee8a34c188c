//go:build !onnx

package engine

import (
	"github.com/gomlx/compute"
	onnx "github.com/gomlx/compute-onnx/support/protos"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
)

var openONNX func() (compute.Backend, error)

func onnxLibrary() string { return "" }

// ONNXModel is the graph of build as ONNX Runtime is given it. Its backend is not compiled in.
func ONNXModel(*model.Store, []shapes.Shape, func(in []*graph.Node) []*graph.Node) (*onnx.ModelProto, error) {
	_, _, err := Open("onnx")
	return nil, err
}
