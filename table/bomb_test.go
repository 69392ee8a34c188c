package table

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// heapPeak is how many bytes the heap grew by while f ran.
func heapPeak(f func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // what is no longer needed does not count
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	before, highest := stats.HeapAlloc, stats.HeapAlloc
	look := func() {
		runtime.ReadMemStats(&stats)
		highest = max(highest, stats.HeapAlloc)
	}
	done, ended := make(chan bool), make(chan bool)
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
				look()
			}
		}
	}()
	f()
	close(done)
	<-ended
	look()
	return int64(highest - before)
}

// readChunks reads up to so many chunks, and closes the source.
func readChunks(t *testing.T, content []byte, format Format, options Options, chunks int) (rows int, err error) {
	t.Helper()
	source, err := OpenReader(bytes.NewReader(content), format, options)
	if err != nil {
		return 0, err
	}
	defer source.Close()
	for range chunks {
		chunk, err := source.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		rows += chunk.Rows()
	}
	return rows, nil
}

// packedStream is a stream of batches that is packed.
func packedStream(t testing.TB, option ipc.Option, batches ...arrow.RecordBatch) []byte {
	t.Helper()
	var stream bytes.Buffer
	w := ipc.NewWriter(&stream, ipc.WithSchema(batches[0].Schema()), option, ipc.WithDictionaryDeltas(true))
	for _, batch := range batches {
		if err := w.Write(batch); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return stream.Bytes()
}

// zeros is a batch of columns of zeros, which are the same array.
func zeros(rows, columns int) arrow.RecordBatch {
	of := arrow.PrimitiveTypes.Float64
	values := array.NewData(of, rows, []*memory.Buffer{nil, memory.NewBufferBytes(make([]byte, 8*rows))}, nil, 0, 0)
	var fields []arrow.Field
	var cells []arrow.Array
	for i := range columns {
		fields = append(fields, arrow.Field{Name: fmt.Sprint("c", i), Type: of})
		cells = append(cells, array.MakeFromData(values))
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), cells, int64(rows))
}

// A batch that unpacks to 400 MB is read in a small part of that.
func TestPackedBatchesStayPacked(t *testing.T) {
	const rows, columns, bound = 1 << 22, 12, 250 << 20 // a window of 8 MiB for each column, twice
	for codec, option := range map[string]ipc.Option{"zstd": ipc.WithZstd(), "lz4": ipc.WithLZ4()} {
		content := packedStream(t, option, zeros(rows, columns))
		var read int
		var err error
		peak := heapPeak(func() { read, err = readChunks(t, content, Arrow, Options{}, 5) })
		t.Logf("%s: %d bytes, %d MB unpacked, heap grew by %d MB", codec, len(content), rows*columns*8/1_000_000, peak/1e6)
		if err != nil || read != 5*defaultChunkRows || peak > bound {
			t.Errorf("%s: %d rows, %v, heap grew by %d MB", codec, read, err, peak/1e6)
		}
	}
}

// ledger is a budget for Options.Reserve.
type ledger struct {
	limit, held, lowest, highest int64
	refusal                      error
}

func newLedger(limit int64) *ledger { return &ledger{limit: limit, refusal: errors.New("no more")} }

func (l *ledger) reserve(n int64) error {
	if l.held+n > l.limit {
		return l.refusal
	}
	l.held += n
	l.lowest, l.highest = min(l.lowest, l.held), max(l.highest, l.held)
	return nil
}

const bombBytes = 80 << 20

// bombs are small files that take 80 MiB or more.
func bombs(t *testing.T) map[string]struct {
	format  Format
	content []byte
	options Options
} {
	t.Helper()
	type bomb = struct {
		format  Format
		content []byte
		options Options
	}
	long := strings.Repeat("a", bombBytes)
	text := array.NewStringBuilder(memory.NewGoAllocator())
	text.Append(long)
	texts := text.NewArray()
	view := array.NewStringViewBuilder(memory.NewGoAllocator())
	view.AppendString(long)
	places := oneColumn(t, arrow.PrimitiveTypes.Int8, `[0, 0, 0]`).Column(0)
	column := func(cells arrow.Array) arrow.RecordBatch {
		return array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "c", Type: cells.DataType()}}, nil), []arrow.Array{cells}, -1)
	}
	labels := column(array.NewDictionaryArray(dictionaryOf(arrow.BinaryTypes.String).(*arrow.DictionaryType), places, texts))
	numbers := column(array.NewDictionaryArray(dictionaryOf(arrow.PrimitiveTypes.Float64).(*arrow.DictionaryType), places, zeros(bombBytes/8, 1).Column(0)))
	zstd := parquet.WithCompression(compress.Codecs.Zstd)
	return map[string]bomb{
		"a dictionary of labels":                  {format: Arrow, content: packedStream(t, ipc.WithZstd(), labels)},
		"a dictionary of numbers":                 {format: Arrow, content: packedStream(t, ipc.WithZstd(), numbers)},
		"views":                                   {format: Arrow, content: packedStream(t, ipc.WithZstd(), column(view.NewArray()))},
		"a chunk of many rows":                    {format: Arrow, content: packedStream(t, ipc.WithZstd(), zeros(bombBytes/8, 1)), options: Options{ChunkRows: everyRow}},
		"a page":                                  {format: Parquet, content: parquetWith(t, column(texts), zstd, parquet.WithDictionaryDefault(false))},
		"a page of version 2":                     {format: Parquet, content: parquetWith(t, column(texts), zstd, parquet.WithDataPageVersion(parquet.DataPageV2), parquet.WithDictionaryDefault(false))},
		"a dictionary page":                       {format: Parquet, content: parquetWith(t, labels, zstd)},
		"rows of text that decide on kinds":       {format: CSV, content: packed("a,b\n" + strings.Repeat("0,0\n", bombBytes/24)), options: Options{SampleRows: -1}},
		"labels":                                  {format: CSV, content: packed("a\n" + strings.Join(repeated(200_000, "label %d"), "\n"))},
		"labels of an Arrow file":                 {format: Arrow, content: written(t, &Table{Columns: []*Column{CategoryColumn("a", repeated(200_000, "label %d"), nil)}}, Arrow, 1<<16)},
		"text that is read in chunks of any size": {format: CSV, content: packed("a,b\n" + strings.Repeat("0,0\n", bombBytes/24)), options: Options{ChunkRows: everyRow}},
	}
}

// Files that take more memory than there is are refused, whoever sets the limit, and none is
// taken beyond it.
func TestBombsAreRefused(t *testing.T) {
	const limit, beyond = 8 << 20, 64 << 20
	for name, bomb := range bombs(t) {
		t.Run(name, func(t *testing.T) {
			ledger := newLedger(limit)
			reserved := bomb.options
			reserved.Reserve = ledger.reserve
			var err error
			peak := heapPeak(func() { _, err = readChunks(t, bomb.content, bomb.format, reserved, everyRow) })
			if e, is := errors.AsType[*Error](err); !is || !errors.Is(err, ledger.refusal) || !strings.HasSuffix(e.Message, ": no more") {
				t.Errorf("got %v", err)
			}
			if ledger.highest > limit || ledger.held != 0 || peak > limit+beyond {
				t.Errorf("%d bytes were reserved of %d, %d are still; the heap grew by %d", ledger.highest, limit, ledger.held, peak)
			}
			if bomb.format == CSV {
				return // without a limit it is read in parts
			}
			peak = heapPeak(func() {
				b := newBudget(bomb.options)
				b.limit = limit
				var source Source
				if source, err = openFormat(t.Context(), bytes.NewReader(bomb.content), io.NopCloser(nil), bomb.format, bomb.options, b); err == nil {
					_, err = ReadAll(t.Context(), source)
				}
			})
			if err == nil || !strings.Contains(err.Error(), "reading the table takes more than ") || peak > limit+beyond {
				t.Errorf("got %v; the heap grew by %d", err, peak)
			}
		})
	}
}

// A label that repeats is in memory once, however often.
func TestRepeatedLabelsAreThereOnce(t *testing.T) {
	const rows, bound = 50_000, 48 << 20 // rows that would take 50 GB
	text := array.NewStringBuilder(memory.NewGoAllocator())
	text.AppendValues([]string{strings.Repeat("a", maxCellBytes), strings.Repeat("b", maxCellBytes)}, nil)
	places := array.NewInt8Builder(memory.NewGoAllocator())
	for row := range rows {
		places.Append(int8(row % 2))
	}
	of := dictionaryOf(arrow.BinaryTypes.String)
	labels := array.NewDictionaryArray(of.(*arrow.DictionaryType), places.NewArray(), text.NewArray())
	batch := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "c", Type: of}}, nil), []arrow.Array{labels}, rows)
	for format, content := range map[Format][]byte{
		Parquet: parquetOf(t, batch, pqarrow.DefaultWriterProps(), parquet.WithCompression(compress.Codecs.Zstd), parquet.WithDictionaryPageSizeLimit(4<<20)),
		Arrow:   packedStream(t, ipc.WithZstd(), batch),
	} {
		var read int
		var err error
		peak := heapPeak(func() { read, err = readChunks(t, content, format, Options{}, everyRow) })
		t.Logf("%d bytes, heap grew by %d MB", len(content), peak/1e6)
		if err != nil || read != rows || peak > bound {
			t.Errorf("%d rows, %v, heap grew by %d MB", read, err, peak/1e6)
		}
	}
}

// Texts that share their beginnings are unpacked a few at a time.
func TestSharedBeginnings(t *testing.T) {
	const rows, bound = 400, 96 << 20 // rows that take 400 MB
	text := array.NewStringBuilder(memory.NewGoAllocator())
	long := strings.Repeat("a", maxCellBytes-1)
	var parts []arrow.RecordBatch
	for range 2 {
		text.Append(long + "a")
		text.Append(long + "b")
		parts = append(parts, array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "c", Type: arrow.BinaryTypes.String}}, nil), []arrow.Array{text.NewArray()}, 2))
	}
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(parts[0].Schema(), &out, parquet.NewWriterProperties(
		parquet.WithDictionaryDefault(false), parquet.WithEncoding(parquet.Encodings.DeltaByteArray), parquet.WithCompression(compress.Codecs.Zstd),
		parquet.WithDataPageSize(bombBytes)), pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	w.NewBufferedRowGroup()
	for range rows / 2 {
		if err := w.WriteBuffered(parts[0]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var read int
	peak := heapPeak(func() { read, err = readChunks(t, out.Bytes(), Parquet, Options{}, everyRow) })
	t.Logf("%d bytes, heap grew by %d MB", out.Len(), peak/1e6)
	if err != nil || read != rows || peak > bound {
		t.Errorf("%d rows, %v, heap grew by %d MB", read, err, peak/1e6)
	}
}

func TestLongCellsAreRefused(t *testing.T) {
	text := array.NewStringBuilder(memory.NewGoAllocator())
	view := array.NewStringViewBuilder(memory.NewGoAllocator())
	long := strings.Repeat("a", maxCellBytes+1)
	for _, cell := range []string{"x", long[1:], long} {
		text.Append(cell)
		view.AppendString(cell)
	}
	texts := text.NewArray()
	of := dictionaryOf(arrow.BinaryTypes.String)
	places := oneColumn(t, arrow.PrimitiveTypes.Int8, `[0, 1, 2]`).Column(0)
	column := func(cells arrow.Array) arrow.RecordBatch {
		return array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "c", Type: cells.DataType()}}, nil), []arrow.Array{cells}, -1)
	}
	labels := column(array.NewDictionaryArray(of.(*arrow.DictionaryType), places, texts))
	for name, c := range map[string]struct {
		format  Format
		content []byte
	}{
		"text": {Arrow, arrowStream(t, column(texts))}, "packed text": {Arrow, packedStream(t, ipc.WithZstd(), column(texts))},
		"views": {Arrow, arrowStream(t, column(view.NewArray()))}, "a dictionary": {Arrow, arrowStream(t, labels)},
		"a page": {Parquet, parquetWith(t, column(texts), parquet.WithDictionaryDefault(false))}, "a dictionary page": {Parquet, parquetWith(t, labels)},
	} {
		_, err := readWhole(bytes.NewReader(c.content), c.format, Options{Name: "t"})
		if want := `t, row 2, column "c": the cell is longer than 1 MiB; shorten it, or drop the column`; err == nil || err.Error() != want {
			t.Errorf("%s: got  %v\nwant %s", name, err, want)
		}
	}
}

// claiming is a stream of batches of one column, in which the number of rows is replaced.
func claiming(t *testing.T, of arrow.DataType, file bool, option ipc.Option, batches int, claim uint64) []byte {
	t.Helper()
	const rows = 1_234_567
	cells := array.MakeArrayOfNull(memory.NewGoAllocator(), of, rows)
	batch := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "c", Type: of, Nullable: true}}, nil), []arrow.Array{cells}, rows)
	var out bytes.Buffer
	var w interface {
		Write(arrow.RecordBatch) error
		Close() error
	} = ipc.NewWriter(&out, ipc.WithSchema(batch.Schema()), option)
	if file {
		var err error
		if w, err = ipc.NewFileWriter(&out, ipc.WithSchema(batch.Schema()), option); err != nil {
			t.Fatal(err)
		}
	}
	for range batches {
		if err := w.Write(batch); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return bytes.ReplaceAll(out.Bytes(), binary.LittleEndian.AppendUint64(nil, rows), binary.LittleEndian.AppendUint64(nil, claim))
}

func TestRowsNeedBytes(t *testing.T) {
	const many = 1 << 40
	for _, file := range []bool{false, true} {
		for _, c := range []struct {
			of      arrow.DataType
			batches int
			claim   uint64
			want    string
		}{
			{arrow.Null, 1, maxUnbackedRows, ""},
			{arrow.Null, 1, many, "1099511627776 rows are claimed, for which the file holds nothing"},
			{arrow.Null, 2, maxUnbackedRows, "1048576 rows are claimed, for which the file holds nothing"},
			{arrow.Null, 2, 1 << 63, "a batch of -9223372036854775808 rows"},
			{arrow.PrimitiveTypes.Float64, 1, many, `column "c": 1099511627776 rows are claimed`},
			{arrow.FixedWidthTypes.Boolean, 1, many, `column "c": 1099511627776 rows are claimed`},
			{arrow.BinaryTypes.String, 1, many, `column "c": 1099511627776 rows are claimed`},
			{arrow.BinaryTypes.StringView, 1, many, `column "c": 1099511627776 rows are claimed`},
		} {
			for _, option := range []ipc.Option{ipc.WithMinSpaceSavings(0), ipc.WithZstd()} {
				content := claiming(t, c.of, file, option, c.batches, c.claim)
				_, err := readChunks(t, content, Arrow, Options{}, everyRow)
				if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s, %d batches of %d rows: %v, want %s", c.of, c.batches, c.claim, err, c.want)
				}
			}
		}
	}
}

// The text of a sample is bounded, and what has been read decides on the kinds.
func TestSampleIsBounded(t *testing.T) {
	text := "a,b\n" + strings.Repeat("1,x\n", 40_000) + "word,x\n"
	open := func(sample int) (Source, error) {
		b := newBudget(Options{})
		b.sample = sample
		return openFormat(t.Context(), strings.NewReader(text), io.NopCloser(nil), CSV, Options{Name: "t", SampleRows: -1}, b)
	}
	source, err := open(maxSampleBytes)
	if err != nil || source.Schema().Fields[0].Kind != Category {
		t.Fatalf("not all rows decide: %v", err)
	}
	if source, err = open(250_000); err != nil {
		t.Fatal(err)
	}
	if field := source.Schema().Fields[0]; field.Kind != Number || !strings.HasPrefix(field.Reason, "in the first 16,384 rows all ") {
		t.Errorf("%+v", field)
	}
	_, err = ReadAll(t.Context(), source)
	if want := `row 40000, column "a": "word" is not a number, unlike the first 16,384 rows, from which the column's kind was inferred`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
