package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/table"
)

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
