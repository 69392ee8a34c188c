package dataset

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/train"
	"github.com/psi-shapley/psi/table"
)

// people is a table in which every patient has five rows, next to each other, a target that
// names the row, and a weight that grows with it.
func people(t testing.TB, rows int) *table.Table {
	t.Helper()
	x, y := make([]float64, rows), make([]float64, rows)
	patient, town := make([]string, rows), make([]string, rows)
	weight, visit := make([]float64, rows), make([]time.Time, rows)
	for i := range rows {
		x[i], y[i] = float64(i%97), float64(i)
		weight[i], visit[i] = 100+float64(i), time.Date(2015, 1, 1, 7*i, 0, 0, 0, time.UTC)
		patient[i], town[i] = fmt.Sprint("p", i/5), []string{"Ulm", "Bonn", "Kiel"}[i%3]
	}
	tab, err := table.New(
		table.NumberColumn("x", x, nil), table.CategoryColumn("patient", patient, nil),
		table.CategoryColumn("town", town, nil), table.NumberColumn("y", y, nil),
		table.NumberColumn("weight", weight, nil), table.TimeColumn("visit", visit, nil),
	)
	if err != nil {
		t.Fatal(err)
	}
	for i := 3; i < rows; i += 11 {
		tab.Column("x").Observed[i], tab.Column("x").Numbers[i] = false, 0
	}
	return tab
}

func usual(t testing.TB) Options {
	t.Helper()
	return Options{
		Target: "y", Inputs: []string{"x", "town", "visit"}, Fraction: 0.1, Scratch: t.TempDir(),
		Bins: func(int, encode.Task) (int, error) { return 8, nil },
	}
}

func read(t testing.TB, tab *table.Table, o Options) *Dataset {
	t.Helper()
	ds, err := Read(context.Background(), tab.Source(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ds.Close(); err != nil {
			t.Error(err)
		}
	})
	return ds
}

// rowsOf are the numbers of the rows, by their targets.
func rowsOf(t testing.TB, ds *Dataset, d train.Data) []int {
	t.Helper()
	rows := make([]int, d.Len())
	for i := range rows {
		rows[i] = int(math.Round(ds.Target.Decode(d.Target[i])))
	}
	return rows
}

func whole(t testing.TB, s train.Store) train.Data {
	t.Helper()
	d, err := s.Read(0, s.Len())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestEveryRowGoesToOneSide(t *testing.T) {
	const n = 2000
	ds := read(t, people(t, n), usual(t))
	training, validation := rowsOf(t, ds, whole(t, ds.Training)), rowsOf(t, ds, ds.Validation)
	if len(validation) != n/10 {
		t.Errorf("%d of %d rows validate, want a tenth", len(validation), n)
	}
	all := slices.Sorted(slices.Values(slices.Concat(training, validation)))
	for i, row := range all {
		if row != i {
			t.Fatalf("row %d is missing or there twice", i)
		}
	}
	if slices.Equal(validation, all[:len(validation)]) {
		t.Error("the first rows validate: a sorted table would be divided by its order")
	}
}

func TestPatientsStayOnOneSide(t *testing.T) {
	o := usual(t)
	o.By = "patient"
	ds := read(t, people(t, 2000), o)
	side := map[int]string{}
	for _, row := range rowsOf(t, ds, ds.Validation) {
		side[row/5] = "validation"
	}
	for _, row := range rowsOf(t, ds, whole(t, ds.Training)) {
		if side[row/5] != "" {
			t.Fatalf("patient %d is on both sides", row/5)
		}
	}
	if n := ds.Validation.Len(); n < 150 || n > 250 {
		t.Errorf("%d of 2000 rows validate, want about 200", n)
	}
}

// Rows have one unit if and only if they are of one patient, on both sides and in a table of their own.
func TestUnitsAreThePatients(t *testing.T) {
	o := usual(t)
	check := func(ds *Dataset, d train.Data, units []uint64) {
		t.Helper()
		rows, patient := rowsOf(t, ds, d), map[uint64]int{}
		if len(units) != len(rows) {
			t.Fatalf("%d units of %d rows", len(units), len(rows))
		}
		different := map[int]bool{}
		for i, row := range rows {
			different[row/5] = true
			if of, met := patient[units[i]]; met && of != row/5 {
				t.Fatalf("patients %d and %d have one unit", of, row/5)
			}
			patient[units[i]] = row / 5
		}
		if len(patient) != len(different) {
			t.Errorf("%d units of %d patients", len(patient), len(different))
		}
	}
	if ds := read(t, people(t, 500), o); ds.Units != nil || ds.ValidationUnits != nil {
		t.Error("rows have units, though no column tells them")
	}
	o.By = "patient"
	ds := read(t, people(t, 500), o)
	check(ds, whole(t, ds.Training), ds.Units)
	check(ds, ds.Validation, ds.ValidationUnits)
	o.Validation = people(t, 100).Source()
	ds = read(t, people(t, 500), o)
	check(ds, ds.Validation, ds.ValidationUnits)
}

func TestFewUnitsAreStillDivided(t *testing.T) {
	o := usual(t)
	o.By = "patient"
	ds := read(t, people(t, 10), o) // two patients
	if ds.Training.Len() != 5 || ds.Validation.Len() != 5 {
		t.Errorf("two patients of 5 rows were divided %d : %d", ds.Training.Len(), ds.Validation.Len())
	}
}

func TestSeedChoosesOtherRows(t *testing.T) {
	o := usual(t)
	first := read(t, people(t, 500), o)
	o.Seed = 1
	second := read(t, people(t, 500), o)
	if slices.Equal(rowsOf(t, first, first.Validation), rowsOf(t, second, second.Validation)) {
		t.Error("two seeds let the same rows validate")
	}
}

func TestRowsOnDiskAreTheRowsInMemory(t *testing.T) {
	tab := people(t, 30_000)
	o := usual(t)
	o.Weight, o.MissingAsLevel = "weight", []string{"x"}
	inMemory := read(t, tab, o)
	o.MemoryCells = 5000
	onDisk := read(t, tab, o)
	if onDisk.Training.(*store).disk == nil {
		t.Fatal("nothing went to disk")
	}
	if left, err := os.ReadDir(o.Scratch); err != nil || len(left) > 0 {
		t.Errorf("files with names are left on disk: %v %v", left, err)
	}
	if onDisk.Digest != inMemory.Digest {
		t.Error("the digest depends on where the rows lie")
	}
	a, b := whole(t, inMemory.Training), whole(t, onDisk.Training)
	if a.Rows.Times != 1 || slices.Max(a.Rows.Cycles) == 0 || slices.Min(a.Weight) == slices.Max(a.Weight) {
		t.Error("the rows have no cycles or no weights")
	}
	if !reflect.DeepEqual(a, b) {
		t.Error("rows from disk differ")
	}
	some, err := onDisk.Training.Read(777, 1801)
	want, _ := b.Read(777, 1801)
	if err != nil || !reflect.DeepEqual(some, want) {
		t.Errorf("rows 777 to 1800 are not what they are in the whole: %v", err)
	}
}

func TestDigestKnowsEveryCell(t *testing.T) {
	digest := func(change func(tab *table.Table)) string {
		tab := people(t, 100)
		change(tab)
		o := usual(t)
		o.Weight = "weight"
		return read(t, tab, o).Digest
	}
	seen := map[string]string{}
	for name, change := range map[string]func(*table.Table){
		"as it is": func(*table.Table) {},
		"a number": func(tab *table.Table) { tab.Column("x").Numbers[7]++ },
		"a gap":    func(tab *table.Table) { tab.Column("x").Observed[7] = false },
		"a label":  func(tab *table.Table) { tab.Column("town").Codes[7]++ },
		"a name":   func(tab *table.Table) { tab.Column("patient").Name = "person" },
		"a weight": func(tab *table.Table) { tab.Column("weight").Numbers[7]++ },
		"a target": func(tab *table.Table) { tab.Column("y").Numbers[99]++ },
	} {
		d := digest(change)
		if other, same := seen[d]; same {
			t.Errorf("%s and %s have one digest", name, other)
		}
		seen[d] = name
	}
}

func TestValidationTableIsUsedWhole(t *testing.T) {
	o := usual(t)
	o.Validation = people(t, 60).Source()
	ds := read(t, people(t, 500), o)
	if ds.Training.Len() != 500 || ds.Validation.Len() != 60 {
		t.Errorf("%d rows train and %d validate, want 500 and 60", ds.Training.Len(), ds.Validation.Len())
	}
}

func TestManyValidationRowsAreThinned(t *testing.T) {
	o := usual(t)
	o.Fraction = 0.5
	ds := read(t, people(t, 50_000), o)
	if n := ds.Validation.Len(); math.Abs(float64(n)-MaxValidationRows) > 500 {
		t.Errorf("%d rows validate, want about %d", n, MaxValidationRows)
	}
	if n := ds.Training.Len(); n != 25_000 {
		t.Errorf("%d rows train, want 25000: thinned rows must not train", n)
	}
}

func TestRowsWithoutTargetAreLeftOut(t *testing.T) {
	tab := people(t, 500)
	for i := range 100 {
		tab.Column("y").Observed[i] = false
	}
	ds := read(t, tab, usual(t))
	if ds.Unlabelled != 100 || ds.Rows != 400 || ds.Training.Len()+ds.Validation.Len() != 400 {
		t.Errorf("%d left out of %d, %d train, %d validate", ds.Unlabelled, ds.Rows, ds.Training.Len(), ds.Validation.Len())
	}
}

func TestBadTables(t *testing.T) {
	for name, c := range map[string]struct {
		rows   int
		change func(tab *table.Table, o *Options)
		want   string
	}{
		"few rows":    {9, func(*table.Table, *Options) {}, "only 9 rows"},
		"constant":    {50, func(tab *table.Table, _ *Options) { clear(tab.Column("y").Numbers) }, "nothing to learn"},
		"text target": {50, func(_ *table.Table, o *Options) { o.Target, o.Task = "town", encode.Regression }, "category"},
		"many texts":  {1000, func(_ *table.Table, o *Options) { o.Target = "patient" }, "more than 100"},
		"not two":     {50, func(_ *table.Table, o *Options) { o.Task = encode.Binary }, "needs two"},
		"no positive": {50, func(_ *table.Table, o *Options) { o.Target, o.Positive = "town", "Ulm" }, "multiclass"},
		"no level":    {50, func(_ *table.Table, o *Options) { o.MissingAsLevel = []string{"patient"} }, "not a feature"},
		"no target":   {50, func(_ *table.Table, o *Options) { o.Target = "z" }, "no such column"},
		"no input":    {50, func(_ *table.Table, o *Options) { o.Inputs = []string{"w"} }, "no such column"},
		"one unit": {50, func(tab *table.Table, o *Options) {
			o.By = "patient"
			clear(tab.Column("patient").Codes)
		}, "cannot be divided"},
		"bad validation": {50, func(_ *table.Table, o *Options) {
			o.Validation = (&table.Table{Columns: people(t, 20).Columns[:3]}).Source()
		}, "no such column"},
	} {
		tab, o := people(t, c.rows), usual(t)
		c.change(tab, &o)
		_, err := Read(context.Background(), tab.Source(), o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.want)
		}
		if _, ok := errors.AsType[*table.Error](err); !ok {
			t.Errorf("%s: %T", name, err)
		}
	}
}

// shuffled is people with a column "day" of few values in no order. Some rows lack it.
func shuffled(t testing.TB, rows, days int) (tab *table.Table, day []float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 3))
	day = make([]float64, rows)
	for i := range day {
		if day[i] = float64(rng.IntN(days)) - float64(days)/2; i%50 == 7 {
			day[i] = math.NaN()
		}
	}
	tab = people(t, rows)
	tab.Columns = append(tab.Columns, table.NumberColumn("day", day, nil))
	return tab, day
}

func TestRowsAfterAValueValidate(t *testing.T) {
	const rows, after = 1000, 17.0
	tab, day := shuffled(t, rows, 60)
	o := usual(t)
	o.OrderBy, o.After = "day", new(after)
	for _, o.MemoryCells = range []int{0, 500} { // in memory, and on disk
		ds := read(t, tab, o)
		var want []int
		for i, d := range day {
			if d > after {
				want = append(want, i)
			}
		}
		if got := rowsOf(t, ds, ds.Validation); !slices.Equal(got, want) {
			t.Errorf("%d rows validate, want the %d whose day is after %g", len(got), len(want), after)
		}
		if ds.Training.Len() != rows-len(want) {
			t.Errorf("%d rows train, want %d", ds.Training.Len(), rows-len(want))
		}
		if !slices.ContainsFunc(ds.Notes, func(n string) bool { return strings.Contains(n, `"day": 20 rows have no value`) }) {
			t.Errorf("no note counts the rows without a day: %q", ds.Notes)
		}
	}
}

// The newest rows are compared with those of a sorted copy: no validation row is older than a training row, equal days stay
// together, and no other day as the bound comes nearer to the wanted share.
func TestNewestRowsValidate(t *testing.T) {
	for _, days := range []int{3, 40, 1 << 40} {
		tab, day := shuffled(t, 1000, days)
		for _, share := range []float64{0.001, 0.1, 0.45} {
			o := usual(t)
			o.OrderBy, o.Fraction, o.MemoryCells = "day", share, 500
			ds := read(t, tab, o)
			oldest, newest := math.Inf(1), math.Inf(-1)
			for _, row := range rowsOf(t, ds, ds.Validation) {
				oldest = min(oldest, day[row])
			}
			for _, row := range rowsOf(t, ds, whole(t, ds.Training)) {
				if !math.IsNaN(day[row]) {
					newest = max(newest, day[row])
				}
			}
			if !(newest < oldest) {
				t.Errorf("%d days, share %g: the training rows end at %g, the validation rows begin at %g", days, share, newest, oldest)
			}
			known := slices.DeleteFunc(slices.Clone(day), math.IsNaN)
			nearest := math.Inf(1)
			want := max(1, math.Round(share*float64(len(known))))
			for _, bound := range known {
				held := 0
				for _, d := range known {
					if d >= bound {
						held++
					}
				}
				nearest = min(nearest, math.Abs(float64(held)-want))
			}
			if got := math.Abs(float64(ds.Validation.Len()) - want); got != nearest {
				t.Errorf("%d days, share %g: %d rows validate, want %g or as near as %g", days, share, ds.Validation.Len(), want, nearest)
			}
		}
	}
}

func TestTimesOrderRows(t *testing.T) {
	o := usual(t)
	o.OrderBy = "visit"
	ds := read(t, people(t, 500), o)
	if got := rowsOf(t, ds, ds.Validation); len(got) != 50 || got[0] != 450 || got[49] != 499 {
		t.Errorf("%d rows from %d on validate, want the last 50", len(got), got[0])
	}
}

func TestKeysKeepTheOrder(t *testing.T) {
	inOrder := []float64{math.Inf(-1), -math.MaxFloat64, -3, -0x1p-1074, 0, 0x1p-1074, 1, 2, math.MaxFloat64, math.Inf(1)}
	for i := 1; i < len(inOrder); i++ {
		if keyOf(inOrder[i-1]) >= keyOf(inOrder[i]) {
			t.Errorf("the key of %g is not below that of %g", inOrder[i-1], inOrder[i])
		}
	}
	if keyOf(math.Copysign(0, -1)) != keyOf(0) || keyOf(math.Inf(-1)) <= unordered {
		t.Error("−0 differs from 0, or a number has the key of a missing cell")
	}
}

func TestOrderThatDividesNothing(t *testing.T) {
	tab, _ := shuffled(t, 100, 1)
	tab.Columns = append(tab.Columns, table.NumberColumn("none", slices.Repeat([]float64{math.NaN()}, 100), nil))
	for name, c := range map[string]struct {
		column string
		after  *float64
		want   string
	}{
		"nothing after":       {"visit", new(1e12), "no row is after"},
		"all after":           {"visit", new(-1e12), "training needs at least 10"},
		"one value":           {"day", nil, "too many rows share the newest value"},
		"no value":            {"none", nil, "no row has a value"},
		"a category":          {"town", nil, "does not order the rows"},
		"no such column":      {"when", nil, "no such column"},
		"few rows to learn":   {"y", new(5.0), "leaves 6 to train on"},
		"no value, but after": {"none", new(1.0), "no row is after"},
	} {
		o := usual(t)
		o.OrderBy, o.After = c.column, c.after
		_, err := Read(t.Context(), tab.Source(), o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
