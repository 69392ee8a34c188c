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

// weighted reads people with their weights changed.
func weighted(t *testing.T, rows int, change func(weights []float64)) *Dataset {
	t.Helper()
	tab, o := people(t, rows), usual(t)
	o.Weight = "weight"
	change(tab.Column("weight").Numbers)
	return read(t, tab, o)
}

// wantWeights compares the weights of rows with what they are to be in proportion to, with
// the mean 1 over the training rows.
func wantWeights(t *testing.T, ds *Dataset, proportional func(row int) float64) {
	t.Helper()
	training := whole(t, ds.Training)
	mean := 0.0
	for _, row := range rowsOf(t, ds, training) {
		mean += proportional(row) / float64(training.Len())
	}
	for _, d := range []train.Data{training, ds.Validation} {
		for i, row := range rowsOf(t, ds, d) {
			if got, want := float64(d.Weight[i]), proportional(row)/mean; math.Abs(got-want) > 1e-6*want {
				t.Fatalf("row %d weighs %g, want %g", row, got, want)
			}
		}
	}
}

func TestWeights(t *testing.T) {
	ds := weighted(t, 500, func([]float64) {})
	if !ds.Weighted || ds.Weightless != 0 {
		t.Errorf("weighted is %v, and %d rows have no weight", ds.Weighted, ds.Weightless)
	}
	if slices.ContainsFunc(ds.Encoder.Players, func(p player) bool { return p.Name == "weight" }) {
		t.Error("the weight is an input")
	}
	wantWeights(t, ds, func(row int) float64 { return 100 + float64(row) })
}

func TestRowsWithoutWeightsCountTheSame(t *testing.T) {
	ds := read(t, people(t, 500), usual(t))
	if ds.Weighted {
		t.Error("rows without weights are weighted")
	}
	wantWeights(t, ds, func(int) float64 { return 1 })
}

// The target's mean and standard deviation are those of the training rows, each as often as
// it weighs.
func TestTargetIsWeighted(t *testing.T) {
	ds := weighted(t, 500, func([]float64) {})
	sum, mean, squares := 0.0, 0.0, 0.0
	for _, row := range rowsOf(t, ds, whole(t, ds.Training)) {
		w, y := 100+float64(row), float64(row)
		sum, mean, squares = sum+w, mean+w*y, squares+w*y*y
	}
	mean /= sum
	if std := math.Sqrt(squares/sum - mean*mean); math.Abs(ds.Target.Mean-mean) > 1e-9 || math.Abs(ds.Target.Std-std) > 1e-9 {
		t.Errorf("mean %g and standard deviation %g, want %g and %g", ds.Target.Mean, ds.Target.Std, mean, std)
	}
}

// Weights of any size are brought to the mean 1.
func TestWeightsOfAnySize(t *testing.T) {
	for _, unit := range []float64{math.SmallestNonzeroFloat64, 1e-300, 0.1, 1e300, math.MaxFloat64 / 4} {
		ds := weighted(t, 60, func(w []float64) {
			for i := range w {
				w[i] = float64(1+i%4) * unit
			}
		})
		wantWeights(t, ds, func(row int) float64 { return float64(1 + row%4) })
	}
	ds := weighted(t, 60, func(w []float64) {
		for i := range w {
			w[i] = []float64{1e300, 1e-300}[i%2]
		}
	})
	for _, w := range slices.Concat(whole(t, ds.Training).Weight, ds.Validation.Weight) {
		if !(w > 0) || math.IsInf(float64(w), 0) {
			t.Fatalf("a weight is %g", w)
		}
	}
}

// A row of weight 0 is as good as not there.
func TestRowsOfWeightZeroAreLeftOut(t *testing.T) {
	ds := weighted(t, 500, func(w []float64) { clear(w[:100]) })
	training, validation := rowsOf(t, ds, whole(t, ds.Training)), rowsOf(t, ds, ds.Validation)
	if ds.Weightless != 100 || ds.Rows != 400 || len(training)+len(validation) != 400 || len(validation) != 40 {
		t.Errorf("%d left out of %d, %d train, %d validate", ds.Weightless, ds.Rows, len(training), len(validation))
	}
	if least := slices.Min(slices.Concat(training, validation)); least != 100 {
		t.Errorf("row %d is among them", least)
	}
}

func TestBadWeights(t *testing.T) {
	for name, c := range map[string]struct {
		change func(tab *table.Table, o *Options)
		row    int
		want   string
	}{
		"missing": {func(tab *table.Table, _ *Options) {
			tab.Column("weight").Observed[9000], tab.Column("weight").Numbers[9000] = false, 0
		}, 9000, "missing"},
		"negative":        {func(tab *table.Table, _ *Options) { tab.Column("weight").Numbers[9001] = -1 }, 9001, "-1"},
		"infinite":        {func(tab *table.Table, _ *Options) { tab.Column("weight").Numbers[3] = math.Inf(1) }, 3, "+Inf"},
		"no number":       {func(tab *table.Table, _ *Options) { tab.Column("weight").Numbers[3] = math.NaN() }, 3, "NaN"},
		"all 0":           {func(tab *table.Table, _ *Options) { clear(tab.Column("weight").Numbers) }, -1, "no row"},
		"text":            {func(_ *table.Table, o *Options) { o.Weight = "town" }, -1, "category"},
		"no such column":  {func(_ *table.Table, o *Options) { o.Weight = "mass" }, -1, "no such column"},
		"the target":      {func(_ *table.Table, o *Options) { o.Weight = "y" }, -1, "target"},
		"a missing level": {func(_ *table.Table, o *Options) { o.MissingAsLevel = []string{"weight"} }, -1, "not a feature"},
		"validation": {func(_ *table.Table, o *Options) {
			held := people(t, 20)
			held.Column("weight").Numbers[7] = -3
			o.Validation = held.Source()
		}, 7, "-3"},
		"no validation": {func(_ *table.Table, o *Options) {
			held := people(t, 20)
			clear(held.Column("weight").Numbers)
			o.Validation = held.Source()
		}, -1, "no validation row"},
	} {
		tab, o := people(t, 10_000), usual(t)
		o.Weight = "weight"
		c.change(tab, &o)
		_, err := Read(context.Background(), tab.Source(), o)
		e, ok := errors.AsType[*table.Error](err)
		if !ok || e.Row != c.row || e.Remedy == "" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error of row %d with %q", name, err, c.row, c.want)
		}
	}
}

// A weight may be missing where the target is.
func TestMissingWeightOfAnUnlabelledRow(t *testing.T) {
	tab, o := people(t, 100), usual(t)
	o.Weight = "weight"
	tab.Column("weight").Observed[5], tab.Column("y").Observed[5] = false, false
	if ds := read(t, tab, o); ds.Rows != 99 || ds.Unlabelled != 1 {
		t.Errorf("%d rows, %d without a target, want 99 and 1", ds.Rows, ds.Unlabelled)
	}
}
