package dataset

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/table"
)

// numbersOf reads a source and returns the numbers of its rows, which are its targets.
func numbersOf(t testing.TB, s table.Source) []int {
	t.Helper()
	defer s.Close()
	all, err := table.ReadAll(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]int, all.Rows())
	for i, y := range all.Column("y").Numbers {
		rows[i] = int(y)
	}
	return rows
}

func folds(t testing.TB, tab *table.Table, o Options, count int) *Folds {
	t.Helper()
	f, err := ReadFolds(t.Context(), tab.Source(), o, count)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// Every row is tested once and trains in all other folds, in memory and on disk; folds differ by at most one row, or one patient.
func TestFoldsTestEveryRowOnce(t *testing.T) {
	const rows, count = 503, 4
	for _, by := range []string{"", "patient"} {
		for _, cells := range []int{0, 500} {
			o := usual(t)
			o.By, o.MemoryCells = by, cells
			f := folds(t, people(t, rows), o, count)
			tested := map[int]int{}
			patients := map[int]int{}
			for k := range count {
				test, training := numbersOf(t, f.Test(t.Context(), k)), numbersOf(t, f.Training(t.Context(), k))
				if size, most := float64(len(test)), map[string]float64{"": 1, "patient": 5}[by]; math.Abs(size-float64(rows)/count) > most {
					t.Errorf("by %q: fold %d tests %d of %d rows", by, k, len(test), rows)
				}
				for i, row := range slices.Sorted(slices.Values(slices.Concat(test, training))) {
					if row != i {
						t.Fatalf("by %q, fold %d: row %d is missing or on both sides", by, k, i)
					}
				}
				for _, row := range test {
					tested[row]++
					if in, met := patients[row/5]; by != "" && met && in != k {
						t.Fatalf("patient %d is in two folds", row/5)
					}
					patients[row/5] = k
				}
			}
			if len(tested) != rows {
				t.Errorf("by %q: %d of %d rows are tested", by, len(tested), rows)
			}
			if first := numbersOf(t, f.Test(t.Context(), 0)); first[len(first)-1] < rows/2 {
				t.Error("the first fold is of early rows: a sorted table would be divided by its order")
			}
		}
	}
}

// By order, each fold trains on all rows that are older than those it tests, and blocks follow each other.
func TestFoldsByOrderExpand(t *testing.T) {
	const rows, count = 1000, 4
	tab, day := shuffled(t, rows, 1<<40)
	o := usual(t)
	o.OrderBy, o.MemoryCells = "day", 500
	f := folds(t, tab, o, count)
	known := slices.Sorted(slices.Values(slices.DeleteFunc(slices.Clone(day), math.IsNaN)))
	for k := range count {
		test, training := numbersOf(t, f.Test(t.Context(), k)), numbersOf(t, f.Training(t.Context(), k))
		from, to := len(known)*(k+1)/(count+1), len(known)*(k+2)/(count+1)
		var got []float64
		for _, row := range test {
			got = append(got, day[row])
		}
		slices.Sort(got)
		if !slices.Equal(got, known[from:to]) {
			t.Errorf("fold %d tests %d rows, want places %d to %d in the order", k, len(test), from, to)
		}
		older := 0
		for _, row := range training {
			if day[row] >= got[0] {
				t.Fatalf("fold %d trains on day %g and tests from %g on", k, day[row], got[0])
			}
			if !math.IsNaN(day[row]) {
				older++
			}
		}
		if older != from || len(training) != from+20 {
			t.Errorf("fold %d trains on %d rows, %d of them with a day; want %d and the 20 without", k, len(training), older, from)
		}
	}
}

// Of too many rows to count each, the hashes are divided evenly, and each belongs to one fold.
func TestFoldsOfManyRows(t *testing.T) {
	const count = 7
	parts, err := (&gathered{}).folds(count, Options{})
	if err != nil || len(parts) != count || parts[0].first != 1 || parts[count-1].last != math.MaxUint64 {
		t.Fatalf("%v, %v", parts, err)
	}
	for k, p := range parts {
		if k > 0 && p.first != parts[k-1].last+1 {
			t.Errorf("a gap before fold %d", k)
		}
		if share := float64(p.last-p.first) / math.MaxUint64; math.Abs(share-1.0/count) > 1e-9 {
			t.Errorf("fold %d has a share of %g", k, share)
		}
	}
}

func TestRowsThatDoNotCountAreInNoFold(t *testing.T) {
	tab := people(t, 200)
	tab.Column("y").Observed[3] = false
	tab.Column("weight").Numbers[5] = 0
	o := usual(t)
	o.Weight = "weight"
	f := folds(t, tab, o, 3)
	for k := range 3 {
		all := slices.Concat(numbersOf(t, f.Test(t.Context(), k)), numbersOf(t, f.Training(t.Context(), k)))
		if len(all) != 198 || slices.Contains(all, 5) {
			t.Errorf("fold %d has %d rows", k, len(all))
		}
	}
	if f.Unlabelled != 1 || f.Weightless != 1 {
		t.Errorf("%d rows without a target and %d without a weight", f.Unlabelled, f.Weightless)
	}
}

func TestFoldsThatCannotBe(t *testing.T) {
	tab, _ := shuffled(t, 100, 3)
	for want, change := range map[string]func(*Options) int{
		"only 20 rows, or groups": func(o *Options) int { o.By = "patient"; return 21 },
		"too few different":       func(o *Options) int { o.OrderBy = "day"; return 5 },
		"does not order":          func(o *Options) int { o.OrderBy = "town"; return 5 },
	} {
		o := usual(t)
		count := change(&o)
		if _, err := ReadFolds(t.Context(), tab.Source(), o, count); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestFoldsEndWithTheirContext(t *testing.T) {
	f := folds(t, people(t, 100), usual(t), 2)
	ctx, cancel := context.WithCancel(t.Context())
	s := f.Test(ctx, 0)
	defer s.Close()
	cancel()
	if _, err := s.Next(ctx); err == nil {
		t.Error("rows are read though the context has ended")
	}
}
