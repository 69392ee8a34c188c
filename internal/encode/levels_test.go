package encode_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"testing"

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
