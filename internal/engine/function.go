package engine

import (
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
)

// Function is a graph over the variables of a store, compiled at its first call for each shape of its inputs. A backend
// keeps at most 32 shapes, so callers pad batches to a few sizes.
type Function struct {
	exec *model.Exec
}

// Mode is how a Function reads the store's variables.
type Mode bool

const (
	// Live graphs read every variable at every call, so they see later changes.
	Live Mode = true
	// Final graphs may have non-trainable variables compiled in: they are faster, but silently ignore later changes of
	// such a variable.
	Final Mode = false
)

// Compile returns a Function of build, which returns the outputs for the inputs and may set variables of the store.
func (b *Backend) Compile(store *model.Store, mode Mode, build func(s *model.Scope, in []*graph.Node) []*graph.Node) (*Function, error) {
	var f Function
	err := Catch(func() (err error) {
		f.exec, err = model.NewExec(b.Backend, store, func(s *model.Scope, in []*graph.Node) []*graph.Node {
			store.SetTraining(in[0].Graph(), bool(mode))
			return build(s, in)
		})
		return err
	})
	return &f, err
}

// Call runs the function and returns its flat outputs. It consumes the inputs: their memory is outside Go's heap and is
// freed at once.
func (f *Function) Call(in ...*tensors.Tensor) (out [][]float32, err error) {
	args := make([]any, len(in))
	for i, t := range in {
		args[i] = t
	}
	err = Catch(func() error {
		results, err := f.exec.Call(args...)
		if err != nil {
			return err
		}
		for _, r := range results {
			flat, err := tensors.CopyFlatData[float32](r)
			if err != nil {
				return err
			}
			out = append(out, flat)
			r.MustFinalizeAll()
		}
		for _, t := range in {
			t.MustFinalizeAll()
		}
		return nil
	})
	return out, err
}

// Close frees the compiled graphs.
func (f *Function) Close() { f.exec.Finalize() }

// Tensor copies data into a tensor of the given dimensions.
func Tensor[T float32 | int32](data []T, dims ...int) *tensors.Tensor {
	return tensors.FromFlatDataAndDimensions(data, dims...)
}
