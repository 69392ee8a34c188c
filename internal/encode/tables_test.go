package encode_test

import (
	"math"
	"testing"
	"time"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/table"
)

var missing = math.NaN()

// people is a table with a column of every kind, and missing cells in each.
func people(t *testing.T) *table.Table {
	t.Helper()
	day := func(n int) time.Time { return time.Date(2024, 1, n, 0, 0, 0, 0, time.UTC) }
	return tableOf(t,
		table.CategoryColumn("town", []string{"Ulm", "Jena", "", "Ulm", "Bonn", "Jena"}, []bool{true, true, false, true, true, true}),
		table.NumberColumn("age", []float64{20, 40, 60, missing, 100, 30}, nil),
		table.BooleanColumn("member", []bool{true, false, true, true, false, false}, []bool{true, true, true, true, true, false}),
		table.CategoryColumn("sport", []string{"chess", "golf", "golf", "chess", "", "golf"}, []bool{true, true, true, true, false, true}),
		table.TimeColumn("since", []time.Time{day(1), day(2), day(3), day(5), {}, day(31)}, nil),
	)
}

// thrice has every row three times, so that no level is rare.
func thrice(rows *table.Table) *table.Table {
	var three []int
	for row := range rows.Rows() {
		three = append(three, row, row, row)
	}
	return rows.Select(three)
}

func columnNames(of *table.Table) []string {
	var names []string
	for _, c := range of.Columns {
		names = append(names, c.Name)
	}
	return names
}

func tableOf(t *testing.T, columns ...*table.Column) *table.Table {
	t.Helper()
	made, err := table.New(columns...)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// fit learns the encoding of all columns.
func fit(t *testing.T, rows *table.Table, bins int) *encode.Encoder {
	t.Helper()
	e, err := encode.Fit(rows, columnNames(rows), bins)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func encoded(t *testing.T, e *encode.Encoder, rows *table.Table) *encode.Batch {
	t.Helper()
	b, err := e.Encode(rows)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
