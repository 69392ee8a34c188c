package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// BenchmarkRead reads a table of a million rows in each format, chunk by chunk.
func BenchmarkRead(b *testing.B) {
	const rows = 1_000_000
	table := mixed(rows)
	for _, c := range []struct {
		name    string
		format  Format
		options Options
		packed  bool
	}{
		{name: "csv", format: CSV},
		{name: "csv, kinds of all rows", format: CSV, options: Options{SampleRows: -1}},
		{name: "parquet", format: Parquet},
		{name: "arrow", format: Arrow},
		{name: "packed arrow", format: Arrow, packed: true},
	} {
		content := written(b, table, c.format, 100_000)
		if c.packed {
			content = packedAgain(b, content)
		}
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(content)))
			for b.Loop() {
				source, err := OpenReader(bytes.NewReader(content), c.format, c.options)
				if err != nil {
					b.Fatal(err)
				}
				read := 0
				for {
					chunk, err := source.Next(b.Context())
					if errors.Is(err, io.EOF) {
						break
					}
					if err != nil {
						b.Fatal(err)
					}
					read += chunk.Rows()
				}
				if read != rows {
					b.Fatalf("%d rows", read)
				}
				if err := source.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// packedAgain is an Arrow stream with its buffers packed by LZ4, as Feather files have them.
func packedAgain(b *testing.B, stream []byte) []byte {
	b.Helper()
	r, err := ipc.NewReader(bytes.NewReader(stream))
	if err != nil {
		b.Fatal(err)
	}
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(r.Schema()), ipc.WithLZ4())
	for r.Next() {
		if err := w.Write(r.RecordBatch()); err != nil {
			b.Fatal(err)
		}
	}
	if err := errors.Join(r.Err(), w.Close()); err != nil {
		b.Fatal(err)
	}
	return out.Bytes()
}

// mixed is a table of numbers, some of them missing, times, truths and labels.
func mixed(rows int) *Table {
	numbers := [4][]float64{}
	for i := range numbers {
		numbers[i] = make([]float64, rows)
	}
	truths, times, labels, observed := make([]bool, rows), make([]time.Time, rows), make([]string, rows), make([]bool, rows)
	for row := range rows {
		numbers[0][row] = float64(row % 24)
		numbers[1][row] = math.Round(1000*math.Sqrt(float64(row))) / 1000
		numbers[2][row] = math.Sin(float64(row))
		numbers[3][row] = float64(row)
		truths[row] = row%3 == 0
		times[row] = time.Unix(1_600_000_000+60*int64(row), 0)
		labels[row] = fmt.Sprint("label ", row*row%1009)
		observed[row] = row%7 != 0
	}
	return &Table{Columns: []*Column{
		NumberColumn("hour", numbers[0], nil), NumberColumn("root", numbers[1], nil), NumberColumn("sine", numbers[2], observed),
		NumberColumn("count", numbers[3], nil), BooleanColumn("third", truths, nil), TimeColumn("time", times, nil),
		CategoryColumn("label", labels, nil),
	}}
}
