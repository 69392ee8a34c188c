package encode_test

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/table"
)

var missing = math.NaN()

// people is a table with a column of every kind, and missing cells in each.
func people(t *testing.T) *table.Table {
	t.Helper()
	day := func(n int) time.Time { return time.Date(2024, 1, n, 0, 0, 0, 0, time.UTC) }
	return tableOf(t,
		table.CategoryColumn("town", []string{"Ulm", "Jena", "", "Ulm", "Bonn", "Jena"}, []bool{true, true, false, true, true, true}),
		table.NumberColumn("age", []float64{20, 40, 60, missing, 100, 30}, nil),
		table.BooleanColumn("member", []bool{true, false, true, true, false, false}, []bool{true, true, true, true, true, false}),
		table.CategoryColumn("sport", []string{"chess", "golf", "golf", "chess", "", "golf"}, []bool{true, true, true, true, false, true}),
		table.TimeColumn("since", []time.Time{day(1), day(2), day(3), day(5), {}, day(31)}, nil),
	)
}

// thrice has every row three times, so that no level is rare.
func thrice(rows *table.Table) *table.Table {
	var three []int
	for row := range rows.Rows() {
		three = append(three, row, row, row)
	}
	return rows.Select(three)
}

func columnNames(of *table.Table) []string {
	var names []string
	for _, c := range of.Columns {
		names = append(names, c.Name)
	}
	return names
}

func tableOf(t *testing.T, columns ...*table.Column) *table.Table {
	t.Helper()
	made, err := table.New(columns...)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// fit learns the encoding of all columns.
func fit(t *testing.T, rows *table.Table, bins int) *encode.Encoder {
	t.Helper()
	e, err := encode.Fit(rows, columnNames(rows), bins)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func encoded(t *testing.T, e *encode.Encoder, rows *table.Table) *encode.Batch {
	t.Helper()
	b, err := e.Encode(rows)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPlayersAreNumbersThenTimesThenCategories(t *testing.T) {
	rows := thrice(people(t))
	slices.Reverse(rows.Columns)
	e := fit(t, rows, 4)
	var players []string
	for _, p := range e.Players {
		players = append(players, p.Name)
	}
	if want := []string{"member", "age", "since", "sport", "town"}; !slices.Equal(players, want) {
		t.Errorf("players %v, want %v", players, want)
	}
	if e.Numeric() != 3 || e.Times() != 1 {
		t.Errorf("%d numeric players, %d of them times, want 3 and 1", e.Numeric(), e.Times())
	}
	if got, want := e.EmbeddingRows(), []int{3, 4}; !slices.Equal(got, want) {
		t.Errorf("embedding rows %v, want %v: the levels seen, and one for others", got, want)
	}
}

func TestObservedCells(t *testing.T) {
	rows := people(t)
	e := fit(t, rows, 3)
	b := encoded(t, e, rows)
	if b.Rows != rows.Rows() || b.Numeric != 3 || b.Times != 1 || b.Categorical != 2 {
		t.Fatalf("a batch of %d rows, %d numbers, %d of them times, and %d categories", b.Rows, b.Numeric, b.Times, b.Categorical)
	}
	for d, p := range e.Players {
		for row, want := range rows.Column(p.Name).Observed {
			if got := b.Observed[row*b.Players()+d] == 1; got != want {
				t.Errorf("%s, row %d: observed is %v, want %v", p.Name, row, got, want)
			}
		}
	}
}

// numberAt is the number at a position among edges.
func numberAt(edges []float64, position float64) float64 {
	k := min(int(position), len(edges)-2)
	return edges[k] + (position-float64(k))*(edges[k+1]-edges[k])
}

// A number can be read back from either form that the network sees.
func TestNumbersReadBack(t *testing.T) {
	rows := people(t)
	e := fit(t, rows, 3)
	b := encoded(t, e, rows)
	for d, p := range e.Players[:e.Numeric()] {
		column := rows.Column(p.Name)
		for row, want := range column.Numbers {
			position, standardised := b.Numbers[(row*b.Numeric+d)*2], b.Numbers[(row*b.Numeric+d)*2+1]
			if !column.Observed[row] {
				if position != 0 || standardised != 0 {
					t.Errorf("%s, row %d: missing, but encoded as %g and %g", p.Name, row, position, standardised)
				}
				continue
			}
			for _, got := range []float64{numberAt(p.Edges, float64(position)), p.Centre + p.Scale*float64(standardised)} {
				if rounding := 1e-6 * p.Scale; math.Abs(got-want) > rounding {
					t.Errorf("%s, row %d: encoded as %g and %g, which mean %g, want %g", p.Name, row, position, standardised, got, want)
				}
			}
		}
	}
}

// Every category has rows of its own in the embedding table: one for levels that are
// unseen or missing, then one for each level.
func TestLevelsReadBack(t *testing.T) {
	rows := thrice(people(t))
	e := fit(t, rows, 3)
	b := encoded(t, e, rows)
	var meaning []string // of the rows of the embedding table
	for _, p := range e.Players[e.Numeric():] {
		meaning = append(meaning, "")
		meaning = append(meaning, p.Levels...)
	}
	if want := []string{"", "Bonn", "Jena", "Ulm", "", "chess", "golf"}; !slices.Equal(meaning, want) {
		t.Fatalf("the embedding table has rows for %q, want %q", meaning, want)
	}
	for d, p := range e.Players[e.Numeric():] {
		column := rows.Column(p.Name)
		for row := range b.Rows {
			if code := b.Codes[row*b.Categorical+d]; meaning[code] != column.Text(row) {
				t.Errorf("%s, row %d: encoded as %q, want %q", p.Name, row, meaning[code], column.Text(row))
			}
		}
	}
}

func TestNumbersAreStandardised(t *testing.T) {
	rows := tableOf(t, table.NumberColumn("x", []float64{1, 2, missing, 3, 6}, nil))
	b := encoded(t, fit(t, rows, 2), rows)
	sum, squares := 0.0, 0.0
	for row := range b.Rows {
		v := float64(b.Numbers[2*row+1])
		sum += v
		squares += v * v
	}
	if math.Abs(sum) > 1e-6 || math.Abs(squares-4) > 1e-6 {
		t.Errorf("Σ = %g and Σ² = %g over 4 observed cells, want 0 and 4", sum, squares)
	}
}

func TestNumbersBeyondTheTrainingRows(t *testing.T) {
	e := fit(t, tableOf(t, table.NumberColumn("x", []float64{-1, 1}, nil)), 4)
	b := encoded(t, e, tableOf(t, table.NumberColumn("x", []float64{-3, 3}, nil)))
	if want := []float32{0, -3, 1, 3}; !slices.Equal(b.Numbers, want) {
		t.Errorf("numbers %v, want %v: positions are held at the ends, standardised values are not", b.Numbers, want)
	}
}

// A column that never varies in the training rows is no reason for large numbers when
// it varies later. The mean of equal numbers need not be that number, after rounding.
func TestConstantColumn(t *testing.T) {
	for _, constant := range []float64{0, 3, 0.1} {
		e := fit(t, tableOf(t, table.NumberColumn("x", slices.Repeat([]float64{constant}, 10), nil)), 4)
		if p := e.Players[0]; math.Abs(p.Centre-constant) > 1e-15 || p.Scale != 1 {
			t.Errorf("always %g: centre %g and scale %g, want %g and 1", constant, p.Centre, p.Scale, constant)
		}
		b := encoded(t, e, tableOf(t, table.NumberColumn("x", []float64{constant, constant + 0.5}, nil)))
		for i, want := range []float64{0, 0, 0, 0.5} {
			if got := float64(b.Numbers[i]); math.Abs(got-want) > 1e-6 {
				t.Errorf("always %g: numbers %v, want 0, 0, 0, 0.5", constant, b.Numbers)
				break
			}
		}
	}
}

func TestColumnWithoutObservedCells(t *testing.T) {
	e := fit(t, tableOf(t,
		table.NumberColumn("x", []float64{missing, missing}, nil),
		table.CategoryColumn("c", []string{"", ""}, []bool{false, false})), 4)
	b := encoded(t, e, tableOf(t,
		table.NumberColumn("x", []float64{0.5, missing}, nil),
		table.CategoryColumn("c", []string{"new", ""}, []bool{true, false})))
	want := &encode.Batch{
		Rows: 2, Numeric: 1, Categorical: 1,
		Numbers:  []float32{0, 0.5, 0, 0},
		Cycles:   []float32{},
		Codes:    []int32{0, 0},
		Observed: []float32{1, 1, 0, 0},
	}
	if !reflect.DeepEqual(b, want) {
		t.Errorf("batch %+v, want %+v", b, want)
	}
}

// Row 0 of a category's part of the embedding table is for levels that training did
// not see. Such a cell is observed all the same.
func TestUnseenLevelsShareRowZero(t *testing.T) {
	e := fit(t, thrice(tableOf(t,
		table.CategoryColumn("a", []string{"x", "y"}, nil),
		table.CategoryColumn("b", []string{"x", "z"}, nil))), 1)
	b := encoded(t, e, tableOf(t,
		table.CategoryColumn("a", []string{"x", "y", "z", "w"}, nil),
		table.CategoryColumn("b", []string{"x", "y", "z", "w"}, nil)))
	want := []int32{
		1, 3 + 1,
		2, 3 + 0,
		0, 3 + 2,
		0, 3 + 0,
	}
	if !slices.Equal(b.Codes, want) {
		t.Errorf("codes %v, want %v", b.Codes, want)
	}
	if slices.Contains(b.Observed, 0) {
		t.Errorf("observed %v, want all", b.Observed)
	}
}

func TestFitSeesOnlyTheRowsItIsGiven(t *testing.T) {
	all := people(t)
	training := thrice(all.Select([]int{0, 1, 3})) // of which age and sport have gaps
	e := fit(t, training, 4)
	age, town := e.Players[0], e.Players[3]
	if want := []float64{20, 40}; !slices.Equal(age.Edges, want) || age.Centre != 30 || age.Scale != 10 {
		t.Errorf("age has edges %v, centre %g and scale %g, want %v, 30 and 10", age.Edges, age.Centre, age.Scale, want)
	}
	if want := []string{"Jena", "Ulm"}; !slices.Equal(town.Levels, want) {
		t.Errorf("towns %v, want %v: a table keeps levels that its rows do not use", town.Levels, want)
	}
	bonn := encoded(t, e, all).Codes[4*2]
	if bonn != 0 {
		t.Errorf("Bonn, not among the training rows, is encoded as %d", bonn)
	}
}

func TestEncoderSurvivesJSON(t *testing.T) {
	rows := thrice(people(t))
	e := fit(t, rows, 3)
	stored, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var restored encode.Encoder
	if err := json.Unmarshal(stored, &restored); err != nil {
		t.Fatal(err)
	}
	if got, want := encoded(t, &restored, rows), encoded(t, e, rows); !reflect.DeepEqual(got, want) {
		t.Errorf("batch %+v after storing the encoder, want %+v", got, want)
	}
}

// twoRows is a batch of one number, two times and one category in which every cell differs
// from every other.
func twoRows() *encode.Batch {
	return &encode.Batch{
		Rows: 2, Numeric: 3, Times: 2, Categorical: 1,
		Numbers:  []float32{1.25, -1, 2.25, -2, 3.25, -3, 4.25, -4, 5.25, -5, 6.25, -6},
		Cycles:   append(append(parts(10), parts(20)...), append(parts(30), parts(40)...)...),
		Codes:    []int32{5, 6},
		Observed: []float32{1, 0, 1, 1, 0, 1, 0, 0},
	}
}

// parts are the cyclic parts of a time, all different.
func parts(from float32) []float32 {
	p := make([]float32, encode.CyclicParts)
	for i := range p {
		p[i] = from + float32(i)
	}
	return p
}

func nothing(times int) []float32 { return make([]float32, times*encode.CyclicParts) }

func TestNewBatchIsMissing(t *testing.T) {
	want := &encode.Batch{
		Rows: 2, Numeric: 3, Times: 1, Categorical: 2,
		Numbers:  make([]float32, 12),
		Cycles:   nothing(2),
		Codes:    make([]int32, 4),
		Observed: make([]float32, 10),
	}
	timed := encode.NewTimedBatch(2, 3, 1, 2)
	for _, got := range []*encode.Batch{timed, timed.Like(2), timed.Like(7).Like(2)} {
		if !reflect.DeepEqual(got, want) {
			t.Errorf("batch %+v, want %+v", got, want)
		}
		if got.Players() != 5 {
			t.Errorf("%d players, want 5", got.Players())
		}
	}
	if got, want := encode.NewBatch(4, 3, 2), encode.NewTimedBatch(4, 3, 0, 2); !reflect.DeepEqual(got, want) {
		t.Errorf("batch %+v, want %+v", got, want)
	}
}

func TestSetCopiesOneRow(t *testing.T) {
	b := twoRows().Like(3)
	b.Set(1, twoRows(), 1)
	want := &encode.Batch{
		Rows: 3, Numeric: 3, Times: 2, Categorical: 1,
		Numbers:  []float32{0, 0, 0, 0, 0, 0, 4.25, -4, 5.25, -5, 6.25, -6, 0, 0, 0, 0, 0, 0},
		Cycles:   slices.Concat(nothing(2), parts(30), parts(40), nothing(2)),
		Codes:    []int32{0, 6, 0},
		Observed: []float32{0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0},
	}
	if !reflect.DeepEqual(b, want) {
		t.Errorf("batch %+v, want %+v", b, want)
	}
}

func TestSetPlayerCopiesOneCell(t *testing.T) {
	for d, change := range []func(b *encode.Batch){
		func(b *encode.Batch) { b.Numbers[0], b.Numbers[1], b.Observed[0] = 4.25, -4, 0 },
		func(b *encode.Batch) {
			b.Numbers[2], b.Numbers[3], b.Observed[1] = 5.25, -5, 1
			copy(b.Cycles[:encode.CyclicParts], parts(30))
		},
		func(b *encode.Batch) {
			b.Numbers[4], b.Numbers[5], b.Observed[2] = 6.25, -6, 0
			copy(b.Cycles[encode.CyclicParts:], parts(40))
		},
		func(b *encode.Batch) { b.Codes[0], b.Observed[3] = 6, 0 },
	} {
		got, want := twoRows(), twoRows()
		got.SetPlayer(0, d, twoRows(), 1)
		change(want)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("player %d: batch %+v, want %+v", d, got, want)
		}
	}
}

// Slices, one after the other, are the whole again; they share its memory.
func TestSlicesAppended(t *testing.T) {
	b := twoRows()
	joined := b.Like(0)
	joined.Append(b.Slice(0, 1))
	joined.Append(b.Slice(1, 2))
	if !reflect.DeepEqual(joined, b) {
		t.Errorf("batch %+v, want %+v", joined, b)
	}
	b.Slice(1, 2).Cycles[0] = -7
	if b.Cycles[2*encode.CyclicParts] != -7 {
		t.Error("a slice has its own memory")
	}
	if got := b.Head(1); !reflect.DeepEqual(got, b.Slice(0, 1)) {
		t.Errorf("head %+v, want row 0", got)
	}
}

// All players of a row are the row.
func TestSettingEveryPlayerSetsTheRow(t *testing.T) {
	byPlayer, byRow := twoRows(), twoRows()
	for d := range byPlayer.Players() {
		byPlayer.SetPlayer(1, d, twoRows(), 0)
	}
	byRow.Set(1, twoRows(), 0)
	if !reflect.DeepEqual(byPlayer, byRow) {
		t.Errorf("batch %+v, want %+v", byPlayer, byRow)
	}
}
