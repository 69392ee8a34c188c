package table

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// oneColumn is a record batch of a column c, its cells given as JSON.
func oneColumn(t *testing.T, of arrow.DataType, cells string) arrow.RecordBatch {
	t.Helper()
	values, _, err := array.FromJSON(memory.NewGoAllocator(), of, strings.NewReader(cells))
	if err != nil {
		t.Fatal(of, err)
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "c", Type: of, Nullable: true}}, nil)
	return array.NewRecordBatch(schema, []arrow.Array{values}, -1)
}

func arrowStream(t *testing.T, batches ...arrow.RecordBatch) []byte {
	t.Helper()
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(batches[0].Schema()), ipc.WithDictionaryDeltas(true))
	for _, batch := range batches {
		if err := w.Write(batch); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func parquetFile(t *testing.T, batch arrow.RecordBatch) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(batch.Schema(), &out, parquet.NewWriterProperties(), pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
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

func dictionaryOf(values arrow.DataType) arrow.DataType {
	return &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: values}
}

func TestArrowTypes(t *testing.T) {
	for _, c := range []struct {
		of      arrow.DataType
		cells   string
		kind    Kind
		want    []string
		noFiles bool // Parquet has no such type
	}{
		{of: arrow.PrimitiveTypes.Int8, cells: `[-1, null, 127]`, kind: Number, want: []string{"-1", "·", "127"}},
		{of: arrow.PrimitiveTypes.Int16, cells: `[-1, null]`, kind: Number, want: []string{"-1", "·"}},
		{of: arrow.PrimitiveTypes.Int32, cells: `[-1, null]`, kind: Number, want: []string{"-1", "·"}},
		{of: arrow.PrimitiveTypes.Int64, cells: `[-1, null]`, kind: Number, want: []string{"-1", "·"}},
		{of: arrow.PrimitiveTypes.Uint8, cells: `[255, null]`, kind: Number, want: []string{"255", "·"}},
		{of: arrow.PrimitiveTypes.Uint16, cells: `[1, null]`, kind: Number, want: []string{"1", "·"}},
		{of: arrow.PrimitiveTypes.Uint32, cells: `[1, null]`, kind: Number, want: []string{"1", "·"}},
		{of: arrow.PrimitiveTypes.Uint64, cells: `[1, null]`, kind: Number, want: []string{"1", "·"}},
		{of: arrow.FixedWidthTypes.Float16, cells: `[0.5, null]`, kind: Number, want: []string{"0.5", "·"}},
		{of: arrow.PrimitiveTypes.Float32, cells: `[0.5, null, "NaN"]`, kind: Number, want: []string{"0.5", "·", "·"}},
		{of: arrow.PrimitiveTypes.Float64, cells: `[0.5, null, "NaN"]`, kind: Number, want: []string{"0.5", "·", "·"}},
		{of: &arrow.Decimal32Type{Precision: 5, Scale: 2}, cells: `["1.25", null]`, kind: Number, want: []string{"1.25", "·"}, noFiles: true},
		{of: &arrow.Decimal64Type{Precision: 5, Scale: 2}, cells: `["1.25", null]`, kind: Number, want: []string{"1.25", "·"}, noFiles: true},
		{of: &arrow.Decimal128Type{Precision: 30, Scale: 2}, cells: `["1.25", null]`, kind: Number, want: []string{"1.25", "·"}},
		{of: &arrow.Decimal256Type{Precision: 60, Scale: 2}, cells: `["1.25", null]`, kind: Number, want: []string{"1.25", "·"}},
		{of: arrow.Null, cells: `[null, null]`, kind: Number, want: []string{"·", "·"}},
		{of: arrow.FixedWidthTypes.Boolean, cells: `[true, null, false]`, kind: Boolean, want: []string{"true", "·", "false"}},
		{of: arrow.BinaryTypes.String, cells: `["NA", null, "", "x"]`, kind: Category, want: []string{"NA", "·", "", "x"}},
		{of: arrow.BinaryTypes.LargeString, cells: `["a", null]`, kind: Category, want: []string{"a", "·"}},
		{
			of: arrow.BinaryTypes.StringView, cells: `["a", null, "a text that is too long to be kept inline"]`, kind: Category,
			want: []string{"a", "·", "a text that is too long to be kept inline"}, noFiles: true,
		},
		{of: dictionaryOf(arrow.BinaryTypes.String), cells: `["b", null, "a", "b"]`, kind: Category, want: []string{"b", "·", "a", "b"}},
		{of: dictionaryOf(arrow.PrimitiveTypes.Int64), cells: `[7, null, 8]`, kind: Number, want: []string{"7", "·", "8"}, noFiles: true},
		{of: arrow.FixedWidthTypes.Date32, cells: `["2011-01-31", null]`, kind: Time, want: []string{"2011-01-31", "·"}},
		{of: arrow.FixedWidthTypes.Date64, cells: `["2011-01-31", null]`, kind: Time, want: []string{"2011-01-31", "·"}},
		{of: arrow.FixedWidthTypes.Timestamp_s, cells: `["2011-01-31 10:00:00Z", null]`, kind: Time, want: []string{"2011-01-31T10:00:00Z", "·"}},
		{of: arrow.FixedWidthTypes.Timestamp_ms, cells: `["2011-01-31 10:00:00.5Z"]`, kind: Time, want: []string{"2011-01-31T10:00:00.5Z"}},
		{of: arrow.FixedWidthTypes.Timestamp_us, cells: `["1911-01-31 10:00:00.000001Z"]`, kind: Time, want: []string{"1911-01-31T10:00:00.000001Z"}},
		{of: &arrow.TimestampType{Unit: arrow.Nanosecond}, cells: `["2011-01-31 10:00:00.123456789"]`, kind: Time, want: []string{"2011-01-31T10:00:00.123456Z"}},
	} {
		t.Run(c.of.String(), func(t *testing.T) {
			batch := oneColumn(t, c.of, c.cells)
			contents := map[Format][]byte{Arrow: arrowStream(t, batch)}
			if !c.noFiles {
				contents[Parquet] = parquetFile(t, batch)
			}
			for format, content := range contents {
				table, err := readWhole(bytes.NewReader(content), format, Options{})
				if err != nil {
					t.Fatal(err)
				}
				if got := table.Columns[0].Kind; got != c.kind {
					t.Errorf("%s, want %s", got, c.kind)
				}
				wantTexts(t, table.Columns[0], c.want...)
				if !strings.HasPrefix(table.Columns[0].Reason, "stored as ") {
					t.Errorf("reason %q", table.Columns[0].Reason)
				}
			}
		})
	}
}

func TestUnsupportedArrowTypesNameTheColumn(t *testing.T) {
	for _, of := range []arrow.DataType{
		arrow.BinaryTypes.Binary, arrow.ListOf(arrow.PrimitiveTypes.Int64), arrow.FixedWidthTypes.Time32s,
		arrow.StructOf(arrow.Field{Name: "in", Type: arrow.PrimitiveTypes.Int64}),
	} {
		content := arrowStream(t, oneColumn(t, of, `[]`))
		_, err := readWhole(bytes.NewReader(content), Arrow, Options{Name: "t.arrow"})
		want := fmt.Sprintf(`t.arrow, column "c": cells of type %s cannot be read; drop the column, or store it as numbers, text, booleans or times`, of)
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestUnwantedColumnsAreNotRead(t *testing.T) {
	nested := arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, arrow.Field{Name: "b", Type: arrow.PrimitiveTypes.Int64, Nullable: true})
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "nested", Type: nested, Nullable: true},
		{Name: "n", Type: arrow.PrimitiveTypes.Int64},
		{Name: "unwanted", Type: arrow.BinaryTypes.Binary},
		{Name: "s", Type: arrow.BinaryTypes.String},
	}, nil)
	batch, _, err := array.RecordFromJSON(memory.NewGoAllocator(), schema,
		strings.NewReader(`[{"nested":{"a":1,"b":2},"n":3,"unwanted":"AAAA","s":"x"}]`))
	if err != nil {
		t.Fatal(err)
	}
	for format, content := range map[Format][]byte{Arrow: arrowStream(t, batch), Parquet: parquetFile(t, batch)} {
		table, err := readWhole(bytes.NewReader(content), format, Options{Keep: func(name string) bool { return len(name) == 1 }})
		if err != nil {
			t.Fatal(err)
		}
		wantTexts(t, table.Column("n"), "3")
		wantTexts(t, table.Column("s"), "x")
		if len(table.Columns) != 2 {
			t.Errorf("%d columns", len(table.Columns))
		}
	}
}

func TestTypedCellsThatAreErrors(t *testing.T) {
	for _, c := range []struct {
		of          arrow.DataType
		cells, want string
		options     Options
	}{
		{
			of: arrow.PrimitiveTypes.Float64, cells: `[1, "+Inf"]`,
			want: `t, row 1, column "c": "+Inf" is infinite or too large; write a finite number or leave the cell empty`,
		},
		{
			of: arrow.FixedWidthTypes.Timestamp_s, cells: fmt.Sprint("[", int64(math.MaxInt64), "]"),
			want: `t, row 0, column "c": the time lies outside the years 1 to 9999; correct it or leave the cell empty`,
		},
		{
			of: arrow.BinaryTypes.String, cells: `["1", "x"]`, options: Options{Kinds: map[string]Kind{"c": Number}},
			want: `t, row 1, column "c": "x" is not a number, as it was declared; declare the column a category, or add "x" to the missing tokens if it means that the value is missing`,
		},
	} {
		c.options.Name = "t"
		_, err := readWhole(bytes.NewReader(arrowStream(t, oneColumn(t, c.of, c.cells))), Arrow, c.options)
		if err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

func TestOverridesHoldInTypedFiles(t *testing.T) {
	read := func(of arrow.DataType, cells string, options Options) *Column {
		t.Helper()
		table, err := readWhole(bytes.NewReader(arrowStream(t, oneColumn(t, of, cells))), Arrow, options)
		if err != nil {
			t.Fatal(err)
		}
		return table.Columns[0]
	}
	categorical := Options{Categorical: []string{"c"}}
	codes := read(arrow.PrimitiveTypes.Int64, `[9007199254740993, 9007199254740992, null]`, categorical)
	wantTexts(t, codes, "9007199254740993", "9007199254740992", "·")
	if want := "declared a category, stored as int64"; codes.Reason != want {
		t.Errorf("reason %q, want %q", codes.Reason, want)
	}
	wantTexts(t, read(arrow.FixedWidthTypes.Boolean, `[true, null]`, categorical), "true", "·")
	wantTexts(t, read(arrow.BinaryTypes.String, `["1.50", null]`, Options{Kinds: map[string]Kind{"c": Number}}), "1.5", "·")
	missing := Options{Missing: []string{"-9", "unknown"}}
	wantTexts(t, read(arrow.PrimitiveTypes.Int64, `[-9, 1]`, missing), "·", "1")
	wantTexts(t, read(arrow.BinaryTypes.String, `["Unknown", "x"]`, missing), "·", "x")
}

func TestDictionariesMayGrowAndChange(t *testing.T) {
	of := dictionaryOf(arrow.BinaryTypes.String)
	content := arrowStream(t, oneColumn(t, of, `["a", "b"]`), oneColumn(t, of, `["a", "b", "c"]`), oneColumn(t, of, `["d", "a"]`))
	table, err := readWhole(bytes.NewReader(content), Arrow, Options{})
	if err != nil {
		t.Fatal(err)
	}
	wantTexts(t, table.Columns[0], "a", "b", "a", "b", "c", "d", "a")
}
