// Package engine picks and configures a tensor backend, and is the border where
// the engine's panics become errors.
//
// "go", in pure Go, is in every program. "onnx" and "xla" are compiled in by the build
// tags of those names. Nothing is ever downloaded at run time.
package engine

import (
	"fmt"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/gobackend"
)

// Backend runs graphs. The zero value is not usable; see Open.
type Backend struct {
	compute.Backend
	name string
}

// Name is the name the backend was opened by: "go", "onnx" or "xla".
func (b *Backend) Name() string { return b.name }

// RowsAtATime is how many rows the backend's matrix products take at a time: rows of
// passes that are multiples of it are all treated alike, to the bit. 0 means not known.
func (b *Backend) RowsAtATime() int {
	switch b.name {
	case "onnx":
		return 4
	case "go":
		return 6
	}
	return 0
}

// opener is one way to get a backend. open is nil if it is not compiled in.
type opener struct {
	name  string
	open  func() (compute.Backend, error)
	build string // the command that builds a program with the backend
}

// openers are the known backends. The first is the default.
func openers() []opener {
	return []opener{
		{"go", openGo, ""},
		{"onnx", openONNX, "make psi-onnx"},
		{"xla", openXLA, "go build -tags xla ./cmd/psi"},
	}
}

// AbsentError says that a backend is not part of this program.
type AbsentError struct{ Name, Build string }

func (e *AbsentError) Error() string {
	return fmt.Sprintf("%s: this program was built without it; build one that has it: %s", e.Name, e.Build)
}

// Names lists the backends that can be asked for, the default first.
func Names() []string {
	all := openers()
	names := make([]string, len(all))
	for i, o := range all {
		names[i] = o.name
	}
	return names
}

// Open returns the named backend. "auto" (or "") is "go". why says how the backend was chosen.
// The error is an *AbsentError if the backend is not part of this program.
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

// openGo opens the pure Go backend. Its default parallel mode deadlocks, so its
// operations run one after the other.
func openGo() (compute.Backend, error) { return gobackend.New("ops_sequential") }

// Catch runs f and returns its error, or the panic it ended in as an error.
// GoMLX panics while it builds graphs.
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
