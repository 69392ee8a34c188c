package psi_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/artifact"
)

// A model says what a program must have to read it, and one that needs more is refused by name.
func TestFeaturesThatAreRequired(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.psi")
	if err := trained(t, gappy(t, 100), psi.Config{}).Save(path); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := artifact.Read(content, artifact.Model)
	if err != nil || !slices.Equal(file.Requires, []string{"product", "ranges"}) {
		t.Fatalf("requires %q, %v", file.Requires, err)
	}
	file.Requires = append(file.Requires, "time travel")
	if _, err := artifact.WriteFile(path, file); err != nil {
		t.Fatal(err)
	}
	if _, err = psi.Open(path); !errors.Is(err, psi.ErrNewer) || !strings.Contains(err.Error(), `m.psi: the model requires "time travel", which this program does not have; update psi`) {
		t.Errorf("%v", err)
	}
}
