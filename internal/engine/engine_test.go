package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/internal/engine"
)

func TestNames(t *testing.T) {
	if got, want := engine.Names(), []string{"xla", "onnx", "go"}; !slices.Equal(got, want) {
		t.Errorf("names %v, want %v: the fastest first", got, want)
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

// auto takes the first backend that opens, and says why not one before it.
func TestOpenAuto(t *testing.T) {
	for _, name := range []string{"auto", ""} {
		b, why, err := engine.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(why)
		reasons := strings.Split(why, "; ")
		for i, candidate := range engine.Names() {
			if candidate == b.Name() {
				if want := candidate + ": taken"; reasons[len(reasons)-1] != want {
					t.Errorf("%q does not end in %q", why, want)
				}
				break
			}
			if !strings.HasPrefix(reasons[i], candidate+": ") {
				t.Errorf("%q does not say what is wrong with %s", why, candidate)
			}
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
