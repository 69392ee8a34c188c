package dataset

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/table"
)

// shuffled is people with a column "day" of few values in no order. Some rows lack it.
func shuffled(t testing.TB, rows, days int) (tab *table.Table, day []float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 3))
	day = make([]float64, rows)
	for i := range day {
		if day[i] = float64(rng.IntN(days)) - float64(days)/2; i%50 == 7 {
			day[i] = math.NaN()
		}
	}
	tab = people(t, rows)
	tab.Columns = append(tab.Columns, table.NumberColumn("day", day, nil))
	return tab, day
}

func TestRowsAfterAValueValidate(t *testing.T) {
	const rows, after = 1000, 17.0
	tab, day := shuffled(t, rows, 60)
	o := usual(t)
	o.OrderBy, o.After = "day", new(after)
	for _, o.MemoryCells = range []int{0, 500} { // in memory, and on disk
		ds := read(t, tab, o)
		var want []int
		for i, d := range day {
			if d > after {
				want = append(want, i)
			}
		}
		if got := rowsOf(t, ds, ds.Validation); !slices.Equal(got, want) {
			t.Errorf("%d rows validate, want the %d whose day is after %g", len(got), len(want), after)
		}
		if ds.Training.Len() != rows-len(want) {
			t.Errorf("%d rows train, want %d", ds.Training.Len(), rows-len(want))
		}
		if !slices.ContainsFunc(ds.Notes, func(n string) bool { return strings.Contains(n, `"day": 20 rows have no value`) }) {
			t.Errorf("no note counts the rows without a day: %q", ds.Notes)
		}
	}
}

// The newest rows are compared with those of a sorted copy: no validation row is older than a training row, equal days stay
// together, and no other day as the bound comes nearer to the wanted share.
func TestNewestRowsValidate(t *testing.T) {
	for _, days := range []int{3, 40, 1 << 40} {
		tab, day := shuffled(t, 1000, days)
		for _, share := range []float64{0.001, 0.1, 0.45} {
			o := usual(t)
			o.OrderBy, o.Fraction, o.MemoryCells = "day", share, 500
			ds := read(t, tab, o)
			oldest, newest := math.Inf(1), math.Inf(-1)
			for _, row := range rowsOf(t, ds, ds.Validation) {
				oldest = min(oldest, day[row])
			}
			for _, row := range rowsOf(t, ds, whole(t, ds.Training)) {
				if !math.IsNaN(day[row]) {
					newest = max(newest, day[row])
				}
			}
			if !(newest < oldest) {
				t.Errorf("%d days, share %g: the training rows end at %g, the validation rows begin at %g", days, share, newest, oldest)
			}
			known := slices.DeleteFunc(slices.Clone(day), math.IsNaN)
			nearest := math.Inf(1)
			want := max(1, math.Round(share*float64(len(known))))
			for _, bound := range known {
				held := 0
				for _, d := range known {
					if d >= bound {
						held++
					}
				}
				nearest = min(nearest, math.Abs(float64(held)-want))
			}
			if got := math.Abs(float64(ds.Validation.Len()) - want); got != nearest {
				t.Errorf("%d days, share %g: %d rows validate, want %g or as near as %g", days, share, ds.Validation.Len(), want, nearest)
			}
		}
	}
}

func TestTimesOrderRows(t *testing.T) {
	o := usual(t)
	o.OrderBy = "visit"
	ds := read(t, people(t, 500), o)
	if got := rowsOf(t, ds, ds.Validation); len(got) != 50 || got[0] != 450 || got[49] != 499 {
		t.Errorf("%d rows from %d on validate, want the last 50", len(got), got[0])
	}
}

func TestKeysKeepTheOrder(t *testing.T) {
	inOrder := []float64{math.Inf(-1), -math.MaxFloat64, -3, -0x1p-1074, 0, 0x1p-1074, 1, 2, math.MaxFloat64, math.Inf(1)}
	for i := 1; i < len(inOrder); i++ {
		if keyOf(inOrder[i-1]) >= keyOf(inOrder[i]) {
			t.Errorf("the key of %g is not below that of %g", inOrder[i-1], inOrder[i])
		}
	}
	if keyOf(math.Copysign(0, -1)) != keyOf(0) || keyOf(math.Inf(-1)) <= unordered {
		t.Error("−0 differs from 0, or a number has the key of a missing cell")
	}
}

func TestOrderThatDividesNothing(t *testing.T) {
	tab, _ := shuffled(t, 100, 1)
	tab.Columns = append(tab.Columns, table.NumberColumn("none", slices.Repeat([]float64{math.NaN()}, 100), nil))
	for name, c := range map[string]struct {
		column string
		after  *float64
		want   string
	}{
		"nothing after":       {"visit", new(1e12), "no row is after"},
		"all after":           {"visit", new(-1e12), "training needs at least 10"},
		"one value":           {"day", nil, "too many rows share the newest value"},
		"no value":            {"none", nil, "no row has a value"},
		"a category":          {"town", nil, "does not order the rows"},
		"no such column":      {"when", nil, "no such column"},
		"few rows to learn":   {"y", new(5.0), "leaves 6 to train on"},
		"no value, but after": {"none", new(1.0), "no row is after"},
	} {
		o := usual(t)
		o.OrderBy, o.After = c.column, c.after
		_, err := Read(t.Context(), tab.Source(), o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
