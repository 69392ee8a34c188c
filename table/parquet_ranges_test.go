package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
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
