package table

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// longGroup writes one row group of so many rows, with pages and dictionaries as large as other programs make them:
// numbers that repeat, numbers that do not, and text.
func longGroup(t *testing.T, path string, rows, columns int) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const part = 1 << 16
	out := bufio.NewWriter(f)
	var writer *pqarrow.FileWriter
	for first := 0; first < rows; first += part {
		n := min(part, rows-first)
		chunk := &Table{}
		for c := range columns {
			switch name := fmt.Sprint("c", c); c % 3 {
			case 0, 1:
				values := make([]float64, n)
				for i := range values {
					values[i] = math.Sqrt(float64((first + i) * (c + 1)))
					if c%3 == 1 {
						values[i] = float64((first + i) % 1000)
					}
				}
				chunk.Columns = append(chunk.Columns, NumberColumn(name, values, nil))
			case 2:
				labels := make([]string, n)
				for i := range labels {
					labels[i] = fmt.Sprintf("a label of some length, number %d", (first+i)%500)
				}
				chunk.Columns = append(chunk.Columns, CategoryColumn(name, labels, nil))
			}
		}
		schema := arrowSchema(chunk)
		if writer == nil {
			properties := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Snappy), parquet.WithMaxRowGroupLength(math.MaxInt64))
			if writer, err = pqarrow.NewFileWriter(schema, struct{ io.Writer }{out}, properties, pqarrow.DefaultWriterProps()); err != nil {
				t.Fatal(err)
			}
			writer.NewBufferedRowGroup()
		}
		batch := arrowBatch(schema, chunk)
		if err := writer.WriteBuffered(batch); err != nil {
			t.Fatal(err)
		}
		batch.Release()
	}
	if err := errors.Join(writer.Close(), out.Flush()); err != nil {
		t.Fatal(err)
	}
}

// counted is a file of which the requests are counted.
type counted struct {
	*os.File
	requests, bytes int
}

func (c *counted) ReadAt(p []byte, offset int64) (int, error) {
	n, err := c.File.ReadAt(p, offset)
	c.requests++
	c.bytes += n
	return n, err
}

func TestLongRowGroupInBoundedMemory(t *testing.T) {
	if os.Getenv("PSI_SLOW") == "" {
		t.Skip("slow: set PSI_SLOW to write and read a row group of 5 million rows")
	}
	const rows, columns, bound = 5_000_000, 14, 150 << 20
	path := filepath.Join(t.TempDir(), "long.parquet")
	longGroup(t, path, rows, columns)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := &counted{File: f}
	groups, err := Layout(in)
	if err != nil || len(groups) != 1 || groups[0].Rows != rows {
		t.Fatalf("%v, %v", groups, err)
	}
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	source, err := OpenReader(in, Parquet, Options{})
	if err != nil {
		t.Fatal(err)
	}
	read, chunks, highest, early := 0, 0, uint64(0), uint64(0)
	for {
		chunk, err := source.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range chunk.Column("c1").Numbers {
			if v != float64((read+i)%1000) {
				t.Fatalf("row %d is %v", read+i, v)
			}
		}
		read += chunk.Rows()
		if chunks++; chunks%20 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			highest = max(highest, now.HeapAlloc)
			if early == 0 {
				early = highest
			}
		}
	}
	t.Logf("%d rows, %d MB by %d requests; heap grew by at most %d MiB, and by %d after the first rows", read, in.bytes/1e6, in.requests,
		(highest-before.HeapAlloc)>>20, (early-before.HeapAlloc)>>20)
	if read != rows || highest > before.HeapAlloc+bound {
		t.Errorf("%d rows, heap grew from %d to %d bytes", read, before.HeapAlloc, highest)
	}
}
