//go:build onnx

package engine

import (
	"errors"

	onnxbackend "github.com/gomlx/compute-onnx"
	onnx "github.com/gomlx/compute-onnx/support/protos"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
)

// ONNXModel is the graph of build for inputs of the given shapes, which may be dynamic, as ONNX Runtime is given it. The
// variables of the store are constants in it.
func ONNXModel(store *model.Store, inputs []shapes.Shape, build func(in []*graph.Node) []*graph.Node) (*onnx.ModelProto, error) {
	b, _, err := Open("onnx")
	if err != nil {
		return nil, err
	}
	var made *onnx.ModelProto
	err = Catch(func() error {
		b.Backend.(*onnxbackend.Backend).SetKeepModelProto(true)
		store.WithVariableAsConst(true)
		exec, err := model.NewExec(b.Backend, store, func(_ *model.Scope, in []*graph.Node) []*graph.Node { return build(in) })
		if err != nil {
			return err
		}
		defer exec.Finalize()
		g, err := exec.Compile(inputs...)
		if err != nil {
			return err
		}
		if made = g.Executable().(*onnxbackend.Executable).ModelProto(); made == nil {
			return errors.New("the backend kept no model")
		}
		return nil
	})
	return made, err
}
