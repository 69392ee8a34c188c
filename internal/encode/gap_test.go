package encode_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/table"
)

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
