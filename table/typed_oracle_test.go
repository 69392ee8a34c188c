package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// drawnCell is a cell of a type as JSON.
func drawnCell(rng *rand.Rand, of arrow.DataType) string {
	switch of := of.(type) {
	case *arrow.BooleanType:
		return fmt.Sprint(rng.IntN(2) == 0)
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType:
		return fmt.Sprintf("%q", strings.Repeat("label ", rng.IntN(5))+fmt.Sprint(rng.IntN(40)))
	case arrow.DecimalType:
		return fmt.Sprintf(`"%d.%02d"`, rng.IntN(2000)-1000, rng.IntN(100))
	case *arrow.Date32Type, *arrow.Date64Type:
		return fmt.Sprintf(`"20%02d-%02d-%02d"`, rng.IntN(100), 1+rng.IntN(12), 1+rng.IntN(28))
	case *arrow.TimestampType:
		zone := ""
		if of.TimeZone != "" {
			zone = "Z"
		}
		return fmt.Sprintf(`"20%02d-%02d-%02d %02d:00:01%s"`, rng.IntN(100), 1+rng.IntN(12), 1+rng.IntN(28), rng.IntN(24), zone)
	case *arrow.DictionaryType:
		return drawnCell(rng, of.ValueType)
	case *arrow.Float16Type, *arrow.Float32Type, *arrow.Float64Type:
		return fmt.Sprint(float64(rng.IntN(200)-100) / 8)
	}
	return fmt.Sprint(rng.IntN(100))
}

// drawnBatch is a batch with a column of each type, a fifth of its cells missing if it may.
func drawnBatch(t testing.TB, rng *rand.Rand, rows int, types []arrow.DataType) arrow.RecordBatch {
	t.Helper()
	var fields []arrow.Field
	var columns []arrow.Array
	for i, of := range types {
		for _, gaps := range []bool{false, true} {
			cells := make([]string, rows)
			for row := range cells {
				cells[row] = "null"
				if !gaps || rng.IntN(5) > 0 {
					cells[row] = drawnCell(rng, of)
				}
			}
			values, _, err := array.FromJSON(memory.NewGoAllocator(), of, strings.NewReader("["+strings.Join(cells, ",")+"]"))
			if err != nil {
				t.Fatal(of, err)
			}
			fields = append(fields, arrow.Field{Name: fmt.Sprint(i, gaps), Type: of, Nullable: gaps})
			columns = append(columns, values)
		}
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(rows))
}

// inMemory is what a batch holds, read from the library's arrays.
func inMemory(t testing.TB, batch arrow.RecordBatch) *Table {
	t.Helper()
	want := &Table{}
	for i, cells := range batch.Columns() {
		kind, _ := storedKind(cells.DataType())
		labels, numbers := make([]string, cells.Len()), make([]float64, cells.Len())
		observed := make([]bool, cells.Len())
		for row := range observed {
			observed[row] = cells.IsValid(row)
		}
		column := &Column{Observed: observed, Numbers: numbers}
		switch typed := cells.(type) {
		case interface{ Value(int) string }:
			for row := range labels {
				labels[row] = typed.Value(row)
			}
		case *array.Dictionary:
			texts := typed.Dictionary().(*array.String)
			for row := range labels {
				if observed[row] {
					labels[row] = texts.Value(typed.GetValueIndex(row))
				}
			}
		default:
			if err := readNumbers(column, cells); err != nil {
				t.Fatal(err)
			}
		}
		column = &Column{Name: batch.ColumnName(i), Kind: kind, Observed: observed, Numbers: numbers}
		if kind == Category {
			column = CategoryColumn(column.Name, labels, observed)
		}
		want.Columns = append(want.Columns, column)
	}
	return want
}

func sameCells(t *testing.T, want, got *Table) {
	t.Helper()
	if len(want.Columns) != len(got.Columns) || want.Rows() != got.Rows() {
		t.Fatalf("%d columns of %d rows, want %d of %d", len(got.Columns), got.Rows(), len(want.Columns), want.Rows())
	}
	for i, w := range want.Columns {
		g := got.Columns[i]
		for row, observed := range w.Observed {
			same := observed == g.Observed[row]
			switch {
			case !observed:
			case w.Kind == Category:
				same = same && w.Levels[w.Codes[row]] == g.Levels[g.Codes[row]]
			default:
				same = same && w.Numbers[row] == g.Numbers[row]
			}
			if !same || w.Kind != g.Kind {
				t.Fatalf("column %s, row %d: %q, want %q", w.Name, row, g.Text(row), w.Text(row))
			}
		}
	}
}

// numberTypes are read alike from Arrow and Parquet.
func numberTypes() []arrow.DataType {
	return []arrow.DataType{
		arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
		arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
		arrow.FixedWidthTypes.Float16, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64, arrow.FixedWidthTypes.Boolean,
		&arrow.Decimal128Type{Precision: 7, Scale: 2}, &arrow.Decimal128Type{Precision: 15, Scale: 2},
		&arrow.Decimal128Type{Precision: 30, Scale: 2}, &arrow.Decimal256Type{Precision: 60, Scale: 2},
		arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Date64, arrow.FixedWidthTypes.Timestamp_ms, arrow.FixedWidthTypes.Timestamp_us,
		&arrow.TimestampType{Unit: arrow.Nanosecond},
	}
}

func textTypes() []arrow.DataType {
	return []arrow.DataType{
		arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString,
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: arrow.BinaryTypes.String},
	}
}

// Whatever the codec, the batches and the chunks, cells of Arrow are what the library has in
// memory.
func TestArrowCells(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	types := append(append(numberTypes(), textTypes()...), arrow.BinaryTypes.StringView, arrow.FixedWidthTypes.Timestamp_s,
		&arrow.Decimal32Type{Precision: 7, Scale: 2}, &arrow.Decimal64Type{Precision: 15, Scale: 2})
	for codec, options := range map[string][]ipc.Option{"none": nil, "lz4": {ipc.WithLZ4()}, "zstd": {ipc.WithZstd()}} {
		for _, rows := range []int{1, 7, 1500} {
			batch := drawnBatch(t, rng, rows, types)
			var stream bytes.Buffer
			w := ipc.NewWriter(&stream, append(options, ipc.WithSchema(batch.Schema()))...)
			for from := int64(0); from < int64(rows); from += 600 {
				part := batch.NewSlice(from, min(from+600, int64(rows)))
				if err := w.Write(part); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			for _, chunkRows := range []int{0, 101} {
				got, err := readWhole(bytes.NewReader(stream.Bytes()), Arrow, Options{Name: codec, ChunkRows: chunkRows})
				if err != nil {
					t.Fatal(err)
				}
				sameCells(t, inMemory(t, batch), got)
			}
		}
	}
}

// Long buffers are unpacked a part at a time.
func TestArrowCellsOfLongBatches(t *testing.T) {
	const rows = 600_000
	of := &arrow.Decimal256Type{Precision: 60, Scale: 2}
	numbers, texts := array.NewDecimal256Builder(memory.NewGoAllocator(), of), array.NewStringBuilder(memory.NewGoAllocator())
	for row := range rows {
		if row%11 == 3 {
			numbers.AppendNull()
			texts.AppendNull()
			continue
		}
		numbers.Append(decimal256.FromI64(int64(row)))
		texts.Append(fmt.Sprint("a text that is long enough to fill a window, ", row%1000))
	}
	batch := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{
		{Name: "n", Type: of, Nullable: true}, {Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil), []arrow.Array{numbers.NewArray(), texts.NewArray()}, rows)
	want := inMemory(t, batch)
	for codec, option := range map[string]ipc.Option{"lz4": ipc.WithLZ4(), "zstd": ipc.WithZstd()} {
		var stream bytes.Buffer
		w := ipc.NewWriter(&stream, option, ipc.WithSchema(batch.Schema()))
		if err := w.Write(batch); err != nil {
			t.Fatal(err)
		}
		source, err := openArrow(&stream, io.NopCloser(&stream), Options{Name: codec, ChunkRows: 10_007}, newBudget(Options{}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := source.reader.ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i, cells := range source.reader.(*arrowReader).wanted {
			if last := cells.buffers[len(cells.buffers)-1]; last.stream == nil {
				t.Errorf("%s: %d bytes of column %d are unpacked at once", codec, last.size, i)
			}
		}
		got, err := ReadAll(t.Context(), source)
		if err != nil {
			t.Fatal(err)
		}
		sameCells(t, want, got)
	}
}

// A buffer gives the same bytes whether it is unpacked at once or on the way.
func TestBufferOnTheWay(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	content := make([]byte, 300_000)
	for i := range content {
		content[i] = byte(rng.Uint32())
	}
	for range 20 {
		buffer := &ipcBuffer{size: int64(len(content)), stream: io.NopCloser(bytes.NewReader(content)), held: &account{}}
		from := 0
		for from < len(content) {
			to := min(len(content), from+rng.IntN(1<<(1+rng.IntN(17))))
			got, err := buffer.bytes(int64(from), int64(to))
			if err != nil || !bytes.Equal(got, content[from:to]) {
				t.Fatalf("bytes %d to %d differ: %v", from, to, err)
			}
			from = min(len(content), from+rng.IntN(1+2*(to-from)+1)) // within, at the end of or after what was read
		}
		for _, c := range [][2]int64{{0, 1}, {int64(from), int64(len(content)) + 1}} {
			if _, err := buffer.bytes(c[0], c[1]); err == nil {
				t.Errorf("bytes %d to %d are read at %d of %d", c[0], c[1], from, len(content))
			}
		}
	}
	short := &ipcBuffer{size: 100, stream: io.NopCloser(strings.NewReader("short")), held: &account{}}
	if _, err := short.bytes(0, 6); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}

// Columns that are not wanted are passed over, whatever they are made of.
func TestArrowColumnsBesideNestedOnes(t *testing.T) {
	number, text := arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String
	inner := []arrow.Field{{Name: "a", Type: number, Nullable: true}, {Name: "b", Type: text, Nullable: true}}
	for _, c := range []struct {
		of    arrow.DataType
		cells string
	}{
		{arrow.StructOf(inner...), `[{"a": 1, "b": "x"}, null]`},
		{arrow.ListOf(text), `[["x", null], null]`},
		{arrow.LargeListOf(text), `[["x", null], null]`},
		{arrow.ListViewOf(text), `[["x", null], null]`},
		{arrow.LargeListViewOf(text), `[["x", null], null]`},
		{arrow.FixedSizeListOf(2, number), `[[1, 2], null]`},
		{arrow.MapOf(text, arrow.ListOf(number)), `[[{"key": "x", "value": [1]}], null]`},
		{arrow.BinaryTypes.BinaryView, `["AAAA", null]`},
		{arrow.BinaryTypes.StringView, `["a text that is too long to be kept inline", null]`},
		{arrow.ListOf(arrow.BinaryTypes.StringView), `[["a text that is too long to be kept inline"], null]`},
		{arrow.Null, `[null, null]`},
		{&arrow.FixedSizeBinaryType{ByteWidth: 3}, `["AAAA", null]`},
		{dictionaryOf(text), `["x", null]`},
		{arrow.RunEndEncodedOf(number, text), `["x", "y"]`},
		{arrow.DenseUnionOf(inner, []arrow.UnionTypeCode{5, 6}), `[[5, 1], [6, "x"]]`},
		{arrow.SparseUnionOf(inner, []arrow.UnionTypeCode{5, 6}), `[[5, 1], [6, "x"]]`},
	} {
		beside, _, err := array.FromJSON(memory.NewGoAllocator(), c.of, strings.NewReader(c.cells))
		if err != nil {
			t.Fatal(c.of, err)
		}
		wanted := oneColumn(t, text, `["first", "second"]`).Column(0)
		batch := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "beside", Type: c.of, Nullable: true}, {Name: "c", Type: text}}, nil),
			[]arrow.Array{beside, wanted}, 2)
		for codec, options := range map[string][]ipc.Option{"none": nil, "zstd": {ipc.WithZstd()}} {
			var stream bytes.Buffer
			w := ipc.NewWriter(&stream, append(options, ipc.WithSchema(batch.Schema()))...)
			if err := w.Write(batch); err != nil {
				t.Fatal(c.of, err)
			}
			got, err := readWhole(bytes.NewReader(stream.Bytes()), Arrow, Options{Keep: func(name string) bool { return name == "c" }})
			if err != nil {
				t.Fatal(c.of, codec, err)
			}
			wantTexts(t, got.Columns[0], "first", "second")
		}
	}
}

// Whatever the codec, the pages and the encodings, cells of Parquet are what the library has
// in memory.
func TestParquetCells(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	batch := drawnBatch(t, rng, 1000, append(numberTypes(), textTypes()...))
	want := inMemory(t, batch)
	for _, c := range []struct {
		name  string
		props []parquet.WriterProperty
	}{
		{"plain", []parquet.WriterProperty{parquet.WithDictionaryDefault(false)}},
		{"snappy", []parquet.WriterProperty{parquet.WithCompression(compress.Codecs.Snappy)}},
		{"gzip", []parquet.WriterProperty{parquet.WithCompression(compress.Codecs.Gzip)}},
		{"brotli", []parquet.WriterProperty{parquet.WithCompression(compress.Codecs.Brotli)}},
		{"zstd", []parquet.WriterProperty{parquet.WithCompression(compress.Codecs.Zstd)}},
		{"lz4", []parquet.WriterProperty{parquet.WithCompression(compress.Codecs.Lz4Raw)}},
		{"version 2", []parquet.WriterProperty{parquet.WithDataPageVersion(parquet.DataPageV2), parquet.WithCompression(compress.Codecs.Snappy)}},
		{"version 1 of the format", []parquet.WriterProperty{parquet.WithVersion(parquet.V1_0)}},
		{"small pages", []parquet.WriterProperty{parquet.WithDataPageSize(200), parquet.WithBatchSize(50), parquet.WithDictionaryPageSizeLimit(60)}},
		{"small row groups", []parquet.WriterProperty{parquet.WithMaxRowGroupLength(77)}},
	} {
		for _, chunkRows := range []int{0, 101} {
			content := parquetWith(t, batch, c.props...)
			got, err := readWhole(bytes.NewReader(content), Parquet, Options{Name: c.name, ChunkRows: chunkRows})
			if err != nil {
				t.Fatal(err)
			}
			sameCells(t, want, got)
		}
	}
}

func parquetWith(t testing.TB, batch arrow.RecordBatch, props ...parquet.WriterProperty) []byte {
	t.Helper()
	return parquetOf(t, batch, pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()), props...)
}

func parquetOf(t testing.TB, batch arrow.RecordBatch, arrowProps pqarrow.ArrowWriterProperties, props ...parquet.WriterProperty) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(batch.Schema(), &out, parquet.NewWriterProperties(props...), arrowProps)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(batch); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// The encodings that only some types have.
func TestParquetEncodings(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	text, whole := arrow.DataType(arrow.BinaryTypes.String), []arrow.DataType{arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64}
	for _, c := range []struct {
		encoding parquet.Encoding
		types    []arrow.DataType
	}{
		{parquet.Encodings.DeltaBinaryPacked, whole},
		{parquet.Encodings.DeltaLengthByteArray, []arrow.DataType{text}},
		{parquet.Encodings.DeltaByteArray, []arrow.DataType{text}},
		{parquet.Encodings.ByteStreamSplit, []arrow.DataType{arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64}},
		{parquet.Encodings.RLE, []arrow.DataType{arrow.FixedWidthTypes.Boolean}},
	} {
		for _, rows := range []int{1, 2, 129, 3000} {
			batch := drawnBatch(t, rng, rows, c.types)
			for _, version := range []parquet.DataPageVersion{parquet.DataPageV1, parquet.DataPageV2} {
				content := parquetWith(t, batch, parquet.WithDictionaryDefault(false), parquet.WithEncoding(c.encoding), parquet.WithDataPageVersion(version))
				got, err := readWhole(bytes.NewReader(content), Parquet, Options{Name: c.encoding.String()})
				if err != nil {
					t.Fatal(err)
				}
				sameCells(t, inMemory(t, batch), got)
			}
		}
	}
}
