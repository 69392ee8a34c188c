package batch

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Asking about a job that is not there, or planning one of tables that are not there, leaves no directory behind.
func TestNothingIsLeftBehind(t *testing.T) {
	s := newScene(t, 1)
	none := filepath.Join(t.TempDir(), "none")
	if _, err := (&Runner{Out: none}).Status(t.Context()); !errors.Is(err, ErrNoBatch) {
		t.Errorf("looked at: %v", err)
	}
	if _, err := Open(t.Context(), none, Queue{}); !errors.Is(err, ErrNoBatch) {
		t.Errorf("asked for its queue: %v", err)
	}
	if _, _, err := (&Runner{Out: none, Queue: s.at()}).Submit(t.Context()); !errors.Is(err, ErrNoBatch) {
		t.Errorf("submitted: %v", err)
	}
	if _, err := (&Runner{Out: none}).Run(t.Context(), Local{}); !errors.Is(err, ErrNoBatch) {
		t.Errorf("run: %v", err)
	}
	wrong := s.request()
	wrong.In = filepath.Join(s.in, "absent")
	if _, _, err := (&Runner{Out: none}).Plan(t.Context(), wrong); err == nil {
		t.Error("tables that are not there were planned")
	}
	if _, err := os.Stat(none); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is there: %v", none, err)
	}
}

// The results of another program are kept, unless their loss is asked for; those of a batch are not in its way.
func TestForeignResultsAreKept(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  error
	}{
		"success of Spark":    {map[string]string{successKey: ""}, ErrForeign},
		"some other summary":  {map[string]string{SummaryKey: `{"rows": 3}`}, ErrForeign},
		"no JSON":             {map[string]string{SummaryKey: "rows"}, ErrForeign},
		"a batch without job": {map[string]string{successKey: "", SummaryKey: `{"schema":"` + summarySchema + `","plan":{}}`}, nil},
		"other files":         {map[string]string{"notes.txt": "mine"}, nil},
	} {
		s := newScene(t, 1)
		if err := os.Mkdir(s.out, 0o755); err != nil {
			t.Fatal(err)
		}
		for file, content := range c.files {
			if err := os.WriteFile(filepath.Join(s.out, file), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r := s.request()
		if _, _, err := s.job().Plan(t.Context(), r); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		r.Force = true
		if _, _, err := s.job().Plan(t.Context(), r); err != nil {
			t.Errorf("%s, forced: %v", name, err)
		}
	}
}

// Tables are not explained into their own directory.
func TestPlanIntoItsInput(t *testing.T) {
	s := newScene(t, 1)
	for _, out := range []string{s.in, filepath.Join(s.in, "out"), filepath.Dir(s.in)} {
		r := s.request()
		r.Force = true
		if _, _, err := (&Runner{Out: out}).Plan(t.Context(), r); !errors.Is(err, ErrOverlap) {
			t.Errorf("into %s: %v", out, err)
		}
	}
	if entries, err := os.ReadDir(s.in); err != nil || len(entries) != 1 {
		t.Errorf("%d files lie in the input, %v", len(entries), err)
	}
}
