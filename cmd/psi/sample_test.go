package main

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/internal/benchset"
	"github.com/psi-shapley/psi/internal/synth"
)

// Tables with a truth: columns of both files, and attributions that add up to expected_y but for a constant.
func TestSampleTruths(t *testing.T) {
	for name, inputs := range map[string]string{
		"synth3": "x1,x2,x3",
		"gauss":  "x1,x2,x3,x4,x5",
		"copy":   "x1,x2,x3,x4,x5,x2_copy",
		"null":   "x1,x2,x3,x4,x5,x6,x7,x8,x9,x10",
		"logit":  "x1,x2,x3,x4,x5",
		"gaps":   "x1,x2,x3,x4,x5",
	} {
		dir := t.TempDir()
		table, truth := filepath.Join(dir, "t.csv"), filepath.Join(dir, "truth.csv")
		mustRun(t, "sample", name, "--rows", "60", "--seed", "3", "-o", table, "--truth", truth)
		data, told := readTable(t, table), readTable(t, truth)
		if got := strings.Join(names(data), ","); got != inputs+",y" || data.Rows() != 60 {
			t.Errorf("%s: %d rows of %s", name, data.Rows(), got)
		}
		columns := strings.Split(inputs, ",")
		want := []string{"row"}
		for _, prefix := range []string{"mean_", "std_", "draw_"} {
			for _, c := range columns {
				if prefix == "mean_" || name == "synth3" {
					want = append(want, prefix+c)
				}
			}
		}
		if want = append(want, "noise_std", "expected_y"); !slices.Equal(names(told), want) {
			t.Errorf("%s: the truth has columns %v, want %v", name, names(told), want)
		}
		var base []float64
		for i := range told.Rows() {
			left := told.Column("expected_y").Numbers[i]
			for _, c := range columns {
				left -= told.Column("mean_" + c).Numbers[i]
			}
			base = append(base, left)
		}
		if slices.Max(base)-slices.Min(base) > 1e-9 {
			t.Errorf("%s: expected_y without attributions is from %g to %g", name, slices.Min(base), slices.Max(base))
		}
	}
}

// --rho is the correlation: one that is all but 1 makes columns all but equal, and it is in the document.
func TestSampleRho(t *testing.T) {
	draw := func(args ...string) (apart float64, doc map[string]any) {
		path := filepath.Join(t.TempDir(), "t.csv")
		o := mustRun(t, slices.Concat([]string{"sample", "gauss", "--rows", "200", "-o", path, "--json"}, args)...)
		rows := readTable(t, path)
		for i, x := range rows.Column("x1").Numbers {
			apart = max(apart, math.Abs(x-rows.Column("x2").Numbers[i]))
		}
		return apart, wantJSON(t, o, "psi.sample/v1")
	}
	if apart, doc := draw("--rho", ".9999"); apart > .1 || doc["rho"] != .9999 {
		t.Errorf("x1 and x2 are up to %g apart; document %v", apart, doc)
	}
	usual, doc := draw()
	if usual < 1 || doc["rho"] != synth.DefaultRho {
		t.Errorf("x1 and x2 are up to %g apart; document %v", usual, doc)
	}
	if same, _ := draw("--rho", fmt.Sprint(synth.DefaultRho)); same != usual {
		t.Error("the default correlation is another when it is given")
	}
}

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
