package table

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
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

func TestRoundTripEveryKindInEveryFormat(t *testing.T) {
	table := everyKind(t)
	for name, format := range allFormats() {
		t.Run(name, func(t *testing.T) {
			for chunkRows := 1; chunkRows <= table.Rows(); chunkRows++ {
				bytesWritten := written(t, table, format, chunkRows)
				seekable, err := readWhole(bytes.NewReader(bytesWritten), format, Options{})
				if err != nil {
					t.Fatal(err)
				}
				wantSame(t, table, seekable)
				// A pipe cannot seek, so footers need a temporary copy.
				piped, err := readWhole(io.MultiReader(bytes.NewReader(bytesWritten)), format, Options{ChunkRows: 1})
				if err != nil {
					t.Fatal(err)
				}
				wantSame(t, table, piped)
			}
		})
	}
}

func TestRoundTripThroughFiles(t *testing.T) {
	ctx := context.Background()
	table := everyKind(t)
	for _, name := range []string{"t.csv", "t.csv.gz", "t.tsv", "t.tsv.gz", "t.parquet", "t.arrow", "T.CSV"} {
		path := filepath.Join(t.TempDir(), name)
		sink, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := sink.Write(ctx, table); err != nil {
			t.Fatal(err)
		}
		if err := sink.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := Read(ctx, path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		wantSame(t, table, got)
	}
}

func TestTablesWithoutRows(t *testing.T) {
	table := everyKind(t).slice(0, 0)
	for name, format := range allFormats() {
		got, err := readWhole(bytes.NewReader(written(t, table, format, 1)), format, Options{})
		if err != nil {
			t.Fatal(name, err)
		}
		if format == CSV || format == TSV { // an empty text says nothing about kinds
			if got.Rows() != 0 || len(got.Columns) != len(table.Columns) {
				t.Errorf("%s: %d rows, %d columns", name, got.Rows(), len(got.Columns))
			}
			continue
		}
		wantSame(t, table, got)
	}
}

func TestOneColumnKeepsItsMissingCells(t *testing.T) {
	table, err := New(NumberColumn("n", []float64{math.NaN(), 1, math.NaN(), math.NaN()}, nil))
	if err != nil {
		t.Fatal(err)
	}
	got, err := readWhole(bytes.NewReader(written(t, table, CSV, 9)), CSV, Options{})
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, table, got)
}

// drawnTable is a random table of all kinds with missing cells. Labels are such that
// text formats cannot take them for another kind or for missing.
func drawnTable(t *rapid.T) *Table {
	rows := rapid.IntRange(0, 30).Draw(t, "rows")
	mask := rapid.SliceOfN(rapid.Bool(), rows, rows)
	column := func(name string) []bool {
		observed := mask.Draw(t, name+" observed")
		if rows > 0 {
			observed[0] = true // else text formats cannot know the kind
		}
		return observed
	}
	label := rapid.StringMatching(`[xyz]["',;\t\r\n éß]{0,3}`)
	numbers := NumberColumn("number", rapid.SliceOfN(rapid.Float64Range(-1e300, 1e300), rows, rows).Draw(t, "numbers"), column("number"))
	labels := CategoryColumn("category", rapid.SliceOfN(label, rows, rows).Draw(t, "labels"), column("category"))
	booleans := BooleanColumn("boolean", rapid.SliceOfN(rapid.Bool(), rows, rows).Draw(t, "booleans"), column("boolean"))
	times := &Column{Name: "time", Kind: Time, Numbers: make([]float64, rows), Observed: column("time")}
	for row, micros := range rapid.SliceOfN(rapid.Int64Range(firstSecond*microsPerSecond, lastSecond*microsPerSecond), rows, rows).Draw(t, "micros") {
		if times.Observed[row] {
			times.Numbers[row] = secondsOf(micros, microsPerSecond)
		}
	}
	table, err := New(numbers, labels, booleans, times)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestRoundTripIsExact(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		table := drawnTable(r)
		chunkRows := rapid.IntRange(1, 31).Draw(r, "chunk rows")
		for name, format := range allFormats() {
			if table.Rows() == 0 && (format == CSV || format == TSV) {
				continue
			}
			got, err := readWhole(bytes.NewReader(written(t, table, format, chunkRows)), format, Options{})
			if err != nil {
				r.Fatal(name, err)
			}
			if d := difference(table, got); d != "" {
				r.Fatal(name, d)
			}
			for i, c := range table.Columns {
				if !slices.Equal(c.Numbers, got.Columns[i].Numbers) {
					r.Fatalf("%s: %v became %v", name, c.Numbers, got.Columns[i].Numbers)
				}
			}
		}
	})
}

func TestMicrosecondsSurvive(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		micros := rapid.Int64Range(firstSecond*microsPerSecond, lastSecond*microsPerSecond).Draw(r, "micros")
		seconds := secondsOf(micros, microsPerSecond)
		if again := secondsOf(microsOf(seconds), microsPerSecond); again != seconds {
			r.Fatalf("%v became %v", seconds, again)
		}
		// float64 tells microseconds apart below 2³³ seconds, in the years 1698 to 2242.
		if math.Abs(seconds) < 1<<33 && microsOf(seconds) != micros {
			r.Fatalf("%d became %d", micros, microsOf(seconds))
		}
	})
}
