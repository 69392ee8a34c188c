package main

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/internal/synth"
	"github.com/psi-shapley/psi/table"
)

// Rows are drawn evenly from all over the table, each once, with its own cells and in order.
func TestReservoir(t *testing.T) {
	const rows, most = 30000, 3000
	numbers, labels := make([]float64, rows), make([]string, rows)
	for i := range numbers {
		numbers[i], labels[i] = float64(i), fmt.Sprint("l", i/1000)
	}
	path := filepath.Join(t.TempDir(), "t.csv")
	whole, err := table.New(table.NumberColumn("n", numbers, nil), table.CategoryColumn("c", labels, nil))
	if err != nil {
		t.Fatal(err)
	}
	writeTable(t, whole, path)
	source, err := table.Open(path, table.Options{ChunkRows: 700}) // labels grow from chunk to chunk
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	sample, err := reservoir(t.Context(), source, most)
	if err != nil {
		t.Fatal(err)
	}
	drawn, at := sample.Rows()
	if drawn.Rows() != most || len(at) != most || sample.Seen() != rows {
		t.Fatalf("%d of %d rows", drawn.Rows(), sample.Seen())
	}
	n, tenths := drawn.Column("n").Numbers, make([]float64, 10)
	for i, x := range n {
		tenths[int(x)*10/rows]++
		if i > 0 && x <= n[i-1] || drawn.Column("c").Text(i) != labels[int(x)] || at[i] != int(x) {
			t.Fatalf("row %d is %v with label %s", i, x, drawn.Column("c").Text(i))
		}
	}
	for i, count := range tenths {
		if math.Abs(count-most/10) > 5*math.Sqrt(most/10) {
			t.Errorf("%v rows of tenth %d, want about %d", count, i, most/10)
		}
	}
}

// The order of the rows is no drift: of long tables, rows from all over are compared.
func TestDriftOfSortedTables(t *testing.T) {
	s, err := synth.Generate("synth1", 3*plotRows, 2)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := s.Table()
	if err != nil {
		t.Fatal(err)
	}
	order := make([]int, rows.Rows())
	for i := range order {
		order[i] = i
	}
	x := rows.Column("x1").Numbers
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	dir := t.TempDir()
	rising, falling, data := filepath.Join(dir, "rising.csv"), filepath.Join(dir, "falling.csv"), filepath.Join(dir, "d.csv")
	writeTable(t, rows.Select(order), rising)
	slices.Reverse(order)
	writeTable(t, rows.Select(order), falling)

	o := mustRun(t, "plot", "drift", fixtures.model, falling, "--since", rising, "-o", filepath.Join(dir, "d.svg"), "--data", data)
	if !strings.Contains(o.stderr, "0 of 3 columns act differently") || strings.Count(o.stderr, "compared by 5,000 of 15,000 rows") != 2 {
		t.Errorf("said %s", o.stderr)
	}
	for _, p := range readTable(t, data).Column("p").Numbers {
		if !(p > .05) {
			t.Errorf("p = %v without an alarm", p)
		}
	}
}
