package dataset

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/train"
	"github.com/psi-shapley/psi/table"
)

type player = encode.Player

// classed is people with a target of classes instead of y, and y as an input.
func classed(t *testing.T, rows int, label func(row int) string) *table.Table {
	t.Helper()
	tab := people(t, rows)
	labels := make([]string, rows)
	for i := range labels {
		labels[i] = label(i)
	}
	tab.Columns = append(tab.Columns, table.CategoryColumn("class", labels, nil))
	return tab
}

func classOptions(t *testing.T) Options {
	t.Helper()
	o := usual(t)
	o.Target, o.Inputs = "class", []string{"y"}
	return o
}

// wantClasses compares the encoded classes with those of the rows, which the input y names.
func wantClasses(t *testing.T, ds *Dataset, class func(row int) int) {
	t.Helper()
	for _, d := range []train.Data{whole(t, ds.Training), ds.Validation} {
		y := &ds.Encoder.Players[0]
		for i, got := range d.Target {
			row := int(math.Round(y.Centre + y.Scale*float64(d.Rows.Numbers[2*i+1])))
			if want := class(row); got != float32(want) {
				t.Fatalf("row %d has class %g, want %d", row, got, want)
			}
		}
	}
}

func TestClasses(t *testing.T) {
	for _, memory := range []int{0, 2000} {
		o := classOptions(t)
		o.MemoryCells = memory
		ds := read(t, classed(t, 20_000, func(i int) string { return []string{"red", "blue", "green", "blue"}[i%4] }), o)
		if ds.Target.Task != encode.Multiclass || !slices.Equal(ds.Target.Classes, []string{"blue", "green", "red"}) {
			t.Fatalf("target %+v", ds.Target)
		}
		if err := ds.Target.Validate(); err != nil {
			t.Error(err)
		}
		if got := ds.Target.Base[0] - ds.Target.Base[1]; math.Abs(got-math.Log(2)) > 0.1 {
			t.Errorf("scores %v: blue is not twice as frequent as green", ds.Target.Base)
		}
		wantClasses(t, ds, func(i int) int { return []int{2, 0, 1, 0}[i%4] })
	}
}

func TestPositiveClass(t *testing.T) {
	for positive, want := range map[string][]string{"": {"<=50K", ">50K"}, "<=50K": {">50K", "<=50K"}} {
		o := classOptions(t)
		o.Positive = positive
		ds := read(t, classed(t, 1000, func(i int) string { return []string{">50K", "<=50K"}[i%2] }), o)
		if ds.Target.Task != encode.Binary || !slices.Equal(ds.Target.Classes, want) {
			t.Fatalf("target %+v, want classes %q", ds.Target, want)
		}
		wantClasses(t, ds, func(i int) int { return slices.Index(want, []string{">50K", "<=50K"}[i%2]) })
	}
}

// A boolean's words are not kept on disk; its classes are found all the same.
func TestBooleansOnDisk(t *testing.T) {
	tab := people(t, 3000)
	answer := table.BooleanColumn("class", make([]bool, 3000), nil)
	answer.Levels = []string{"No", "Yes"}
	for i := range answer.Numbers {
		answer.Numbers[i] = float64(i % 2)
	}
	tab.Columns = append(tab.Columns, answer)
	o := classOptions(t)
	o.MemoryCells = 2000
	ds := read(t, tab, o)
	if !slices.Equal(ds.Target.Classes, []string{"No", "Yes"}) {
		t.Fatalf("classes %q", ds.Target.Classes)
	}
	wantClasses(t, ds, func(i int) int { return i % 2 })
}

// Validation rows have a say in what the classes are.
func TestClassOfValidationRowsAlone(t *testing.T) {
	tab := classed(t, 400, func(i int) string { return []string{"a", "b"}[i%2] })
	o := classOptions(t)
	o.Validation = classed(t, 30, func(i int) string { return []string{"a", "b", "c"}[i%3] }).Source()
	ds := read(t, tab, o)
	if !slices.Equal(ds.Target.Classes, []string{"a", "b", "c"}) {
		t.Fatalf("classes %q, want a, b and c", ds.Target.Classes)
	}
	if got := ds.Target.Base[0] - ds.Target.Base[2]; math.Abs(got-math.Log(400)) > 1e-9 {
		t.Errorf("scores %v, want c as frequent as half a row, and a as 200", ds.Target.Base)
	}
	if notes := fmt.Sprint(ds.Notes); !strings.Contains(notes, `"c"`) {
		t.Errorf("notes %q do not name the class without training rows", notes)
	}
}

// A class that only rows of weight 0 have is none.
func TestClassWithoutWeight(t *testing.T) {
	tab := classed(t, 400, func(i int) string { return []string{"a", "b", "c"}[i%3] })
	for i := 2; i < 400; i += 3 {
		tab.Column("weight").Numbers[i] = 0
	}
	o := classOptions(t)
	o.Weight = "weight"
	ds := read(t, tab, o)
	if ds.Target.Task != encode.Binary || !slices.Equal(ds.Target.Classes, []string{"a", "b"}) {
		t.Errorf("target %+v, want the classes a and b", ds.Target)
	}
}

func TestValidationTargetOfAnotherKind(t *testing.T) {
	o := usual(t)
	held := classed(t, 30, func(int) string { return "high" })
	held.Columns = slices.DeleteFunc(held.Columns, func(c *table.Column) bool { return c.Name == "y" })
	held.Column("class").Name = "y"
	o.Validation = held.Source()
	_, err := Read(context.Background(), people(t, 400).Source(), o)
	if e, ok := errors.AsType[*table.Error](err); !ok || e.Column != "y" || e.Remedy == "" {
		t.Errorf("error %v, want one about y", err)
	}
}

func TestTaskIsNoted(t *testing.T) {
	o := classOptions(t)
	o.Task = encode.Multiclass
	ds := read(t, classed(t, 400, func(i int) string { return []string{"a", "b"}[i%2] }), o)
	if ds.Target.Task != encode.Binary || len(ds.Notes) != 1 || !strings.Contains(ds.Notes[0], "binary") {
		t.Errorf("task %s with the notes %q", ds.Target.Task, ds.Notes)
	}
}

func TestMissingAsLevelIsTakenIn(t *testing.T) {
	o := usual(t)
	o.MissingAsLevel = []string{"x", "town"}
	ds := read(t, people(t, 500), o)
	if !ds.Encoder.Gaps() {
		t.Error("x has no gaps")
	}
	if len(ds.Notes) != 1 || !strings.Contains(ds.Notes[0], `"town"`) {
		t.Errorf("notes %q, want one that town has no gaps", ds.Notes)
	}
	gaps := 0
	training := whole(t, ds.Training)
	for i, row := range rowsOf(t, ds, training) {
		if row%11 != 3 {
			continue
		}
		gaps++
		if at := training.Rows.Slice(i, i+1); at.Numbers[0] != encode.GapPosition || at.Observed[0] != 1 {
			t.Errorf("row %d, without x: numbers %v, observed %v", row, at.Numbers, at.Observed)
		}
	}
	if gaps == 0 {
		t.Error("no training row lacks x")
	}
}

func TestColumnOfRareLabelsIsNoted(t *testing.T) {
	o := usual(t)
	o.Inputs = []string{"id", "town"}
	tab := people(t, 500)
	ids := make([]string, 500)
	for i := range ids {
		ids[i] = fmt.Sprint("#", i)
	}
	tab.Columns = append(tab.Columns, table.CategoryColumn("id", ids, nil))
	ds := read(t, tab, o)
	if len(ds.Notes) != 1 || !strings.Contains(ds.Notes[0], `"id"`) {
		t.Errorf("notes %q, want one on id", ds.Notes)
	}
}

// Rows of errors are counted from the start of the source, not of a chunk.
func TestErrorsNameTheRowOfTheSource(t *testing.T) {
	const row = 9000 // in the second chunk
	for name, change := range map[string]func(tab *table.Table){
		"target": func(tab *table.Table) { tab.Column("y").Numbers[row] = math.Inf(1) },
		"number": func(tab *table.Table) { tab.Column("x").Numbers[row] = math.NaN() },
		"label": func(tab *table.Table) {
			town := tab.Column("town")
			town.Levels = append(town.Levels, "\xff")
			town.Codes[row] = int32(len(town.Levels)) - 1
		},
	} {
		tab, o := people(t, 10_000), usual(t)
		o.Validation = people(t, 20).Source() // so that every row trains
		change(tab)
		_, err := Read(context.Background(), tab.Source(), o)
		if e, ok := errors.AsType[*table.Error](err); !ok || e.Row != row || e.Remedy == "" {
			t.Errorf("%s: %v, want an error of row %d", name, err, row)
		}
	}
}
