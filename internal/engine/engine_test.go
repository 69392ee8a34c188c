package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

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
