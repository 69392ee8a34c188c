package psi_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/psi-shapley/psi"
)

// The product form trains without an engine unless one is named. Other forms need one.
func TestBackendOfATraining(t *testing.T) {
	rows := gappy(t, 60)
	form := func(change func(s *psi.Settings)) func(s *psi.Settings) {
		return func(s *psi.Settings) {
			few(s)
			s.Steps, s.SpreadSteps, s.RefitSteps, s.PolishSteps = 2, 2, 2, 2
			if change != nil {
				change(s)
			}
		}
	}
	tensorTrain := func(s *psi.Settings) { s.Form = "tensor-train" }
	for _, c := range []struct {
		name    string
		backend psi.Backend
		change  func(s *psi.Settings)
		native  bool
	}{
		{"product", "auto", nil, true},
		{"product", "", nil, true},
		{"product", psi.Native, nil, true},
		{"product", "go", nil, false},
		{"tensor-train", "auto", tensorTrain, false},
		{"learned", "auto", func(s *psi.Settings) { s.Head = "learned" }, false},
	} {
		from := trained(t, rows, psi.Config{Backend: c.backend, Change: form(c.change)}).Manifest().Provenance
		if native := from.Backend == psi.Native; native != c.native || native != (from.CPU != "") || from.Threads != 0 {
			t.Errorf("%s on %q was trained by %q with %q instructions on %d threads", c.name, c.backend, from.Backend, from.CPU, from.Threads)
		}
	}
	_, err := psi.Train(t.Context(), rows.Source(), psi.Config{Target: "y", Backend: psi.Native, Change: form(tensorTrain)})
	if e, ok := errors.AsType[*psi.Error](err); !ok || !errors.Is(err, psi.ErrBackend) || e.Remedy != "leave Config.Backend out" {
		t.Errorf("a tensor-train on the native backend: %v", err)
	}
}

// The paper's bound trains σ along with the mean, which only the engines do.
func TestBoundNeedsAnEngine(t *testing.T) {
	rows := gappy(t, 60)
	for i, v := range rows.Column("y").Numbers {
		rows.Column("y").Numbers[i] = 0
		if v > 0 {
			rows.Column("y").Numbers[i] = 1
		}
	}
	bound := func(s *psi.Settings) {
		few(s)
		s.Steps, s.Likelihood = 2, "bound"
	}
	m := trained(t, rows, psi.Config{Task: psi.Binary, Change: bound})
	if from := m.Manifest().Provenance; from.Backend == psi.Native {
		t.Error("the bound was trained natively")
	}
	_, err := psi.Train(t.Context(), rows.Source(), psi.Config{Target: "y", Task: psi.Binary, Backend: psi.Native, Change: bound})
	if e, ok := errors.AsType[*psi.Error](err); !ok || !errors.Is(err, psi.ErrBackend) || e.Remedy != "leave Config.Backend out" {
		t.Errorf("the bound on the native backend: %v", err)
	}
}

// A checkpoint of another backend is refused, with what to do.
func TestCheckpointNamesItsBackend(t *testing.T) {
	rows := gappy(t, 60)
	path := filepath.Join(t.TempDir(), "m.checkpoint")
	trained(t, rows, psi.Config{Checkpoint: path, SaveEvery: 1})
	_, err := psi.Train(t.Context(), rows.Source(), psi.Config{Target: "y", Change: few, Backend: "go", Checkpoint: path, Resume: true})
	if err == nil || !strings.Contains(err.Error(), "backend native") || !strings.Contains(err.Error(), "Config.Backend=native") {
		t.Errorf("a native checkpoint was resumed by an engine: %v", err)
	}
}
