// Package engine selects and configures a tensor backend, and turns the engine's panics into errors.
//
// "go", in pure Go, is in every program. "onnx" and "xla" are compiled in by the build tags of those names. Nothing is
// downloaded at run time.
package engine

import (
	"fmt"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/gobackend"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
)

// Backend runs graphs. The zero value is not usable; see Open.
type Backend struct {
	compute.Backend
	name string
}

// Name returns the name of the backend: "go", "onnx" or "xla".
func (b *Backend) Name() string { return b.name }

// RowsAtATime returns the block size of the backend's matrix products, in rows. In passes of a multiple of it, all rows
// are computed identically, to the bit. 0 means unknown.
func (b *Backend) RowsAtATime() int {
	switch b.name {
	case "onnx":
		return 4
	case "go":
		return 6
	}
	return 0
}

// opener is a known backend. open is nil if it is not compiled in.
type opener struct {
	name  string
	open  func() (compute.Backend, error)
	build string // command that builds a program with the backend
}

// openers returns the known backends. The first is the default.
func openers() []opener {
	return []opener{
		{"go", openGo, ""},
		{"onnx", openONNX, "make psi-onnx"},
		{"xla", openXLA, "go build -tags xla ./cmd/psi"},
	}
}

// AbsentError reports that a backend is not compiled into this program.
type AbsentError struct{ Name, Build string }

func (e *AbsentError) Error() string {
	return fmt.Sprintf("%s: this program was built without it; build one that has it: %s", e.Name, e.Build)
}

// Names returns the known backends, the default first.
func Names() []string {
	all := openers()
	names := make([]string, len(all))
	for i, o := range all {
		names[i] = o.name
	}
	return names
}

// Open returns the named backend. "auto" (or "") means "go". why explains the choice. The error is an *AbsentError if
// the backend is not compiled into this program.
func Open(name string) (b *Backend, why string, err error) {
	all := openers()
	if name == "" || name == "auto" {
		b, err = all[0].try()
		return b, all[0].name + ": the default", err
	}
	for _, o := range all {
		if o.name == name {
			b, err = o.try()
			return b, name + ": asked for", err
		}
	}
	return nil, "", fmt.Errorf("unknown backend %q: choose auto, %s", name, strings.Join(Names(), ", "))
}

func (o opener) try() (*Backend, error) {
	if o.open == nil {
		return nil, &AbsentError{o.name, o.build}
	}
	var impl compute.Backend
	err := Catch(func() (err error) {
		impl, err = o.open()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.name, err)
	}
	return &Backend{Backend: impl, name: o.name}, nil
}

// openGo opens the pure Go backend. Its default parallel mode deadlocks, so its operations run one after the other.
func openGo() (compute.Backend, error) { return gobackend.New("ops_sequential") }

// Catch runs f and returns its error, or its panic as an error. GoMLX panics while it builds graphs.
func Catch(f func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case error:
			err = fmt.Errorf("tensor engine: %w", p)
		default:
			err = fmt.Errorf("tensor engine: %v", p)
		}
	}()
	return f()
}

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
