package table

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

// allFormats are the formats a table can be written in and read from.
func allFormats() map[string]Format {
	return map[string]Format{"csv": CSV, "tsv": TSV, "parquet": Parquet, "arrow stream": Arrow, "arrow file": ArrowFile}
}

// everyKind has a missing cell, a first cell and an odd value in a column of each kind.
func everyKind(t testing.TB) *Table {
	t.Helper()
	morning := time.Date(2011, 3, 4, 5, 6, 7, 123456000, time.UTC)
	made, err := New(
		NumberColumn("amount", []float64{1.5, -2e-300, 0, 12345678901234567890}, []bool{true, true, false, true}),
		CategoryColumn("label, with; marks", []string{"a\"b", "", "two\r\nlines", " padded "}, []bool{true, false, true, true}),
		BooleanColumn("answer", []bool{true, false, true, false}, []bool{true, true, false, true}),
		TimeColumn("when", []time.Time{morning, {}, time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}, nil),
	)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// difference says how two tables differ in names, kinds or cells; empty if not.
// Codes may differ: what counts is the label.
func difference(want, got *Table) string {
	if err := sameColumns(want, got); err != nil {
		return err.Error()
	}
	if want.Rows() != got.Rows() {
		return fmt.Sprintf("%d rows, want %d", got.Rows(), want.Rows())
	}
	for i, w := range want.Columns {
		g := got.Columns[i]
		for row := range w.Len() {
			if w.Observed[row] != g.Observed[row] || w.Text(row) != g.Text(row) {
				return fmt.Sprintf("column %q row %d: %q (observed %v), want %q (observed %v)",
					w.Name, row, g.Text(row), g.Observed[row], w.Text(row), w.Observed[row])
			}
			if w.Kind == Category && !w.Observed[row] && g.Codes[row] != -1 || w.Kind != Category && !w.Observed[row] && g.Numbers[row] != 0 {
				return fmt.Sprintf("column %q row %d: a missing cell holds a value", w.Name, row)
			}
		}
	}
	return ""
}

func wantSame(t testing.TB, want, got *Table) {
	t.Helper()
	if d := difference(want, got); d != "" {
		t.Fatal(d)
	}
}

// written is the table in the format, in chunks of the given number of rows.
func written(t testing.TB, table *Table, format Format, chunkRows int) []byte {
	t.Helper()
	var out bytes.Buffer
	sink, err := NewSink(&out, format)
	if err != nil {
		t.Fatal(err)
	}
	for from := 0; from == 0 || from < table.Rows(); from += chunkRows {
		if err := sink.Write(context.Background(), table.slice(from, min(from+chunkRows, table.Rows()))); err != nil {
			t.Fatal(err)
		}
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// readWhole infers kinds from all rows, as Read does.
func readWhole(r io.Reader, format Format, options Options) (*Table, error) {
	options.SampleRows = -1
	source, err := OpenReader(r, format, options)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	return ReadAll(context.Background(), source)
}

func mustRead(t testing.TB, text string, options Options) *Table {
	t.Helper()
	table, err := readWhole(strings.NewReader(text), CSV, options)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// texts are the cells of a column, "·" for missing ones.
func texts(c *Column) []string {
	cells := make([]string, c.Len())
	for row := range cells {
		if cells[row] = c.Text(row); !c.Observed[row] {
			cells[row] = "·"
		}
	}
	return cells
}

func wantTexts(t testing.TB, c *Column, want ...string) {
	t.Helper()
	if got := texts(c); !slices.Equal(got, want) {
		t.Errorf("column %q is %q, want %q", c.Name, got, want)
	}
}
