package encode_test

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/table"
)

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
