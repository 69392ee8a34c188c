package encode_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/table"
)

// A table is read by the names of its columns: their order, other columns, and the
// order in which levels first appear do not matter.
func TestColumnsAreFoundByName(t *testing.T) {
	rows := people(t)
	e := fit(t, rows, 3)
	other := people(t)
	slices.Reverse(other.Columns)
	other.Columns = append(other.Columns, table.NumberColumn("not in the model", make([]float64, rows.Rows()), nil))
	town := other.Column("town")
	slices.Reverse(town.Levels)
	for row, code := range town.Codes {
		if town.Observed[row] {
			town.Codes[row] = int32(len(town.Levels)) - 1 - code
		}
	}
	if got, want := encoded(t, e, other), encoded(t, e, rows); !reflect.DeepEqual(got, want) {
		t.Errorf("batch %+v, want %+v", got, want)
	}
}

// Players of a kind come in the order in which columns are named, not in that of the table.
func TestFitTakesTheNamedColumns(t *testing.T) {
	e, err := encode.Fit(people(t), []string{"since", "member", "age"}, 3)
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Players) != 3 || e.Players[0].Name != "member" || e.Players[1].Name != "age" || e.Players[2].Name != "since" {
		t.Errorf("players %+v, want member, age and, as times come last, since", e.Players)
	}
}

func TestErrorsNameTheColumn(t *testing.T) {
	rows := people(t)
	e := fit(t, rows, 3)
	changed := func(change func(of *table.Table)) *table.Table {
		other := people(t)
		change(other)
		return other
	}
	cells := rows.Rows()
	for _, c := range []struct {
		name   string
		column string // empty: the error is not about one
		err    func() error
		says   []string
	}{
		{"fit: no such column", "height", func() error {
			_, err := encode.Fit(rows, []string{"age", "height"}, 3)
			return err
		}, []string{`"height"`}},
		{"fit: no bins", "", func() error {
			_, err := encode.Fit(rows, []string{"age"}, 0)
			return err
		}, []string{"bins", "0"}},
		{"a column is gone", "town", func() error {
			_, err := e.Encode(changed(func(of *table.Table) { of.Columns = of.Columns[1:] }))
			return err
		}, []string{`"town"`}},
		{"a number became a category", "age", func() error {
			_, err := e.Encode(changed(func(of *table.Table) {
				of.Columns[1] = table.CategoryColumn("age", make([]string, cells), nil)
			}))
			return err
		}, []string{`"age"`, "category", "number"}},
		{"a category became a number", "town", func() error {
			_, err := e.Encode(changed(func(of *table.Table) {
				of.Columns[0] = table.NumberColumn("town", make([]float64, cells), nil)
			}))
			return err
		}, []string{`"town"`, "number", "category"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.err()
			if err == nil {
				t.Fatal("no error")
			}
			for _, word := range c.says {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("the error %q does not say %s", err, word)
				}
			}
			if c.column != "" {
				wantTableError(t, err, c.column, -1)
			}
		})
	}
}
