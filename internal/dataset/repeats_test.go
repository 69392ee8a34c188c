package dataset

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/psi-shapley/psi/table"
)

// copied is a table of different rows, of which the given ones are there several times, in random order.
func copied(t *testing.T, rng *rand.Rand, different, repeated, times int, number func(i int) float64) (*table.Table, int) {
	t.Helper()
	var x []float64
	var label []string
	seen := []bool(nil)
	for i := range different {
		n := 1
		if i < repeated {
			n = times
		}
		for range n {
			x, label, seen = append(x, number(i)), append(label, fmt.Sprint("l", i%7)), append(seen, i%5 > 0)
		}
	}
	order := rng.Perm(len(x))
	rows, err := table.New(table.NumberColumn("x", x, nil), table.CategoryColumn("c", label, seen), table.NumberColumn("y", x, nil))
	if err != nil {
		t.Fatal(err)
	}
	return rows.Select(order), len(x)
}

func found(rows *table.Table, counts func(int) bool) Repeats {
	r := newRepeats(Options{Inputs: []string{"x", "c"}, Target: "y"})
	for from := 0; from < rows.Rows(); from += 1000 {
		part := make([]int, min(1000, rows.Rows()-from))
		for i := range part {
			part[i] = from + i
		}
		r.add(rows.Select(part), func(i int) bool { return counts(from + i) })
	}
	return r.finish()
}

// Few rows are counted exactly, and many by a sample that has all copies of its rows.
func TestRepeatsAreCounted(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 0))
	all := func(int) bool { return true }
	values := make([]float64, 300_000)
	for i := range values {
		values[i] = rng.NormFloat64()
	}
	drawn := func(i int) float64 { return values[i] }
	rows, n := copied(t, rng, 3000, 500, 4, drawn)
	if got := found(rows, all); got != (Repeats{Rows: n, Different: 3000, Copies: 2000, Distinctive: true}) {
		t.Errorf("%+v", got)
	}
	if got := found(rows, func(i int) bool { return i < 100 }); got.Rows != 100 {
		t.Errorf("rows that do not count are counted: %+v", got)
	}
	rows, n = copied(t, rng, 3000, 0, 0, drawn)
	if got := found(rows, all); got != (Repeats{Rows: n, Different: n, Distinctive: true}) {
		t.Errorf("%+v", got)
	}
	rows, n = copied(t, rng, len(values), len(values)/3, 2, drawn)
	got := found(rows, all)
	share := float64(got.Copies) / float64(got.Rows)
	if !got.Sample || got.Rows > 2*maxHashes || got.Rows < maxHashes/3 || share < .48 || share > .52 {
		t.Errorf("%+v of %d rows: copies are %.3f, want .5", got, n, share)
	}
	rows, _ = copied(t, rng, 3000, 500, 4, func(i int) float64 { return float64(i % 50) })
	if got := found(rows, all); got.Distinctive {
		t.Errorf("whole numbers that chance repeats: %+v", got)
	}
}
