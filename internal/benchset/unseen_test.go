package benchset

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/table"
)

func writeUnseen(t *testing.T, name, text string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("PSI_DATA", dir)
	path := filepath.Join(dir, "unseen", name+".csv")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestUnseenSetsAreRead(t *testing.T) {
	for name, want := range map[string]struct {
		text       string
		task       Task
		categories int
		last       cell
	}{
		"diabetes": {"age,target\n59,151\n48,75.5\n", Regression, 0, cell{1, Target, "75.5"}},
		"diamonds": {"carat,cut,color,clarity,target\n.2,Ideal,E,SI2,326\n", Regression, 3, cell{0, "cut", "Ideal"}},
		"fair":     {"age,occupation,occupation_husb,target\n22,2,5,c1\n37,3,4,c0\n", Binary, 2, cell{1, Target, "c0"}},
		"digits":   {"x0,target\n1,c9\n2,c0\n", Multiclass, 0, cell{0, Target, "c9"}},
	} {
		t.Run(name, func(t *testing.T) {
			writeUnseen(t, name, want.text)
			set := load(t, name)
			if set.Task != want.task || set.Target != Target {
				t.Errorf("task %s, target %s", set.Task, set.Target)
			}
			var categories int
			for _, c := range set.Table.Columns[:len(set.Table.Columns)-1] {
				if c.Kind == table.Category {
					categories++
				}
			}
			if categories != want.categories {
				t.Errorf("%d categories, want %d", categories, want.categories)
			}
			checkCell(t, set.Table, want.last)
		})
	}
}

func TestUnseenSetsRefuse(t *testing.T) {
	writeUnseen(t, "wine", "x0,target\n1,c3\n")
	if _, err := Load("wine"); err == nil || !strings.Contains(err.Error(), `no class for "c3"`) {
		t.Errorf("a fourth class of three: error %v", err)
	}
	if _, err := Load("digits"); !errors.Is(err, ErrAbsent) {
		t.Errorf("no file: error %v", err)
	}
}

func TestUnseenNamesAreNoOthers(t *testing.T) {
	all := slices.Concat(Names(), PaperNames(), UnseenNames())
	slices.Sort(all)
	if len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Errorf("a name is used twice: %v", all)
	}
}
