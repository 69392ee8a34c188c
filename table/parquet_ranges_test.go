package table

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// asked counts what is asked of a file, and may fail.
type asked struct {
	*bytes.Reader
	requests, bytes int
	largest         int
	failAt          int // the request that fails; 0 is none
	failure         error
}

func (a *asked) ReadAt(p []byte, offset int64) (int, error) {
	a.requests++
	if a.requests == a.failAt {
		return 0, a.failure
	}
	a.bytes += len(p)
	a.largest = max(a.largest, len(p))
	return a.Reader.ReadAt(p, offset)
}

// inGroups is a Parquet file of numbers c0, c1, … and labels, with row groups of so many rows.
func inGroups(t *testing.T, columns int, groups ...int) []byte {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var out bytes.Buffer
	var writer *pqarrow.FileWriter
	row := 0
	for _, rows := range groups {
		part := counting(rows, columns)
		labels := make([]string, rows)
		for i := range rows {
			for c := range columns {
				part.Columns[c].Numbers[i] = float64((row+i)*columns + c)
			}
			labels[i] = fmt.Sprint("label ", rng.IntN(50))
		}
		row += rows
		part.Columns = append(part.Columns, CategoryColumn("label", labels, nil))
		if writer == nil {
			properties := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Snappy), parquet.WithMaxRowGroupLength(math.MaxInt64))
			var err error
			if writer, err = pqarrow.NewFileWriter(arrowSchema(part), &out, properties, pqarrow.DefaultWriterProps()); err != nil {
				t.Fatal(err)
			}
		}
		writer.NewBufferedRowGroup()
		batch := arrowBatch(arrowSchema(part), part)
		if err := writer.WriteBuffered(batch); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestLayout(t *testing.T) {
	want := []int{1000, 1, 70_000, 3}
	content := inGroups(t, 5, want...)
	in := &asked{Reader: bytes.NewReader(content)}
	groups, err := Layout(in)
	if err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for i, g := range groups {
		if g.Rows != int64(want[i]) {
			t.Errorf("group %d has %d rows, want %d", i, g.Rows, want[i])
		}
		total += g.Bytes
	}
	if len(groups) != len(want) || total > int64(len(content)) || total < int64(len(content))*9/10 {
		t.Errorf("%d groups of %d bytes in a file of %d", len(groups), total, len(content))
	}
	if in.requests != 1 {
		t.Errorf("%d requests for a footer", in.requests)
	}
	source, err := OpenReader(in, Parquet, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if whole, err := ReadAll(t.Context(), source); err != nil || whole.Rows() != 71_004 {
		t.Errorf("read afterwards: %d rows, %v", whole.Rows(), err)
	}
	for name, content := range map[string][]byte{"nothing": nil, "text": []byte("a,b\n1,2\n"), "cut": content[:len(content)-9]} {
		if _, err := Layout(bytes.NewReader(content)); err == nil || errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestChosenRowGroups(t *testing.T) {
	sizes := []int{1000, 1, 9000, 3, 500}
	content := inGroups(t, 3, sizes...)
	for _, c := range []struct{ groups, rows []int }{
		{nil, []int{0, 10504}},
		{[]int{0}, []int{0, 1000}},
		{[]int{2, 3}, []int{1001, 10004}},
		{[]int{4, 1}, []int{10004, 10504, 1000, 1001}},
		{[]int{}, nil},
	} {
		source, err := OpenReader(bytes.NewReader(content), Parquet, Options{RowGroups: c.groups, Keep: func(name string) bool { return name == "c1" }})
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadAll(t.Context(), source)
		if err != nil {
			t.Fatal(err)
		}
		var want []float64
		for i := 0; i < len(c.rows); i += 2 {
			for row := c.rows[i]; row < c.rows[i+1]; row++ {
				want = append(want, float64(row*3+1))
			}
		}
		if got.Rows() != len(want) {
			t.Errorf("%v: %d rows, want %d", c.groups, got.Rows(), len(want))
			continue
		}
		for i, v := range want {
			if got.Column("c1").Numbers[i] != v {
				t.Fatalf("%v: row %d is %v, want %v", c.groups, i, got.Column("c1").Numbers[i], v)
			}
		}
	}
	for _, group := range []int{-1, 5} {
		_, err := OpenReader(bytes.NewReader(content), Parquet, Options{Name: "x.parquet", RowGroups: []int{group}})
		if want := fmt.Sprintf("x.parquet: there is no row group %d: the file has 5; the file may have been replaced: look at it anew", group); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	if _, err := OpenReader(strings.NewReader("a\n1\n"), CSV, Options{RowGroups: []int{0}}); err == nil {
		t.Error("text has row groups")
	}
}

func TestErrorsCountRowsOfTheFile(t *testing.T) {
	// Labels are no numbers: the first row read is refused, and it is the file's row 1001.
	content := inGroups(t, 1, 1000, 1, 9000)
	for group, want := range map[int]int{0: 0, 1: 1000, 2: 1001} {
		source, err := OpenReader(bytes.NewReader(content), Parquet, Options{RowGroups: []int{group}, Kinds: map[string]Kind{"label": Number}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = ReadAll(t.Context(), source)
		if e, ok := errors.AsType[*Error](err); !ok || e.Row != want || e.Column != "label" {
			t.Errorf("row group %d: %v, want row %d", group, err, want)
		}
	}
}

func TestFewLargeRequests(t *testing.T) {
	const columns = 20
	for _, c := range []struct {
		name     string
		groups   []int
		keep     string // names that begin so
		requests int
		share    float64 // of the file's bytes, at most
	}{
		{"small groups", []int{20_000, 20_000, 20_000, 20_000}, "", 4, 1.02},
		{"one column of many", []int{20_000, 20_000, 20_000, 20_000}, "c7", 5, 0.06},
		{"a group larger than a block", []int{300_000}, "", 45, 1.02},
		{"one column of a large group", []int{300_000}, "c7", 5, 0.06},
	} {
		content := inGroups(t, columns, c.groups...)
		in := &asked{Reader: bytes.NewReader(content)}
		source, err := OpenReader(in, Parquet, Options{Keep: func(name string) bool { return strings.HasPrefix(name, c.keep) }})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ReadAll(t.Context(), source); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes by %d requests, the largest of %d, of a file of %d", c.name, in.bytes, in.requests, in.largest, len(content))
		if in.requests > c.requests || float64(in.bytes) > c.share*float64(len(content)) || in.largest > requestBytes {
			t.Errorf("%s: more than %d requests, %.2f of the bytes or %d at once", c.name, c.requests, c.share, requestBytes)
		}
	}
}

func TestFailuresOfTheInputAreNoDamage(t *testing.T) {
	content := inGroups(t, 20, 40_000, 40_000, 40_000)
	down := errors.New("x.parquet: the store is down")
	for at := 1; at <= 4; at++ {
		in := &asked{Reader: bytes.NewReader(content), failAt: at, failure: down}
		source, err := OpenReader(in, Parquet, Options{Name: "x.parquet"})
		if err == nil {
			_, err = ReadAll(t.Context(), source)
		}
		if want := "x.parquet: reading failed: the store is down"; !errors.Is(err, down) || err.Error() != want {
			t.Errorf("request %d: got  %v\nwant %s", at, err, want)
		}
	}
	if _, err := Layout(&asked{Reader: bytes.NewReader(content), failAt: 1, failure: down}); !errors.Is(err, down) {
		t.Error(err)
	}
}

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
