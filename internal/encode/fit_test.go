package encode_test

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/table"
)

// newRand is a generator whose seed is drawn anew in each run, or given by -seed.
func newRand(t testing.TB) *rand.Rand {
	t.Helper()
	seed, _ := flag.Lookup("seed").Value.(flag.Getter).Get().(uint64)
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// mixed is a table of n rows: numbers, numbers with gaps and ties, labels with gaps.
func mixed(t testing.TB, rng *rand.Rand, n int) *table.Table {
	t.Helper()
	number, gaps, labels, observed := make([]float64, n), make([]float64, n), make([]string, n), make([]bool, n)
	for i := range n {
		number[i] = rng.NormFloat64()
		gaps[i] = math.Floor(100 * rng.ExpFloat64())
		if rng.IntN(3) == 0 {
			gaps[i] = missing
		}
		labels[i], observed[i] = fmt.Sprint("label ", int(10*rng.ExpFloat64())), rng.IntN(10) > 0
	}
	made, err := table.New(
		table.CategoryColumn("label", labels, observed),
		table.NumberColumn("number", number, nil),
		table.NumberColumn("gaps", gaps, nil))
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func newFitter(t testing.TB, of *table.Table, bins int) *encode.Fitter {
	t.Helper()
	f, err := encode.NewFitter(of.Schema(), columnNames(of), bins)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func finish(t testing.TB, f *encode.Fitter) *encode.Encoder {
	t.Helper()
	e, err := f.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Validate(); err != nil {
		t.Error("a fitted encoder is not valid:", err)
	}
	return e
}

// rowsFrom is the row numbers from … to-1.
func rowsFrom(from, to int) []int {
	rows := make([]int, 0, to-from)
	for row := from; row < to; row++ {
		rows = append(rows, row)
	}
	return rows
}

// How a stream is cut, and in which order a chunk lists labels, changes no bit.
func TestChunksDoNotMatter(t *testing.T) {
	rng := newRand(t)
	for _, n := range []int{1000, 220_000} {
		whole := mixed(t, rng, n)
		want := fit(t, whole, 50)
		f := newFitter(t, whole, 50)
		for from := 0; from < n; {
			to := min(n, from+rng.IntN(n/4))
			chunk := whole.Select(rowsFrom(from, to))
			if rng.IntN(2) == 0 { // as another file would have it
				chunk.Columns[0] = relisted(chunk.Columns[0])
				slices.Reverse(chunk.Columns)
			}
			if err := f.Add(chunk, nil); err != nil {
				t.Fatal(err)
			}
			from = to
		}
		if got := finish(t, f); !reflect.DeepEqual(got, want) {
			t.Errorf("%d rows in chunks: %+v, want %+v", n, got, want)
		}
	}
}

// relisted is the category with its own list of levels, in order of appearance.
func relisted(c *table.Column) *table.Column {
	labels := make([]string, c.Len())
	for row := range labels {
		labels[row] = c.Text(row)
	}
	return table.CategoryColumn(c.Name, labels, c.Observed)
}

// Rows that are not kept teach nothing, and are asked about once.
func TestRowsThatAreNotKept(t *testing.T) {
	rng := newRand(t)
	whole := mixed(t, rng, 3000)
	var kept []int
	f := newFitter(t, whole, 20)
	err := f.Add(whole, func(row int) bool {
		keep := rng.IntN(10) > 0
		if keep {
			kept = append(kept, row)
		}
		return keep
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := finish(t, f), fit(t, whole.Select(kept), 20); !reflect.DeepEqual(got, want) {
		t.Errorf("fitted %+v, want %+v", got, want)
	}
}

func TestFitterWithoutRows(t *testing.T) {
	rows := people(t)
	e := finish(t, newFitter(t, rows, 3))
	for _, p := range e.Players {
		if p.Edges != nil || p.Levels != nil || p.Numeric() && (p.Centre != 0 || p.Scale != 1) {
			t.Errorf("player %+v of no rows", p)
		}
	}
	encoded(t, e, rows)
}

func TestFinishMayComeEarly(t *testing.T) {
	whole := mixed(t, newRand(t), 2000)
	f := newFitter(t, whole, 10)
	for _, rows := range [][]int{rowsFrom(0, 1500), rowsFrom(1500, 2000)} {
		if err := f.Add(whole.Select(rows), nil); err != nil {
			t.Fatal(err)
		}
		got, want := finish(t, f), fit(t, whole.Select(rowsFrom(0, rows[len(rows)-1]+1)), 10)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("after row %d: fitted %+v, want %+v", rows[len(rows)-1], got, want)
		}
	}
}

// Columns as large as numbers get are encoded as finite numbers.
func TestHugeNumbers(t *testing.T) {
	rows := tableOf(t, table.NumberColumn("x", []float64{-math.MaxFloat64, -1e308, 0, 1, 1e308, math.MaxFloat64}, nil))
	for _, bins := range []int{1, 2, 3, 100} {
		f := newFitter(t, rows, bins)
		if err := f.Add(rows, nil); err != nil {
			t.Fatal(err)
		}
		for _, v := range encoded(t, finish(t, f), rows).Numbers {
			if v64 := float64(v); math.IsNaN(v64) || math.IsInf(v64, 0) {
				t.Errorf("%d bins: %g is among the numbers", bins, v)
			}
		}
	}
}

// wantTableError checks that the error is a table.Error about that column and row, -1
// standing for none, and that it has a remedy.
func wantTableError(t *testing.T, err error, column string, row int) {
	t.Helper()
	e, ok := errors.AsType[*table.Error](err)
	if !ok {
		t.Fatalf("%v (%T) is not a table.Error", err, err)
	}
	if e.Column != column || e.Row != row || e.Remedy == "" {
		t.Errorf("the error %+v does not name column %q, row %d and a remedy", e, column, row)
	}
}

func TestFitterErrors(t *testing.T) {
	rows := people(t)
	for _, c := range []struct {
		name    string
		columns []string
		bins    int
		says    string
	}{
		{"no bins", []string{"age"}, 0, "bins"},
		{"too many bins", []string{"age"}, 4097, "bins"},
		{"no columns", nil, 3, "columns"},
		{"too many columns", make([]string, 10_001), 3, "columns"},
	} {
		if _, err := encode.NewFitter(rows.Schema(), c.columns, c.bins); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want one about %s", c.name, err, c.says)
		}
	}
	_, err := encode.NewFitter(rows.Schema(), []string{"age", "height"}, 3)
	wantTableError(t, err, "height", -1)
	_, err = encode.NewFitter(rows.Schema(), []string{"age", "age"}, 3)
	wantTableError(t, err, "age", -1)

	for _, c := range []struct {
		name   string
		chunk  *table.Table
		column string
		row    int
	}{
		{"a column is gone", &table.Table{Columns: rows.Columns[1:]}, "town", -1},
		{"a number became a category", tableOf(t, rows.Columns[0], table.CategoryColumn("age", make([]string, 6), nil)), "age", -1},
		{"not a number", &table.Table{Columns: []*table.Column{
			{Name: "town", Kind: table.Category, Observed: []bool{false, false}, Codes: []int32{-1, -1}},
			{Name: "age", Observed: []bool{true, true}, Numbers: []float64{1, math.Inf(1)}},
		}}, "age", 1},
		{"not a text", tableOf(t, rows.Columns[1], table.CategoryColumn("town", []string{"", "", "", "", "\xff", ""}, nil)), "town", 4},
	} {
		f, err := encode.NewFitter(rows.Schema(), []string{"town", "age"}, 3)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(c.name, func(t *testing.T) { wantTableError(t, f.Add(c.chunk, nil), c.column, c.row) })
	}
}

// Files each of which keeps to the bounds of a table do not get past them together.
func TestTooManyLevels(t *testing.T) {
	const files, each = 9, 1 << 17
	var f *encode.Fitter
	for file := range files {
		id := &table.Column{Name: "id", Kind: table.Category, Observed: slices.Repeat([]bool{true}, each)}
		for code := range each {
			id.Codes = append(id.Codes, int32(code))
			id.Levels = append(id.Levels, strconv.Itoa(file*each+code))
		}
		chunk := tableOf(t, id)
		if f == nil {
			f = newFitter(t, chunk, 1)
		}
		err := f.Add(chunk, nil)
		if last := file == files-1; !last && err != nil {
			t.Fatalf("%d levels: %v", (file+1)*each, err)
		} else if last {
			wantTableError(t, err, "id", 0)
		}
	}
}

func BenchmarkFitter(b *testing.B) {
	chunk := mixed(b, newRand(b), 8192)
	f := newFitter(b, chunk, 128)
	cells := 0
	for b.Loop() {
		if err := f.Add(chunk, nil); err != nil {
			b.Fatal(err)
		}
		cells += chunk.Rows() * len(chunk.Columns)
	}
	b.ReportMetric(float64(cells)/b.Elapsed().Seconds()/1e6, "Mcells/s")
}

// A table is read by the names of its columns: their order, other columns, and the
// order in which levels first appear do not matter.
func TestColumnsAreFoundByName(t *testing.T) {
	rows := people(t)
	e := fit(t, rows, 3)
	other := people(t)
	slices.Reverse(other.Columns)
	other.Columns = append(other.Columns, table.NumberColumn("not in the model", make([]float64, rows.Rows()), nil))
	town := other.Column("town")
	slices.Reverse(town.Levels)
	for row, code := range town.Codes {
		if town.Observed[row] {
			town.Codes[row] = int32(len(town.Levels)) - 1 - code
		}
	}
	if got, want := encoded(t, e, other), encoded(t, e, rows); !reflect.DeepEqual(got, want) {
		t.Errorf("batch %+v, want %+v", got, want)
	}
}

// Players of a kind come in the order in which columns are named, not in that of the table.
func TestFitTakesTheNamedColumns(t *testing.T) {
	e, err := encode.Fit(people(t), []string{"since", "member", "age"}, 3)
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Players) != 3 || e.Players[0].Name != "member" || e.Players[1].Name != "age" || e.Players[2].Name != "since" {
		t.Errorf("players %+v, want member, age and, as times come last, since", e.Players)
	}
}

func TestErrorsNameTheColumn(t *testing.T) {
	rows := people(t)
	e := fit(t, rows, 3)
	changed := func(change func(of *table.Table)) *table.Table {
		other := people(t)
		change(other)
		return other
	}
	cells := rows.Rows()
	for _, c := range []struct {
		name   string
		column string // empty: the error is not about one
		err    func() error
		says   []string
	}{
		{"fit: no such column", "height", func() error {
			_, err := encode.Fit(rows, []string{"age", "height"}, 3)
			return err
		}, []string{`"height"`}},
		{"fit: no bins", "", func() error {
			_, err := encode.Fit(rows, []string{"age"}, 0)
			return err
		}, []string{"bins", "0"}},
		{"a column is gone", "town", func() error {
			_, err := e.Encode(changed(func(of *table.Table) { of.Columns = of.Columns[1:] }))
			return err
		}, []string{`"town"`}},
		{"a number became a category", "age", func() error {
			_, err := e.Encode(changed(func(of *table.Table) {
				of.Columns[1] = table.CategoryColumn("age", make([]string, cells), nil)
			}))
			return err
		}, []string{`"age"`, "category", "number"}},
		{"a category became a number", "town", func() error {
			_, err := e.Encode(changed(func(of *table.Table) {
				of.Columns[0] = table.NumberColumn("town", make([]float64, cells), nil)
			}))
			return err
		}, []string{`"town"`, "number", "category"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.err()
			if err == nil {
				t.Fatal("no error")
			}
			for _, word := range c.says {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("the error %q does not say %s", err, word)
				}
			}
			if c.column != "" {
				wantTableError(t, err, c.column, -1)
			}
		})
	}
}
