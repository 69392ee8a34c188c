package benchset

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/psi-shapley/psi/table"
)

func TestFoldsOfFirstRows(t *testing.T) {
	want := []int{0, 0, 3, 3, 3, 2, 2, 2, 3, 1, 3, 3}
	for row, want := range want {
		if got, _ := part(row); got != want {
			t.Errorf("row %d is tested by fold %d, want %d", row, got, want)
		}
	}
}

func numbered(t *testing.T, rows int) *Set {
	t.Helper()
	tab, err := table.New(table.NumberColumn(Target, make([]float64, rows), nil))
	if err != nil {
		t.Fatal(err)
	}
	return &Set{Table: tab, Target: Target}
}

func TestFoldsPartitionRows(t *testing.T) {
	const rows = 10_000
	set := numbered(t, rows)
	tested := make([]int, rows)
	for k := range Folds {
		train, validation, test := set.Fold(k)
		for _, row := range test {
			tested[row]++
		}
		for name, part := range map[string]struct {
			rows  []int
			share float64
		}{
			"train": {train, 0.72}, "validation": {validation, 0.08}, "test": {test, 0.2},
		} {
			if !slices.IsSorted(part.rows) {
				t.Errorf("fold %d: %s is not in row order", k, name)
			}
			if share := float64(len(part.rows)) / rows; math.Abs(share-part.share) > 0.02 {
				t.Errorf("fold %d: %s has %.3f of the rows, want %.2f", k, name, share, part.share)
			}
		}
		all := slices.Sorted(slices.Values(slices.Concat(train, validation, test)))
		if len(all) != rows || len(slices.Compact(all)) != rows {
			t.Errorf("fold %d: the parts do not partition the rows", k)
		}
	}
	if slices.Max(tested) != 1 || slices.Min(tested) != 1 {
		t.Error("not every row is tested once")
	}
}

func TestFoldOutOfRangePanics(t *testing.T) {
	set := numbered(t, 10)
	for _, k := range []int{-1, Folds} {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Errorf("fold %d: no panic", k)
				}
			}()
			set.Fold(k)
		})
	}
}
