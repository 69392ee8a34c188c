package dataset

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/psi-shapley/psi/table"
)

func each[T any](n int, cell func(i int) T) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = cell(i)
	}
	return all
}

// traitsOf are those of columns of a table, which is read in chunks of the given size.
func traitsOf(t *testing.T, chunk int, change func(*Options), columns ...*table.Column) map[string]Trait {
	t.Helper()
	n := columns[0].Len()
	tab, err := table.New(append(slices.Clone(columns), table.NumberColumn("y", each(n, func(i int) float64 { return float64(i * i % 17) }), nil))...)
	if err != nil {
		t.Fatal(err)
	}
	o := usual(t)
	o.Inputs = each(len(columns), func(i int) string { return columns[i].Name })
	found := map[string]Trait{}
	o.Choose = func(all []Trait) []string {
		for _, trait := range all {
			found[trait.Column] = trait
		}
		return o.Inputs
	}
	if change != nil {
		change(&o)
	}
	ds, err := Read(context.Background(), &cut{Source: tab.Source(), rows: chunk}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ds.Close() })
	return found
}

// cut hands a table out in smaller chunks.
type cut struct {
	table.Source
	rows int
	rest *table.Table
}

func (c *cut) Next(ctx context.Context) (*table.Table, error) {
	if c.rest == nil || c.rest.Rows() == 0 {
		var err error
		if c.rest, err = c.Source.Next(ctx); err != nil {
			return nil, err
		}
	}
	n := min(c.rows, c.rest.Rows())
	head := c.rest.Select(each(n, func(i int) int { return i }))
	c.rest = c.rest.Select(each(c.rest.Rows()-n, func(i int) int { return n + i }))
	return head, nil
}

func TestIdentifiers(t *testing.T) {
	const n = 60
	day := func(i int) time.Time { return time.Date(2024, 1, 1+i, 0, 0, 0, 0, time.UTC) }
	text := func(i int) string { return fmt.Sprint("customer ", i) }
	gap := each(n, func(i int) bool { return i != 7 })
	const counts, differs = "it counts the rows", "every text is different"
	for _, test := range []struct {
		name   string
		column *table.Column
		want   string
	}{
		{"from 0", table.NumberColumn("a", each(n, func(i int) float64 { return float64(i) }), nil), counts},
		{"from 1", table.NumberColumn("a", each(n, func(i int) float64 { return float64(i + 1) }), nil), counts},
		{"from anywhere", table.NumberColumn("a", each(n, func(i int) float64 { return float64(i - 3000) }), nil), counts},
		{"a gap in counting", table.NumberColumn("a", each(n, func(i int) float64 { return float64(i + i/50) }), nil), ""},
		{"a number twice", table.NumberColumn("a", each(n, func(i int) float64 { return float64(i - i/59) }), nil), ""},
		{"descending", table.NumberColumn("a", each(n, func(i int) float64 { return float64(n - i) }), nil), ""},
		{"by two", table.NumberColumn("a", each(n, func(i int) float64 { return float64(2 * i) }), nil), ""},
		{"a missing number", table.NumberColumn("a", each(n, func(i int) float64 { return float64(i) }), gap), ""},
		{"fractions that count", table.NumberColumn("a", each(n, func(i int) float64 { return float64(i) + 0.5 }), nil), ""},
		{"unique fractions", table.NumberColumn("a", each(n, func(i int) float64 { return float64(i) * 1.37 }), nil), ""},
		{"numbers too large to count", table.NumberColumn("a", each(n, func(i int) float64 { return 0x1p60 + float64(i) }), nil), ""},
		{"days", table.TimeColumn("a", each(n, day), nil), ""},
		{"texts", table.CategoryColumn("a", each(n, text), nil), differs},
		{"texts and a gap", table.CategoryColumn("a", each(n, text), gap), differs},
		{"one text twice", table.CategoryColumn("a", each(n, func(i int) string { return text(i % (n - 1)) }), nil), ""},
	} {
		for _, chunk := range []int{7, n} {
			if got := traitsOf(t, chunk, nil, test.column)["a"].Identifier; got != test.want {
				t.Errorf("%s, in chunks of %d: %q, want %q", test.name, chunk, got, test.want)
			}
		}
	}
	few := table.CategoryColumn("a", each(minIdentified-1, text), nil)
	if got := traitsOf(t, n, nil, few)["a"].Identifier; got != "" {
		t.Errorf("%d texts: %q", minIdentified-1, got)
	}
}

// Only training rows say whether a column does.
// Sentences are text, even if a few are alike; names, codes and labels that come again are not.
func TestText(t *testing.T) {
	const n = 300
	sentence := func(i int) string { return fmt.Sprintf("customer %d called about the bill", i) }
	label := func(name string, cell func(i int) string) *table.Column {
		return table.CategoryColumn(name, each(n, cell), nil)
	}
	for _, chunk := range []int{7, n} {
		found := traitsOf(t, chunk, nil,
			label("remark", sentence),
			label("alike", func(i int) string { return sentence(i % 250) }),
			label("choice", func(i int) string { return sentence(i % 30) }),
			label("id", func(i int) string { return fmt.Sprint("id", i) }),
			label("name", func(i int) string { return fmt.Sprint("Ann Bee ", i) }),
			table.CategoryColumn("few", each(n, sentence), each(n, func(i int) bool { return i < minIdentified-1 })),
			table.NumberColumn("x", each(n, func(i int) float64 { return float64(i) }), nil),
		)
		for name, want := range map[string][2]string{
			"remark": {"free text of about 6 words", ""}, "alike": {"free text of about 6 words", ""}, "choice": {}, "id": {"", "every text is different"},
			"name": {"", "every text is different"}, "few": {}, "x": {"", "it counts the rows"},
		} {
			if got := found[name]; got.Text != want[0] || got.Identifier != want[1] {
				t.Errorf("chunks of %d: %s is %+v, want %q", chunk, name, got, want)
			}
		}
	}
}

func TestNullColumns(t *testing.T) {
	const n = 200
	side := each(n, func(i int) float64 { return float64(i / 10) })
	label := func(k int) func(int) string { return func(i int) string { return fmt.Sprint("l", i/k) } }
	columns := []*table.Column{
		table.NumberColumn("constant", each(n, func(int) float64 { return 3 }), nil),
		table.NumberColumn("sparse", each(n, func(int) float64 { return 3 }), each(n, func(i int) bool { return i%2 == 0 })),
		table.CategoryColumn("rare", each(n, label(2)), nil),
		table.CategoryColumn("common", each(n, label(20)), nil),
		table.NumberColumn("side", side, nil),
	}
	for _, limit := range []int{0, 100} { // in memory, and on disk
		got := traitsOf(t, 64, func(o *Options) { o.MemoryCells = limit }, columns...)
		for name, want := range map[string]string{
			"constant": "every cell is the same", "rare": "no label is in three rows or more", "sparse": "", "common": "", "side": "",
		} {
			if got[name].Null != want {
				t.Errorf("limit %d: %s is %q, want %q", limit, name, got[name].Null, want)
			}
		}
	}

	o := usual(t)
	s := (&gathered{labelled: n, rows: n, units: rowUnits(o.Seed, n)}).split(o)
	validates := each(n, func(i int) bool { return hashRow(o.Seed, i) <= s.validationKeys.last })
	if !slices.Contains(validates, true) || !slices.Contains(validates, false) {
		t.Fatal("all rows are on one side")
	}
	number := func(yes bool) float64 {
		if yes {
			return 1
		}
		return 0
	}
	only := table.NumberColumn("only", each(n, func(i int) float64 { return number(validates[i]) }), nil)
	if got := traitsOf(t, 64, nil, append(columns, only)...)["only"]; got.Null != "every cell is the same" {
		t.Errorf("a column that varies in validation rows alone: %+v", got)
	}
}

func rowUnits(seed uint64, n int) map[uint64]int {
	units := map[uint64]int{}
	for i := range n {
		units[hashRow(seed, i)]++
	}
	return units
}

// What is not chosen is no player, and its gaps are no level.
func TestChosenInputs(t *testing.T) {
	o := usual(t)
	o.MissingAsLevel = []string{"x", "town"}
	o.Choose = func([]Trait) []string { return []string{"x", "visit"} }
	ds := read(t, people(t, 200), o)
	if names := each(len(ds.Encoder.Players), func(i int) string { return ds.Encoder.Players[i].Name }); !slices.Equal(names, []string{"x", "visit"}) {
		t.Errorf("players %v", names)
	}
	if !ds.Encoder.Players[0].Gap {
		t.Error("the gaps of x are no level")
	}
}
