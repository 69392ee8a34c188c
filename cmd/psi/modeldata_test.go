package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
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

// visits is a table of patients with some rows each, who have a level of their own.
func visits(t *testing.T, path string, first, patients int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(first), 0))
	var x, y []float64
	var who []string
	for p := range patients {
		level := rng.NormFloat64()
		for range 12 {
			v := level + .1*rng.NormFloat64()
			x, y, who = append(x, v), append(y, 2*v+.1*rng.NormFloat64()), append(who, fmt.Sprintf("p%d", first+p))
		}
	}
	rows, err := table.New(table.NumberColumn("x", x, nil), table.CategoryColumn("patient", who, nil), table.NumberColumn("y", y, nil))
	if err != nil {
		t.Fatal(err)
	}
	writeTable(t, rows, path)
}

// Drift is told by the column that kept rows together in training, where both tables have it, and so is an audit.
func TestDriftByTheColumnOfValidation(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	visits(t, in("then.csv"), 0, 14)
	visits(t, in("now.csv"), 100, 14)
	mustRun(t, quick("train", in("then.csv"), "--target", "y", "--validation-by", "patient", "-o", in("m.psi"))...)

	o := mustRun(t, "plot", "drift", in("m.psi"), in("now.csv"), "--since", in("then.csv"), "-o", in("d.svg"))
	if !strings.Contains(o.stderr, "0 of 1 columns act differently") || !strings.Contains(o.stderr, "Rows with the same patient may be alike, so chance is estimated from 28 such groups, not from rows.") || strings.Contains(o.stderr, "too few") {
		t.Errorf("said %s", o.stderr)
	}
	rows := readTable(t, in("now.csv"))
	rows.Columns = rows.Columns[:1]
	writeTable(t, rows, in("bare.csv"))
	o = mustRun(t, "plot", "drift", in("m.psi"), in("bare.csv"), "--since", in("then.csv"), "-o", in("e.svg"))
	if !strings.Contains(o.stderr, "1 of 1 columns act differently") || !strings.Contains(o.stderr, `"patient", the --validation-by column, is not in both tables`) || strings.Contains(o.stderr, "such groups") {
		t.Errorf("without the column, said %s", o.stderr)
	}
	if o = mustRun(t, "audit", in("m.psi"), in("now.csv")); !strings.Contains(o.stdout, "± one standard error over groups of rows") {
		t.Errorf("said %s", o.stdout)
	}
}
