package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/psi-shapley/psi/internal/engine"
)

func TestNames(t *testing.T) {
	if got, want := engine.Names(), []string{"go", "onnx", "xla"}; !slices.Equal(got, want) {
		t.Errorf("names %v, want %v: the default first", got, want)
	}
}

func TestOpenUnknownNameListsTheKnown(t *testing.T) {
	_, _, err := engine.Open("abacus")
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range append(engine.Names(), "abacus", "auto") {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not name %s", err, want)
		}
	}
}

// A backend either opens under its name or says what keeps it out; pure Go opens always.
func TestOpenByName(t *testing.T) {
	for _, name := range engine.Names() {
		t.Run(name, func(t *testing.T) {
			b, _, err := engine.Open(name)
			switch {
			case err == nil && b.Name() != name:
				t.Errorf("got %s", b.Name())
			case err != nil && name == "go":
				t.Error(err)
			case err != nil && !strings.HasPrefix(err.Error(), name+": "):
				t.Errorf("error %q does not begin with the name", err)
			case err != nil:
				t.Skip(err)
			}
		})
	}
}

// auto is the backend in pure Go, whatever else is compiled in.
func TestOpenAuto(t *testing.T) {
	for _, name := range []string{"auto", ""} {
		b, why, err := engine.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if b.Name() != "go" || !strings.HasPrefix(why, "go: ") {
			t.Errorf("%q opened %s: %s", name, b.Name(), why)
		}
	}
}

func TestCatch(t *testing.T) {
	cause := errors.New("cause")
	if err := engine.Catch(func() error { return nil }); err != nil {
		t.Errorf("no error became %v", err)
	}
	if err := engine.Catch(func() error { return cause }); !errors.Is(err, cause) {
		t.Errorf("an error became %v", err)
	}
	if err := engine.Catch(func() error { panic(cause) }); !errors.Is(err, cause) {
		t.Errorf("a panic with an error became %v", err)
	}
	if err := engine.Catch(func() error { panic("text") }); err == nil || !strings.Contains(err.Error(), "text") {
		t.Errorf("a panic with a text became %v", err)
	}
	var none []int
	if err := engine.Catch(func() error { none[0]++; return nil }); err == nil {
		t.Error("a panic of the runtime became no error")
	}
}

func onEachBackend(t *testing.T, f func(t *testing.T, b *engine.Backend)) {
	t.Helper()
	for _, name := range engine.Names() {
		t.Run(name, func(t *testing.T) {
			b, _, err := engine.Open(name)
			if err != nil {
				t.Skipf("backend absent: %v", err)
			}
			f(t, b)
		})
	}
}

// newFunction compiles x ↦ weight · x for a weight that is not trained, and returns the
// weight too.
func newFunction(t *testing.T, b *engine.Backend, mode engine.Mode, weight float32) (*engine.Function, *model.Variable) {
	t.Helper()
	store := model.NewStore()
	variable := store.VariableWithValue("/weight", engine.Tensor([]float32{weight}))
	variable.SetTrainable(false)
	f, err := b.Compile(store, mode, func(_ *model.Scope, in []*graph.Node) []*graph.Node {
		return []*graph.Node{graph.Mul(in[0], variable.NodeValue(in[0]))}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f, variable
}

func call(t *testing.T, f *engine.Function, x ...float32) []float32 {
	t.Helper()
	out, err := f.Call(engine.Tensor(x, len(x)))
	if err != nil {
		t.Fatal(err)
	}
	return out[0]
}

func wantEqual(t *testing.T, got []float32, want ...float32) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestCallTakesEveryShape(t *testing.T) {
	onEachBackend(t, func(t *testing.T, b *engine.Backend) {
		f, _ := newFunction(t, b, engine.Final, 2)
		wantEqual(t, call(t, f, 1), 2)
		wantEqual(t, call(t, f, 1, 2, 3), 2, 4, 6)
		wantEqual(t, call(t, f, 4), 8)
	})
}

// A Live function reads a weight at every call, also one that is not trained. A Final
// one may have it compiled in, and then never sees it change: that it may not, here or
// on some backend, is nothing to rely on.
func TestLiveFunctionSeesVariablesChange(t *testing.T) {
	onEachBackend(t, func(t *testing.T, b *engine.Backend) {
		f, weight := newFunction(t, b, engine.Live, 2)
		wantEqual(t, call(t, f, 1, 2), 2, 4)
		if err := weight.SetValue(engine.Tensor([]float32{5})); err != nil {
			t.Fatal(err)
		}
		wantEqual(t, call(t, f, 1, 2), 5, 10)
	})
}

// A graph that cannot be built is an error of the call that needed it, not a panic.
func TestCallReturnsGraphErrors(t *testing.T) {
	onEachBackend(t, func(t *testing.T, b *engine.Backend) {
		f, err := b.Compile(model.NewStore(), engine.Live, func(_ *model.Scope, in []*graph.Node) []*graph.Node {
			return []*graph.Node{graph.Add(in[0], in[1])}
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(f.Close)
		if _, err := f.Call(engine.Tensor([]float32{1, 2}, 2), engine.Tensor([]float32{1, 2, 3}, 3)); err == nil {
			t.Error("no error")
		}
		out, err := f.Call(engine.Tensor([]float32{1, 2}, 2), engine.Tensor([]float32{3, 4}, 2))
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, out[0], 4, 6)
	})
}

// Callers pad their inputs to a few shapes, for a function takes no more than 32.
func TestTooManyShapesAreAnError(t *testing.T) {
	onEachBackend(t, func(t *testing.T, b *engine.Backend) {
		f, _ := newFunction(t, b, engine.Live, 2)
		for n := 1; n <= 32; n++ {
			call(t, f, make([]float32, n)...)
		}
		if _, err := f.Call(engine.Tensor(make([]float32, 33), 33)); err == nil {
			t.Error("no error at the 33rd shape")
		}
		wantEqual(t, call(t, f, 1), 2)
	})
}
