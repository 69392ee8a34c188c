package table

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A stream in chunks of any size gives the table a whole read gives, whatever the
// format, and its level lists only grow.
func TestChunkedEqualsWhole(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		table := drawnTable(r)
		if table.Rows() == 0 {
			return
		}
		chunkRows := rapid.IntRange(1, 31).Draw(r, "chunk rows")
		sampleRows := rapid.IntRange(1, 31).Draw(r, "sample rows")
		for name, format := range allFormats() {
			content := written(t, table, format, rapid.IntRange(1, 31).Draw(r, "written rows"))
			whole, err := readWhole(bytes.NewReader(content), format, Options{})
			if err != nil {
				r.Fatal(name, err)
			}
			source, err := OpenReader(bytes.NewReader(content), format, Options{ChunkRows: chunkRows, SampleRows: sampleRows})
			if err != nil {
				r.Fatal(name, err)
			}
			chunks := drain(r, source)
			for i, chunk := range chunks {
				if chunk.Rows() == 0 || chunk.Rows() > chunkRows {
					r.Fatalf("%s: a chunk of %d rows", name, chunk.Rows())
				}
				labels := chunk.Column("category").Levels
				if later := chunks[len(chunks)-1].Column("category").Levels; !slices.Equal(labels, later[:len(labels)]) {
					r.Fatalf("%s: levels %q of chunk %d are no prefix of %q", name, labels, i, later)
				}
			}
			joined, err := Concat(chunks)
			if err != nil {
				r.Fatal(err)
			}
			if d := difference(whole, joined); d != "" {
				r.Fatal(name, d)
			}
			if !slices.Equal(whole.Column("category").Codes, joined.Column("category").Codes) {
				r.Fatalf("%s: codes differ", name)
			}
		}
	})
}

func drain(t interface{ Fatal(...any) }, source Source) []*Table {
	var chunks []*Table
	for {
		chunk, err := source.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return chunks
		}
		if err != nil {
			t.Fatal(err)
		}
		chunks = append(chunks, chunk)
	}
}

// repeatedText reads as a header followed by n copies of a block of lines.
func repeatedText(header, block string, n int) io.Reader {
	parts := []io.Reader{strings.NewReader(header)}
	for range n {
		parts = append(parts, strings.NewReader(block))
	}
	return io.MultiReader(parts...)
}

func TestStreamingMemoryIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("reads more than 100 MB")
	}
	const blockRows, blocks, bound = 1000, 250, 32 << 20
	var block strings.Builder
	for row := range blockRows {
		fmt.Fprintf(&block, "%d,%d.%03d,\"label, %d\",2011-01-%02d 10:00:00,yes,\"%s\"\n", row, row%97, row, row%50, row%28+1, strings.Repeat("long ", 80))
	}
	t.Logf("reading %d MB", block.Len()*blocks/1e6)
	source, err := OpenReader(repeatedText("row,value,label,time,flag,long\n", block.String(), blocks), CSV, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	seen, chunks, highest := 0, 0, uint64(0)
	for {
		chunk, err := source.Next(context.Background())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		seen += chunk.Rows()
		if chunks++; chunks%5 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			highest = max(highest, now.HeapAlloc)
		}
	}
	if seen != blockRows*blocks {
		t.Errorf("%d rows, want %d", seen, blockRows*blocks)
	}
	t.Logf("heap at most %d MiB", highest>>20)
	if highest > before.HeapAlloc+bound {
		t.Errorf("heap grew from %d to %d bytes", before.HeapAlloc, highest)
	}
}

// counting is a table of numbers that count up along rows.
func counting(rows, columns int) *Table {
	t := &Table{}
	for i := range columns {
		values := make([]float64, rows)
		for row := range values {
			values[row] = float64(row*columns + i)
		}
		t.Columns = append(t.Columns, NumberColumn(fmt.Sprint("c", i), values, nil))
	}
	return t
}

// A Parquet file is read chunk by chunk, not row group by row group.
func TestParquetMemoryIsBounded(t *testing.T) {
	const columns, rows, chunkRows = 60, 1 << 17, 1 << 10 // 63 MB in one row group
	content := written(t, counting(rows, columns), Parquet, rows)
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	source, err := OpenReader(bytes.NewReader(content), Parquet, Options{ChunkRows: chunkRows})
	if err != nil {
		t.Fatal(err)
	}
	highest, chunks := uint64(0), 0
	for {
		chunk, err := source.Next(context.Background())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if want := float64(chunks*chunkRows*columns + 7); chunk.Column("c7").Numbers[0] != want {
			t.Fatalf("chunk %d starts with %v, want %v", chunks, chunk.Column("c7").Numbers[0], want)
		}
		if chunks++; chunks%10 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			highest = max(highest, now.HeapAlloc)
		}
	}
	if chunks != rows/chunkRows {
		t.Errorf("%d chunks", chunks)
	}
	grown := int64(highest) - int64(before.HeapAlloc)
	t.Logf("heap grew by %d KiB", grown>>10)
	if grown > rows*columns*8 {
		t.Errorf("heap grew by %d bytes, as much as the table", grown)
	}
}
