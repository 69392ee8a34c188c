package table

import (
	"bytes"
	"strings"
	"testing"
)

// With SpreadsheetSafe no cell of text and no column name begins as a formula does; numbers
// are written as they are, and without the option nothing changes.
func TestSpreadsheetSafe(t *testing.T) {
	labels := []string{
		"=1+1", "+1+1", "-1+1", "@SUM(A1)", " =1", "\t=1", "\r=1", "\n@a", "\u00a0=1", "\ufeff=1", "＝1", "＋a", "－a", "＠a",
		"-1", "+2.5", "-1e-3", "a=1", "'=1", "", "mail@host", "\"=1", "-",
	}
	want := []string{
		"'=1+1", "'+1+1", "'-1+1", "'@SUM(A1)", "' =1", "'\t=1", "'\r=1", "'\n@a", "'\u00a0=1", "'\ufeff=1", "'＝1", "'＋a", "'－a", "'＠a",
		"-1", "+2.5", "-1e-3", "a=1", "'=1", "", "mail@host", "\"=1", "'-",
	}
	numbers := make([]float64, len(labels))
	for i := range numbers {
		numbers[i] = -float64(i) - 0.5
	}
	content, err := New(CategoryColumn("=cmd|' /C calc'!A0", labels, nil), NumberColumn("-x", numbers, nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []Format{CSV, TSV} {
		write := func(options ...SinkOption) string {
			var out bytes.Buffer
			sink, err := NewSink(&out, format, options...)
			if err != nil {
				t.Fatal(err)
			}
			if err := sink.Write(t.Context(), content); err != nil {
				t.Fatal(err)
			}
			if err := sink.Close(); err != nil {
				t.Fatal(err)
			}
			return out.String()
		}
		read := func(text string) *Table {
			source, err := OpenReader(strings.NewReader(text), format, Options{Categorical: []string{strings.Trim(strings.SplitN(text, "A0", 2)[0]+"A0", `"`)}})
			if err != nil {
				t.Fatal(err)
			}
			all, err := ReadAll(t.Context(), source)
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
		for _, c := range []struct {
			options     []SinkOption
			first, next string
			cells       []string
		}{
			{nil, "=cmd|' /C calc'!A0", "-x", labels},
			{[]SinkOption{SpreadsheetSafe()}, "'=cmd|' /C calc'!A0", "'-x", want},
		} {
			got := read(write(c.options...))
			if got.Columns[0].Name != c.first || got.Columns[1].Name != c.next {
				t.Errorf("columns %q and %q", got.Columns[0].Name, got.Columns[1].Name)
			}
			for row, cell := range c.cells {
				if text := got.Columns[0].Text(row); text != cell {
					t.Errorf("%q is written as %q, want %q", labels[row], text, cell)
				}
				if got.Columns[1].Kind != Number || got.Columns[1].Numbers[row] != numbers[row] {
					t.Errorf("row %d: the number changed to %q", row, got.Columns[1].Text(row))
				}
			}
		}
	}
}
