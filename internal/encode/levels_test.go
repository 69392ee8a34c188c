package encode_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/table"
)

// A level that fewer than three training rows have shares row 0 with those that none has,
// however the rows are cut into chunks.
func TestRareLevelsShareRowZero(t *testing.T) {
	labels := []string{"twice", "often", "once", "thrice", "often", "twice", "thrice", "often", "thrice", "often", "unused"}
	rows := tableOf(t, table.CategoryColumn("c", labels, nil))
	want := encode.Player{Name: "c", Kind: table.Category, Levels: []string{"often", "thrice"}, Rare: 2}
	for _, cut := range []int{0, 1, 5, 10} {
		f := newFitter(t, rows, 1)
		for _, part := range [][]int{rowsFrom(0, cut), rowsFrom(cut, 10)} {
			if err := f.Add(rows.Select(part), nil); err != nil {
				t.Fatal(err)
			}
		}
		e := finish(t, f)
		if !reflect.DeepEqual(e.Players[0], want) {
			t.Fatalf("cut at %d: player %+v, want %+v", cut, e.Players[0], want)
		}
		if got, want := encoded(t, e, rows).Codes, []int32{0, 1, 0, 2, 1, 0, 2, 1, 2, 1, 0}; !slices.Equal(got, want) {
			t.Errorf("codes %v, want %v", got, want)
		}
		if got := e.EmbeddingRows(); !slices.Equal(got, []int{3}) {
			t.Errorf("embedding rows %v, want 3", got)
		}
	}
}

// Rows that do not train make no level common.
func TestOnlyTrainingRowsMakeALevelCommon(t *testing.T) {
	rows := tableOf(t, table.CategoryColumn("c", []string{"a", "a", "a", "b", "b", "b", "b"}, nil))
	f := newFitter(t, rows, 1)
	if err := f.Add(rows, func(row int) bool { return row > 0 }); err != nil {
		t.Fatal(err)
	}
	if p := finish(t, f).Players[0]; !slices.Equal(p.Levels, []string{"b"}) || p.Rare != 1 {
		t.Errorf("levels %v and %d rare, want b and 1", p.Levels, p.Rare)
	}
}

func TestOthers(t *testing.T) {
	training := tableOf(t,
		table.NumberColumn("age", []float64{1, 2, 3, 4, 5, 6, 7}, nil),
		table.CategoryColumn("city", []string{"Ulm", "Ulm", "Ulm", "Bonn", "Bonn", "Bonn", "Kiel"}, nil),
		table.CategoryColumn("sex", []string{"f", "f", "f", "m", "m", "m", "m"}, nil),
		table.CategoryColumn("plan", []string{"s", "s", "s", "m", "m", "m", "m"}, nil))
	e := fit(t, training, 2)
	rows := tableOf(t,
		table.CategoryColumn("plan", []string{"xl", "s", "l", "xl"}, []bool{true, true, true, false}),
		table.CategoryColumn("sex", []string{"m", "f", "f", ""}, []bool{true, true, true, false}),
		table.CategoryColumn("city", []string{"Ulm", "Kiel", "Jena", "Ulm"}, nil),
		table.NumberColumn("age", []float64{99, 1, 1, 1}, nil))
	cells := func(rows *table.Table, unknown ...string) (cells []string) {
		b, err := e.Encode(rows, unknown...)
		if err != nil {
			t.Fatal(err)
		}
		for row, d := range e.Others(b) {
			cells = append(cells, fmt.Sprint(e.Players[d].Name, row))
		}
		return cells
	}
	want := []string{"city1", "city2", "plan0", "plan2"}
	if got := cells(rows); !slices.Equal(got, want) {
		t.Errorf("others %v, want %v", got, want)
	}
	if got := cells(rows, "plan"); !slices.Equal(got, want[:2]) {
		t.Errorf("without the column plan: others %v, want %v", got, want[:2])
	}
	if got := cells(training.Select([]int{0, 3})); got != nil {
		t.Errorf("others %v of known labels", got)
	}
}

// A column of 10^5 labels, in chunks each of which lists all of them, costs memory for the
// labels alone, and its encoder is stored and read back.
func TestManyLevels(t *testing.T) {
	const levels, chunks = 100_000, 40
	var labels []string
	for i := range levels {
		labels = append(labels, fmt.Sprintf("label %06d", i))
	}
	chunk := func(first int) *table.Table {
		c := &table.Column{Name: "c", Kind: table.Category, Levels: labels, Observed: slices.Repeat([]bool{true}, 8192)}
		for i := range c.Len() {
			c.Codes = append(c.Codes, int32((first+i)%levels))
		}
		return tableOf(t, c)
	}
	f := newFitter(t, chunk(0), 1)
	before := heap()
	for i := range chunks {
		if err := f.Add(chunk(i*8192), nil); err != nil {
			t.Fatal(err)
		}
	}
	if grown := heap() - before; grown > 20<<20 {
		t.Errorf("the fitter holds %d MiB of %d labels", grown>>20, levels)
	}
	e := finish(t, f)
	if p := e.Players[0]; len(p.Levels) != levels || p.Rare != 0 { // each label is met at least three times
		t.Fatalf("%d levels and %d rare ones, want %d and 0", len(p.Levels), p.Rare, levels)
	}
	stored, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var restored encode.Encoder
	if err := json.Unmarshal(stored, &restored); err != nil {
		t.Fatal(err)
	}
	if err := restored.Validate(); err != nil {
		t.Fatal(err)
	}
	b := encoded(t, &restored, chunk(levels-3))
	if want := []int32{levels - 2, levels - 1, levels, 1, 2}; !slices.Equal(b.Codes[:5], want) {
		t.Errorf("codes %v, want %v", b.Codes[:5], want)
	}
	runtime.KeepAlive(f)
}

// heap is the memory in use, in bytes.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// gapped is a column of every kind with a missing cell in the last row.
func gapped(t *testing.T) *table.Table {
	t.Helper()
	observed := []bool{true, true, true, true, false}
	var times []time.Time
	for i := range 5 {
		times = append(times, time.Date(2010+i, 1, 1+i, i, 0, 0, 0, time.UTC))
	}
	return tableOf(t,
		table.NumberColumn("x", []float64{-1, 1, -1, 1, 0}, observed),
		table.TimeColumn("t", times, observed),
		table.CategoryColumn("c", []string{"a", "a", "a", "b", ""}, observed),
		table.CategoryColumn("d", []string{"u", "u", "u", "u", ""}, observed),
	)
}

func fitGaps(t *testing.T, rows *table.Table, names ...string) *encode.Encoder {
	t.Helper()
	f := newFitter(t, rows, 2)
	if err := f.MissingAsLevel(names); err != nil {
		t.Fatal(err)
	}
	if err := f.Add(rows, nil); err != nil {
		t.Fatal(err)
	}
	return finish(t, f)
}

func TestMissingAsLevel(t *testing.T) {
	rows := gapped(t)
	e := fitGaps(t, rows, "c", "t", "x", "d")
	if got, want := e.EmbeddingRows(), []int{3, 3}; !slices.Equal(got, want) {
		t.Errorf("embedding rows %v, want %v", got, want)
	}
	b := encoded(t, e, rows)
	if slices.Contains(b.Observed, 0) {
		t.Errorf("observed %v, want all", b.Observed)
	}
	last := b.Slice(4, 5)
	want := &encode.Batch{
		Rows: 1, Numeric: 2, Times: 1, Categorical: 2,
		Numbers: []float32{-1, 0, -1, 0}, Cycles: nothing(1), Codes: []int32{2, 3 + 2}, Observed: []float32{1, 1, 1, 1},
	}
	if !reflect.DeepEqual(last, want) {
		t.Errorf("missing cells %+v, want %+v", last, want)
	}
	plain := encoded(t, fitGaps(t, rows), rows)
	if !slices.Equal(b.Slice(0, 4).Numbers, plain.Slice(0, 4).Numbers) || !slices.Equal(b.Slice(0, 4).Cycles, plain.Slice(0, 4).Cycles) {
		t.Error("observed cells are not encoded as ever")
	}
	if got, want := b.Codes[:8], []int32{1, 4, 1, 4, 1, 4, 0, 4}; !slices.Equal(got, want) {
		t.Errorf("codes %v, want %v: b is rare, and no gap", got, want)
	}
}

func TestOnlyNamedColumnsHaveGaps(t *testing.T) {
	rows := gapped(t)
	for _, c := range []struct {
		names []string
		gaps  bool
		last  []float32
		rows  []int
	}{
		{nil, false, []float32{0, 0, 0, 0}, []int{2, 2}},
		{[]string{"c"}, false, []float32{0, 0, 1, 0}, []int{3, 2}},
		{[]string{"t"}, true, []float32{0, 1, 0, 0}, []int{2, 2}},
		{[]string{"x", "d"}, true, []float32{1, 0, 0, 1}, []int{2, 3}},
	} {
		e := fitGaps(t, rows, c.names...)
		if e.Gaps() != c.gaps {
			t.Errorf("%v: numbers have gaps is %v, want %v", c.names, e.Gaps(), c.gaps)
		}
		if got := encoded(t, e, rows).Observed[16:]; !slices.Equal(got, c.last) {
			t.Errorf("%v: observed %v in the last row, want %v", c.names, got, c.last)
		}
		if got := e.EmbeddingRows(); !slices.Equal(got, c.rows) {
			t.Errorf("%v: embedding rows %v, want %v", c.names, got, c.rows)
		}
	}
}

// Of a gap that no training row has nothing can be learned.
func TestGapsThatTrainingNeverMet(t *testing.T) {
	rows := gapped(t)
	f := newFitter(t, rows, 2)
	if err := f.MissingAsLevel([]string{"x", "c"}); err != nil {
		t.Fatal(err)
	}
	if err := f.Add(rows, func(row int) bool { return row < 4 }); err != nil {
		t.Fatal(err)
	}
	e := finish(t, f)
	for _, p := range e.Players {
		if p.Gap {
			t.Errorf("%s has a gap", p.Name)
		}
	}
	if got := encoded(t, e, rows).Observed[16:]; slices.Contains(got, 1) {
		t.Errorf("observed %v in the last row", got)
	}
}

func TestMissingAsLevelOfNoInput(t *testing.T) {
	wantTableError(t, newFitter(t, gapped(t), 2).MissingAsLevel([]string{"x", "height"}), "height", -1)
}

// A column that is unknown has no level, not even that of a missing cell.
func TestUnknownColumns(t *testing.T) {
	rows := gapped(t)
	e := fitGaps(t, rows, "x", "t", "c", "d")
	b, err := e.Encode(rows, "t", "c", "x")
	if err != nil {
		t.Fatal(err)
	}
	want := e.Batch(5)
	for i := range 5 {
		want.Codes[2*i+1] = 3 + 1
		want.Observed[4*i+3] = 1
	}
	want.Codes[9] = 3 + 2
	if !reflect.DeepEqual(b, want) {
		t.Errorf("batch %+v, want %+v", b, want)
	}
	absent, err := e.Encode(&table.Table{Columns: rows.Columns[3:]}, "x", "t", "c")
	if err != nil || !reflect.DeepEqual(absent, want) {
		t.Errorf("columns that are not there: %v, batch %+v, want %+v", err, absent, want)
	}
}
