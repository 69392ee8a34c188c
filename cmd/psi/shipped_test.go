package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/psi-shapley/psi/internal/benchset"
)

// The shipped tables are those that psi is measured on.
func TestShippedTables(t *testing.T) {
	dir := t.TempDir()
	for _, name := range shippedNames() {
		path := filepath.Join(dir, name+".csv")
		o := mustRun(t, "sample", name, "-o", path)
		wantText(t, o.stderr, "CC BY 4.0", "UCI")
		got := readTable(t, path)
		set, err := benchset.Load(name)
		if errors.Is(err, benchset.ErrAbsent) {
			t.Logf("%s is not compared: %v", name, err)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		inputs := set.Table.Columns[:len(set.Table.Columns)-1]
		if len(got.Columns) != len(inputs)+1 || got.Rows() != set.Table.Rows() {
			t.Fatalf("%s has %d columns of %d rows", name, len(got.Columns), got.Rows())
		}
		for i, want := range inputs {
			c := got.Columns[i]
			if c.Name != want.Name || c.Kind != want.Kind || !slices.Equal(c.Observed, want.Observed) || !slices.Equal(c.Numbers, want.Numbers) || !slices.Equal(c.Codes, want.Codes) {
				t.Errorf("%s: column %s is not that of the benchmark", name, c.Name)
			}
		}
	}
}

// Some rows of a real table are drawn by the seed and stay in their order.
func TestShippedSample(t *testing.T) {
	draw := func(seed string) string {
		return mustRun(t, "sample", "bike", "--rows", "50", "--seed", seed, "-o", "-").stdout
	}
	first, again, other := draw("1"), draw("1"), draw("2")
	if first != again || first == other {
		t.Error("the seed does not decide on the rows")
	}
	path := filepath.Join(t.TempDir(), "s.csv")
	mustRun(t, "sample", "bike", "--rows", "50", "-o", path)
	if got := readTable(t, path); got.Rows() != 50 || !slices.IsSorted(got.Column("yr").Numbers) {
		t.Errorf("%d rows, years %v", got.Rows(), got.Column("yr").Numbers)
	}
}

// A large table is written part by part.
func TestSampleMillion(t *testing.T) {
	const rows = 70_000
	path := filepath.Join(t.TempDir(), "m.parquet")
	o := mustRun(t, "sample", "million", "--rows", fmt.Sprint(rows), "-o", path, "--json")
	if doc := wantJSON(t, o, "psi.sample/v1"); doc["rows"] != float64(rows) || doc["target"] != "y" || doc["citation"] != nil {
		t.Errorf("document %v", doc)
	}
	if got := readTable(t, path); got.Rows() != rows || len(got.Columns) != 11 {
		t.Errorf("%d rows of %d columns", got.Rows(), len(got.Columns))
	}
}
