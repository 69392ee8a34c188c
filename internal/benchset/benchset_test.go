package benchset

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/table"
)

// load skips the test where the data are absent.
func load(t *testing.T, name string) *Set {
	t.Helper()
	set, err := Load(name)
	if errors.Is(err, ErrAbsent) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// cell is one whose treatment the set's recipe decides.
type cell struct {
	row    int
	column string
	text   string // empty is missing
}

// TestSets checks every set against what is known of it.
func TestSets(t *testing.T) {
	for _, want := range []struct {
		name       string
		task       Task
		rows       int
		inputs     int
		categories int
		missing    int            // cells
		classes    map[string]int // rows of each
		cells      []cell
	}{
		{
			name: "california", task: Regression, rows: 20_640, inputs: 8,
			cells: []cell{{0, "target", "4.526"}},
		},
		{
			name: "bike", task: Regression, rows: 17_379, inputs: 12,
			cells: []cell{{1, "target", "40"}, {0, "atemp", "0.2879"}},
		},
		{
			name: "med", task: Regression, rows: 1_338, inputs: 6, categories: 3,
			cells: []cell{{0, "target", "1.6884924"}, {0, "smoker", "yes"}},
		},
		{
			name: "pksn", task: Regression, rows: 5_875, inputs: 19,
			cells: []cell{{0, "target", "28.199"}, {0, "Jitter(Abs)", "0.0000338"}},
		},
		{
			name: "casp", task: Regression, rows: 45_730, inputs: 9,
			cells: []cell{{0, "target", "17.284"}},
		},
		{
			name: "gas", task: Regression, rows: 2_565, inputs: 128,
			cells: []cell{{0, "x0", "-44915"}},
		},
		{
			name: "adult", task: Binary, rows: 48_842, inputs: 12, categories: 7, missing: 6_465,
			classes: map[string]int{"c0": 37_155, "c1": 11_687},
			cells: []cell{
				{0, "workclass", "State-gov"}, {27, "workclass", ""}, {27, "target", "c1"}, {32_561, "age", "25"},
			},
		},
		{
			name: "fico", task: Binary, rows: 9_871, inputs: 23, missing: 12_643,
			classes: map[string]int{"c0": 4_735, "c1": 5_136},
			cells:   []cell{{0, "NetFractionInstallBurden", ""}, {0, "NetFractionRevolvingBurden", "33"}},
		},
		{
			name: "spam", task: Binary, rows: 4_601, inputs: 57,
			classes: map[string]int{"c0": 2_788, "c1": 1_813},
		},
		{
			name: "support2", task: Binary, rows: 9_105, inputs: 27, categories: 6, missing: 29_239,
			classes: map[string]int{"c0": 6_745, "c1": 2_360},
			cells:   []cell{{0, "income", "$11-$25k"}, {0, "glucose", ""}},
		},
		{
			name: "physionet2012", task: Binary, rows: 8_000, inputs: 116, missing: 235_286,
			classes: map[string]int{"c0": 6_878, "c1": 1_122},
			cells:   []cell{{0, "SAPS-I", "6"}, {0, "Height", ""}},
		},
		{
			name: "german", task: Binary, rows: 1_000, inputs: 20, categories: 13,
			classes: map[string]int{"c0": 700, "c1": 300},
			cells:   []cell{{0, "x0", "A11"}, {1, "target", "c1"}},
		},
		{
			name: "wdbc", task: Binary, rows: 569, inputs: 30,
			classes: map[string]int{"c0": 357, "c1": 212},
		},
		{
			name: "dry_bean", task: Multiclass, rows: 13_611, inputs: 16,
			classes: map[string]int{
				"c0": 1_322, "c1": 522, "c2": 1_630, "c3": 3_546, "c4": 1_928, "c5": 2_027, "c6": 2_636,
			},
			cells: []cell{{0, "target", "c5"}},
		},
		{
			name: "pksn-paper", task: Regression, rows: 5_875, inputs: 20,
			cells: []cell{{0, "x0", "-20.494"}},
		},
		{
			name: "pksn-motor-paper", task: Regression, rows: 5_875, inputs: 20,
			cells: []cell{{0, "subject#", "1"}, {0, "age", "72"}},
		},
		{
			name: "bike-paper", task: Regression, rows: 17_379, inputs: 17,
			cells: []cell{{0, "target", "1.3855"}, {0, "x16", "139.21"}},
		},
		{
			name: "fico-paper", task: Binary, rows: 9_861, inputs: 22,
			classes: map[string]int{"c0": 5_128, "c1": 4_733},
			cells:   []cell{{0, "NetFractionInstallBurden", "74"}, {0, "target", "c0"}},
		},
		{
			name: "fico-bad-paper", task: Binary, rows: 9_861, inputs: 22,
			classes: map[string]int{"c0": 4_733, "c1": 5_128},
			cells:   []cell{{0, "target", "c1"}},
		},
		{
			name: "cens-paper", task: Binary, rows: 32_561, inputs: 14, categories: 8, missing: 4_262,
			classes: map[string]int{"c0": 24_720, "c1": 7_841},
		},
		{
			name: "cens-all-paper", task: Binary, rows: 48_842, inputs: 14, categories: 8, missing: 6_465,
			classes: map[string]int{"c0": 37_155, "c1": 11_687},
		},
	} {
		t.Run(want.name, func(t *testing.T) {
			set := load(t, want.name)
			if set.Name != want.name || set.Task != want.task || set.Target != Target {
				t.Errorf("set %s, %s, target %s", set.Name, set.Task, set.Target)
			}
			inputs := set.Table.Columns[:len(set.Table.Columns)-1]
			target := set.Table.Columns[len(inputs)]
			if set.Table.Rows() != want.rows || len(inputs) != want.inputs {
				t.Errorf("%d rows × %d inputs, want %d × %d", set.Table.Rows(), len(inputs), want.rows, want.inputs)
			}
			var categories, missing int
			for _, c := range inputs {
				if c.Kind == table.Category {
					categories++
				}
				missing += count(c.Observed, false)
			}
			if categories != want.categories {
				t.Errorf("%d categories, want %d", categories, want.categories)
			}
			if missing != want.missing {
				t.Errorf("%d missing cells, want %d", missing, want.missing)
			}
			if target.Name != Target {
				t.Errorf("the last column is %q, not the target", target.Name)
			}
			for class, rows := range want.classes {
				if got := countLabel(target, class); got != rows {
					t.Errorf("%d rows of class %s, want %d", got, class, rows)
				}
			}
			for _, cell := range want.cells {
				checkCell(t, set.Table, cell)
			}
		})
	}
}

func checkCell(t *testing.T, tab *table.Table, want cell) {
	t.Helper()
	c := tab.Column(want.column)
	if c == nil {
		t.Errorf("no column %s", want.column)
		return
	}
	if got := c.Text(want.row); got != want.text || c.Observed[want.row] != (want.text != "") {
		t.Errorf("row %d: %s = %q, want %q", want.row, want.column, got, want.text)
	}
}

func count(marks []bool, mark bool) (n int) {
	for _, m := range marks {
		if m == mark {
			n++
		}
	}
	return n
}

func countLabel(c *table.Column, label string) (n int) {
	for row := range c.Len() {
		if c.Text(row) == label {
			n++
		}
	}
	return n
}

func TestLoadRefuses(t *testing.T) {
	if _, err := Load("iris"); err == nil || errors.Is(err, ErrAbsent) || !strings.Contains(err.Error(), "california") {
		t.Errorf("unknown name: error %v does not list the known ones", err)
	}
	t.Setenv("PSI_DATA", t.TempDir())
	for _, name := range append(Names(), PaperNames()...) {
		if _, err := Load(name); !errors.Is(err, ErrAbsent) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s without data: error %v", name, err)
		}
	}
}

func TestModuleRootIsFoundFromBelow(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("..")
	if above, err := moduleRoot(); err != nil || above != root {
		t.Errorf("root %q, %v; from the package %q", above, err, root)
	}
	t.Chdir(t.TempDir())
	if _, err := moduleRoot(); !errors.Is(err, ErrAbsent) {
		t.Errorf("outside the module: error %v", err)
	}
}

func TestNamesAreDistinct(t *testing.T) {
	names := Names()
	slices.Sort(names)
	if len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("a name is used twice: %v", names)
	}
}

// TestPreparationRefuses feeds a recipe files it was not written for: each must be named, not read as something else.
func TestPreparationRefuses(t *testing.T) {
	r := recipe{
		name: "made up", task: Binary, files: []file{{path: "a.csv"}},
		target: "y", classes: map[string]string{"no": "c0", "yes": "c1"}, categories: []string{"colour"},
	}
	for want, text := range map[string]string{
		`column "y": the column is declared`:  "x,colour\n1,red\n",
		`row 1: the target "y" is missing`:    "x,colour,y\n1,red,no\n2,red,\n",
		`column "x" should hold numbers`:      "x,colour,y\n1,red,no\nlow,red,yes\n",
		`row 0: no class for "maybe" in the`:  "x,colour,y\n1,red,maybe\n",
		`column "colour": the column is decl`: "x,y\n1,no\n",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.csv"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := r.load(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one that says %s", text, err, want)
		}
	}
}

func TestFoldsOfFirstRows(t *testing.T) {
	want := []int{0, 0, 3, 3, 3, 2, 2, 2, 3, 1, 3, 3}
	for row, want := range want {
		if got, _ := part(row); got != want {
			t.Errorf("row %d is tested by fold %d, want %d", row, got, want)
		}
	}
}

func numbered(t *testing.T, rows int) *Set {
	t.Helper()
	tab, err := table.New(table.NumberColumn(Target, make([]float64, rows), nil))
	if err != nil {
		t.Fatal(err)
	}
	return &Set{Table: tab, Target: Target}
}

func TestFoldsPartitionRows(t *testing.T) {
	const rows = 10_000
	set := numbered(t, rows)
	tested := make([]int, rows)
	for k := range Folds {
		train, validation, test := set.Fold(k)
		for _, row := range test {
			tested[row]++
		}
		for name, part := range map[string]struct {
			rows  []int
			share float64
		}{
			"train": {train, 0.72}, "validation": {validation, 0.08}, "test": {test, 0.2},
		} {
			if !slices.IsSorted(part.rows) {
				t.Errorf("fold %d: %s is not in row order", k, name)
			}
			if share := float64(len(part.rows)) / rows; math.Abs(share-part.share) > 0.02 {
				t.Errorf("fold %d: %s has %.3f of the rows, want %.2f", k, name, share, part.share)
			}
		}
		all := slices.Sorted(slices.Values(slices.Concat(train, validation, test)))
		if len(all) != rows || len(slices.Compact(all)) != rows {
			t.Errorf("fold %d: the parts do not partition the rows", k)
		}
	}
	if slices.Max(tested) != 1 || slices.Min(tested) != 1 {
		t.Error("not every row is tested once")
	}
}

func TestFoldOutOfRangePanics(t *testing.T) {
	set := numbered(t, 10)
	for _, k := range []int{-1, Folds} {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Errorf("fold %d: no panic", k)
				}
			}()
			set.Fold(k)
		})
	}
}
