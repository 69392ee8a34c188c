package table

import (
	"bytes"
	"context"
	"io"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

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
