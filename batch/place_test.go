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
	if _, err := Look(t.Context(), nil, none); !errors.Is(err, ErrNoBatch) {
		t.Errorf("looked at: %v", err)
	}
	if _, err := QueueOf(t.Context(), none); !errors.Is(err, ErrNoBatch) {
		t.Errorf("asked for its queue: %v", err)
	}
	if _, _, err := Submit(t.Context(), s.at(), none); !errors.Is(err, ErrNoBatch) {
		t.Errorf("submitted: %v", err)
	}
	wrong := s.request()
	wrong.In, wrong.Out = filepath.Join(s.in, "absent"), none
	if _, _, err := Plan(t.Context(), wrong); err == nil {
		t.Error("tables that are not there were planned")
	}
	if _, err := os.Stat(none); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is there: %v", none, err)
	}
}
