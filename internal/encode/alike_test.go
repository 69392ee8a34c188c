package encode_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/table"
)

func alikeOf(chunks ...*table.Table) *encode.Alike {
	var a encode.Alike
	for _, chunk := range chunks {
		a.Add(chunk.Columns[0], func(int) bool { return true })
	}
	return &a
}

func TestAlike(t *testing.T) {
	all := func(n int) []bool { return make([]bool, n) }
	for _, test := range []struct {
		name   string
		column *table.Column
		want   string
	}{
		{"one number", table.NumberColumn("a", []float64{7, 7, 7, 7}, nil), "every cell is the same"},
		{"two numbers", table.NumberColumn("a", []float64{7, 7, 7, 8}, nil), ""},
		{"one number and a gap", table.NumberColumn("a", []float64{7, 7, missing, 7}, nil), ""},
		{"a gap and one number", table.NumberColumn("a", []float64{missing, 7, 7, 7}, nil), ""},
		{"no number", table.NumberColumn("a", []float64{missing, missing}, nil), "every cell is missing"},
		{"one truth", table.BooleanColumn("a", []bool{true, true}, nil), "every cell is the same"},
		{"one label", table.CategoryColumn("a", []string{"u", "u", "u", "u"}, nil), "every cell is the same"},
		{"no label", table.CategoryColumn("a", []string{"", ""}, all(2)), "every cell is missing"},
		{"rare labels", table.CategoryColumn("a", []string{"u", "v", "u", "v", "w"}, nil), "no label is in three rows or more"},
		{"a rare label among others", table.CategoryColumn("a", []string{"u", "u", "v", "u"}, nil), ""},
		{"a label that is known late", table.CategoryColumn("a", []string{"u", "v", "w", "x", "v", "v"}, nil), ""},
		{"rare labels and a gap", table.CategoryColumn("a", []string{"u", "v", "", "w"}, []bool{true, true, false, true}), ""},
	} {
		if got := alikeOf(tableOf(t, test.column)).Why(); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// A column is alike if, and only if, an encoder writes the same for each of its cells.
func TestAlikeIsWhatTheEncoderReads(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	alike := 0
	for range 2000 {
		n, values, gaps := 1+rng.IntN(8), 1+rng.IntN(4), float64(rng.IntN(2))*rng.Float64()
		numbers, labels, observed := make([]float64, n), make([]string, n), make([]bool, n)
		for i := range n {
			numbers[i], observed[i] = float64(rng.IntN(values)), rng.Float64() >= gaps
			labels[i] = fmt.Sprint(numbers[i])
		}
		column := table.NumberColumn("a", numbers, observed)
		if rng.IntN(2) == 0 {
			column = table.CategoryColumn("a", labels, observed)
		}
		rows := tableOf(t, column)
		b := encoded(t, fit(t, rows, 4), rows)
		same := true
		for i := range n {
			same = same && reflect.DeepEqual(b.Slice(i, i+1), b.Slice(0, 1))
		}
		cut := rng.IntN(n + 1)
		a := alikeOf(rows.Select(rowsFrom(0, cut)), rows.Select(rowsFrom(cut, n)))
		if a.Differ() == same || (a.Why() == "") == same {
			t.Fatalf("%v %v: alike %v, but the encoder reads the same: %v", column, observed, !a.Differ(), same)
		}
		if same {
			alike++
		}
	}
	if alike < 100 || alike > 1900 {
		t.Errorf("%d of 2000 columns are alike: the test sees one case only", alike)
	}
}

// Rows that are not asked about do not count.
func TestAlikeOfSomeRows(t *testing.T) {
	var a encode.Alike
	a.Add(table.NumberColumn("a", []float64{1, 2, 1, missing}, nil), func(row int) bool { return row%2 == 0 })
	if a.Differ() {
		t.Error("a row that is left out counts")
	}
}
