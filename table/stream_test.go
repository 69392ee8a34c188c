package table

import (
	"bytes"
	"context"
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
			joined, err := concat(chunks)
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
		if err == io.EOF {
			return chunks
		}
		if err != nil {
			t.Fatal(err)
		}
		chunks = append(chunks, chunk)
	}
}

// csvStream generates CSV text without holding it.
type csvStream struct {
	rest      string
	row, rows int
}

func (s *csvStream) Read(p []byte) (int, error) {
	if s.rest == "" {
		if s.row == s.rows {
			return 0, io.EOF
		}
		var block strings.Builder
		for range 1000 {
			fmt.Fprintf(&block, "%d,%d.%03d,\"label, %d\",2011-01-%02d 10:00:00,yes,%060d\n", s.row, s.row%997, s.row%1000, s.row%50, s.row%28+1, s.row)
			s.row++
		}
		s.rest = block.String()
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func TestStreamingMemoryIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 110 MB")
	}
	const rows = 1_000_000 // about 110 bytes each
	const bound = 64 << 20
	source, err := OpenReader(&csvStream{rest: "row,value,label,time,flag,long\n", rows: rows}, CSV, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	seen, chunks, highest := 0, 0, uint64(0)
	for {
		chunk, err := source.Next(context.Background())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		seen += chunk.Rows()
		if chunks++; chunks%20 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			highest = max(highest, now.HeapAlloc)
		}
	}
	if seen != rows {
		t.Errorf("%d rows, want %d", seen, rows)
	}
	t.Logf("heap at most %d MiB", highest>>20)
	if highest > before.HeapAlloc+bound {
		t.Errorf("heap grew from %d to %d bytes", before.HeapAlloc, highest)
	}
}

// A Parquet file is read chunk by chunk, not row group by row group.
func TestParquetMemoryIsBounded(t *testing.T) {
	const columns, rows = 50, 100_000 // 40 MB in one row group
	made := &Table{}
	for i := range columns {
		values := make([]float64, rows)
		for row := range values {
			values[row] = float64(row*columns + i)
		}
		made.Columns = append(made.Columns, NumberColumn(fmt.Sprint("c", i), values, nil))
	}
	content := written(t, made, Parquet, rows)
	made = nil
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	source, err := OpenReader(bytes.NewReader(content), Parquet, Options{ChunkRows: 1000})
	if err != nil {
		t.Fatal(err)
	}
	highest, chunks := uint64(0), 0
	for {
		chunk, err := source.Next(context.Background())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if want := float64(chunks*1000*columns + 7); chunk.Column("c7").Numbers[0] != want {
			t.Fatalf("chunk %d starts with %v, want %v", chunks, chunk.Column("c7").Numbers[0], want)
		}
		if chunks++; chunks%10 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			highest = max(highest, now.HeapAlloc)
		}
	}
	if chunks != rows/1000 {
		t.Errorf("%d chunks", chunks)
	}
	grown := int64(highest) - int64(before.HeapAlloc)
	t.Logf("heap grew by %d KiB", grown>>10)
	if grown > rows*columns*8 {
		t.Errorf("heap grew by %d bytes, as much as the table", grown)
	}
}
