// Package engine picks and configures a tensor backend, and is the border where
// the engine's panics become errors.
//
// Backends are compiled in by build tag: "go" (pure Go) always, "onnx" with
// -tags onnx, "xla" with -tags xla. Nothing is ever downloaded at run time.
package engine

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/gobackend"
)

// Backend runs graphs. The zero value is not usable; see Open.
type Backend struct {
	compute.Backend
	name    string
	threads int // of each function, if that was chosen and can be; else 0
}

// Name is the name the backend was opened by: "xla", "onnx" or "go".
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
	name string
	open func() (compute.Backend, error)
	tag  string
}

// openers are the known backends, fastest first: the order in which Open tries them.
func openers() []opener {
	return []opener{
		{"xla", openXLA, "xla"},
		{"onnx", openONNX, "onnx"},
		{"go", openGo, ""},
	}
}

// Names lists the backends that can be asked for, fastest first.
func Names() []string {
	all := openers()
	names := make([]string, len(all))
	for i, o := range all {
		names[i] = o.name
	}
	return names
}

// Open returns the named backend. With "auto" (or "") it is the first of Names
// that works, and why tells which was taken and what kept the faster ones out.
func Open(name string) (b *Backend, why string, err error) {
	if name == "" || name == "auto" {
		var refused []string
		for _, o := range openers() {
			if b, err = o.try(); err == nil {
				return b, strings.Join(append(refused, o.name+": taken"), "; "), nil
			}
			refused = append(refused, err.Error())
		}
		return nil, "", errors.New("no tensor backend works: " + strings.Join(refused, "; "))
	}
	for _, o := range openers() {
		if o.name == name {
			b, err = o.try()
			return b, name + ": asked for", err
		}
	}
	return nil, "", fmt.Errorf("unknown backend %q: choose auto, %s", name, strings.Join(Names(), ", "))
}

// WithThreads is the backend for functions that are to use that many threads, if it lets itself be told.
func (b *Backend) WithThreads(threads int) *Backend {
	limited := *b
	if b.name == "onnx" && limitThreads(onnxLibrary()) {
		limited.threads = threads
	}
	return &limited
}

func (o opener) try() (*Backend, error) {
	if o.open == nil {
		return nil, fmt.Errorf("%s: not compiled in (build with -tags %s)", o.name, o.tag)
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
