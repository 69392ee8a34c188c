package table

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDialects(t *testing.T) {
	for _, c := range []struct {
		name, text string
		options    Options
		columns    map[string][]string
	}{
		{
			name: "plain", text: "a,b\n1,x\n2,y\n",
			columns: map[string][]string{"a": {"1", "2"}, "b": {"x", "y"}},
		},
		{
			name: "no last line end", text: "a,b\n1,x\n2,y",
			columns: map[string][]string{"a": {"1", "2"}, "b": {"x", "y"}},
		},
		{
			name: "CRLF and blank last lines", text: "a,b\r\n1,x\r\n\r\n \r\n",
			columns: map[string][]string{"a": {"1"}, "b": {"x"}},
		},
		{
			name: "byte order mark", text: "\ufeffa,b\n1,x\n",
			columns: map[string][]string{"a": {"1"}, "b": {"x"}},
		},
		{
			name: "semicolons, with commas in cells", text: "a;b\n1;x,y,z\n2;u,v,w\n",
			columns: map[string][]string{"a": {"1", "2"}, "b": {"x,y,z", "u,v,w"}},
		},
		{
			name: "tabs", text: "a\tb\n1\t\n\tx\n",
			columns: map[string][]string{"a": {"1", "·"}, "b": {"·", "x"}},
		},
		{
			name: "delimiter named", text: "a;b,c\n1;2,3\n", options: Options{Delimiter: ';'},
			columns: map[string][]string{"a": {"1"}, "b,c": {"2,3"}},
		},
		{
			name: "spaces as delimiter", text: "A11 6\nA12 48\n", options: Options{Delimiter: ' ', NoHeader: true},
			columns: map[string][]string{"x0": {"A11", "A12"}, "x1": {"6", "48"}},
		},
		{
			name: "quotes", text: "a,b\n\"1\",\"x,\"\"y\"\"\"\n2,\"line 1\nline 2\r\n\"\n",
			columns: map[string][]string{"a": {"1", "2"}, "b": {`x,"y"`, "line 1\nline 2\r\n"}},
		},
		{
			name: "spaces are trimmed outside quotes only", text: "a , b\n 1 ,\t\" x \" \n2, y z \n",
			columns: map[string][]string{"a": {"1", "2"}, "b": {" x ", "y z"}},
		},
		{
			name: "quotes inside a cell", text: "a,b\n5\" pipe,say \"hi\"\n",
			columns: map[string][]string{"a": {`5" pipe`}, "b": {`say "hi"`}},
		},
		{
			name: "missing tokens", text: "a,b\nNA,n/a\nnan,NULL\n?,\"\"\n1,x\n",
			columns: map[string][]string{"a": {"·", "·", "·", "1"}, "b": {"·", "·", "·", "x"}},
		},
		{
			name: "own missing tokens", text: "a,b\n-9,unknown\n1,x\n", options: Options{Missing: []string{"-9", "UNKNOWN"}},
			columns: map[string][]string{"a": {"·", "1"}, "b": {"·", "x"}},
		},
		{
			name: "no header", text: "1,x\n2,y\n", options: Options{NoHeader: true},
			columns: map[string][]string{"x0": {"1", "2"}, "x1": {"x", "y"}},
		},
		{name: "column without a name", text: ",a\n0,1\n", columns: map[string][]string{"x0": {"0"}, "a": {"1"}}},
		{name: "lines in names", text: "\"a\r\nb\",c\r\n1,2\r\n", columns: map[string][]string{"a\r\nb": {"1"}, "c": {"2"}}},
		{name: "one column", text: "a\n1\n\"\"\n3\n", columns: map[string][]string{"a": {"1", "·", "3"}}},
		{name: "header only", text: "a,b\n", columns: map[string][]string{"a": {}, "b": {}}},
		{
			name: "chosen columns", text: "a,b\n1,x\n", options: Options{Keep: func(name string) bool { return name == "b" }},
			columns: map[string][]string{"b": {"x"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			check := func(r io.Reader) {
				t.Helper()
				table, err := readWhole(r, CSV, c.options)
				if err != nil {
					t.Fatal(err)
				}
				if len(table.Columns) != len(c.columns) {
					t.Fatalf("%d columns, want %d", len(table.Columns), len(c.columns))
				}
				for name, want := range c.columns {
					wantTexts(t, table.Column(name), want...)
				}
			}
			check(strings.NewReader(c.text))
			check(bytes.NewReader(packed(c.text)))
		})
	}
}

func packed(text string) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write([]byte(text)); err != nil {
		panic(err) // a buffer takes everything
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}

func TestFiveThousandColumns(t *testing.T) {
	const columns, rows = 5000, 40
	var text strings.Builder
	for i := range columns {
		fmt.Fprintf(&text, "column %d;", i)
	}
	text.WriteString("last\n")
	for row := range rows {
		for i := range columns {
			fmt.Fprintf(&text, "%d;", row*columns+i)
		}
		text.WriteString("x\n")
	}
	table := mustRead(t, text.String(), Options{})
	if len(table.Columns) != columns+1 || table.Rows() != rows {
		t.Fatalf("%d columns, %d rows", len(table.Columns), table.Rows())
	}
	if got := table.Column("column 4999").Numbers[39]; got != 39*columns+4999 {
		t.Errorf("last number is %v", got)
	}
}

func TestSniffing(t *testing.T) {
	for text, want := range map[string]byte{
		"":                          ',',
		"a":                         ',',
		"a,b;c\n1,2;3\n":            ',',
		"a;b;c\n1,5;2,5;3,5\n":      ';',
		"a;b\n\"1;2\";3\n":          ';',
		"a\tb,c\n1\t2,3\n1\t2\n":    '\t',
		"a,b\n1,2\n1;2;3,4\n":       ',',
		"\"a;b\"\n1\n":              ',',
		"a,b\n1,2\n3\n":             ',',
		strings.Repeat("a;", 1<<18): ';',
	} {
		opened, err := openText(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := sniffDelimiter(opened); got != want {
			t.Errorf("%.40q is cut at %q, want %q", text, got, want)
		}
	}
}

// Whatever the standard library writes, the scanner reads the same.
func TestScannerReadsWhatEncodingCSVWrites(t *testing.T) {
	cell := rapid.StringMatching(`[a ",\n;é]{0,6}`)
	rapid.Check(t, func(r *rapid.T) {
		width := rapid.IntRange(2, 5).Draw(r, "width") // one empty cell is a blank line to encoding/csv
		records := rapid.SliceOfN(rapid.SliceOfN(cell, width, width), 1, 8).Draw(r, "records")
		var text bytes.Buffer
		if err := csv.NewWriter(&text).WriteAll(records); err != nil {
			r.Fatal(err)
		}
		opened, err := openText(&text)
		if err != nil {
			r.Fatal(err)
		}
		s := scanner{in: opened, delimiter: ','}
		got := cells{width: width}
		for i, record := range records {
			if n, err := s.record(&got); err != nil || n != width {
				r.Fatalf("record %d: %d cells, %v", i, n, err)
			}
			for j, want := range record {
				if !strings.HasPrefix(want, " ") { // encoding/csv quotes these
					want = strings.TrimRight(want, " ")
				}
				have := string(got.at(i, j))
				if !strings.HasPrefix(want, " ") {
					have = strings.TrimRight(have, " ")
				}
				if have != want {
					r.Fatalf("%q became %q", want, have)
				}
			}
		}
		if _, err := s.record(&got); !errors.Is(err, io.EOF) {
			r.Fatal("no end")
		}
	})
}

func TestLineNumbersCountLinesInsideQuotes(t *testing.T) {
	_, err := readWhole(strings.NewReader("a,b\n\"1\n2\n3\",x\nonly one\n"), CSV, Options{})
	if err == nil || !strings.Contains(err.Error(), "row 1: the row has 1 cell where the first line has 2, cut at each comma (line 5 of the file)") {
		t.Error(err)
	}
}

func TestDelimiterNames(t *testing.T) {
	var names []string
	for _, d := range []byte(",;\t |") {
		names = append(names, delimiterName(d))
	}
	if want := []string{"comma", "semicolon", "tab", "space", "'|'"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

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
