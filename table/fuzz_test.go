package table

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
)

// FuzzCSV: whatever the bytes, reading ends in a valid table or an *Error, and a
// table that was read survives being written and read again, in CSV and Parquet.
func FuzzCSV(f *testing.F) {
	for _, text := range []string{
		"a,b\n1,x\n", "a;b\r\n\"1;2\";\"\"\"\"\r\n", "\ufeffa\tb\n\t\n", "a\n\"\"\n?\n2011-01-01\n", "a,b\nyes,1e9\nNO,-0\n",
		"a,\n \" x \" ,0x1\n", "\"a\nb\",c\n1,2\n\n", "x\n2011-01-01T10:00:00.1+01:00\n", "\"\ufeffa\",;\n1,2;3\n", string(packed("a,b\n1,2\n")),
	} {
		f.Add([]byte(text), false)
		f.Add([]byte(text), true)
	}
	f.Fuzz(func(t *testing.T, text []byte, noHeader bool) {
		wantWithinLimits(t, text, CSV, Options{NoHeader: noHeader, SampleRows: -1})
		first, err := readWhole(bytes.NewReader(text), CSV, Options{Name: "fuzz", NoHeader: noHeader})
		if err != nil {
			if e, is := errors.AsType[*Error](err); !is || e.File != "fuzz" {
				t.Fatalf("not an *Error with a file: %v", err)
			}
			return
		}
		if _, err := New(first.Columns...); err != nil {
			t.Fatal("an invalid table was read:", err)
		}
		for _, format := range []Format{CSV, Parquet} {
			if first.Rows() == 0 {
				continue // kinds are then unknown
			}
			second, err := readWhole(bytes.NewReader(written(t, first, format, 3)), format, Options{})
			if err != nil {
				t.Fatal("what was written cannot be read:", err)
			}
			if d := differenceButWords(first, second, format); d != "" {
				t.Fatal(d)
			}
		}
	})
}

// differenceButWords ignores the words of booleans, which only text formats keep.
func differenceButWords(want, got *Table, format Format) string {
	if format != CSV {
		want = want.eachColumn(func(c *Column) *Column {
			plain := *c
			if c.Kind == Boolean {
				plain.Levels = nil
			}
			return &plain
		})
	}
	return difference(want, got)
}

// FuzzSchema: the kind inferred from cells is one that all of them can be read as,
// and the same cells as a stream are read alike or refused.
func FuzzSchema(f *testing.F) {
	for _, text := range []string{"1\n2", "1\nx", "yes\nno\nT", "2011-01-01\n1 Jan 2011", "\n\nNA", "01\n1,5", "inf\n1", "1e999", "01/02/2011", " 1 \n\t2", "Infinity\nx", "-\n+"} {
		f.Add(text, 1)
	}
	f.Fuzz(func(t *testing.T, text string, sampled int) {
		lines := strings.Split(text, "\n")
		column := textColumn{rows: len(lines), cell: func(row int) []byte { return []byte(lines[row]) }}
		missing := newMissingTokens([]string{"-9"})
		found := infer(column, missing, "")
		if found.reason == "" {
			t.Fatal("no reason")
		}
		whole, err := newDecoder("c", found, "", missing, nil).decode(column, 0)
		if err != nil {
			if e, is := errors.AsType[*Error](err); !is || e.Row < 0 || e.Column != "c" || !excusable(found.kind, lines[e.Row]) {
				t.Fatalf("%s cannot be read as inferred: %v", found.kind, err)
			}
			return
		}
		if err := whole.check(); err != nil {
			t.Fatal(err)
		}
		if field := describe(whole); field.Kind != found.kind || !strings.HasPrefix(field.Reason, found.reason) {
			t.Fatalf("described as %+v", field)
		}

		sample := column
		sample.rows = max(1, min(sampled, len(lines)))
		streamed, err := newDecoder("c", infer(sample, missing, ""), "", missing, nil).decode(column, 0)
		if err == nil && streamed.Kind == whole.Kind {
			if d := difference(&Table{Columns: []*Column{whole}}, &Table{Columns: []*Column{streamed}}); d != "" {
				t.Fatal("a stream differs:", d)
			}
		}
	})
}

// excusable cells are refused although they fit the kind: infinite numbers, and
// labels that are not UTF-8.
func excusable(kind Kind, cell string) bool {
	if kind == Category {
		return !utf8.ValidString(cell)
	}
	v, is := parseNumber([]byte(cell))
	return kind == Number && is && math.IsInf(v, 0)
}

// FuzzTyped: damaged Parquet and Arrow bytes are errors, never panics, and take no more
// memory than they may.
func FuzzTyped(f *testing.F) {
	for _, format := range []Format{Parquet, Arrow, ArrowFile} {
		f.Add(written(f, everyKind(f), format, 2), uint8(format-Parquet))
	}
	rng := rand.New(rand.NewPCG(9, 10))
	types := append(append(numberTypes(), textTypes()...), arrow.BinaryTypes.StringView)
	batch := drawnBatch(f, rng, 20, types[:len(types)-1])
	for _, encoding := range []parquet.Encoding{parquet.Encodings.DeltaByteArray, parquet.Encodings.DeltaLengthByteArray} {
		texts := drawnBatch(f, rng, 20, []arrow.DataType{arrow.BinaryTypes.String})
		f.Add(parquetWith(f, texts, parquet.WithDictionaryDefault(false), parquet.WithEncoding(encoding)), uint8(0))
	}
	f.Add(parquetWith(f, batch, parquet.WithCompression(compress.Codecs.Zstd)), uint8(0))
	f.Add(parquetWith(f, batch, parquet.WithCompression(compress.Codecs.Snappy), parquet.WithDataPageVersion(parquet.DataPageV2)), uint8(0))
	f.Add(packedStream(f, ipc.WithZstd(), drawnBatch(f, rng, 20, types)), uint8(1))
	f.Add(packedStream(f, ipc.WithLZ4(), drawnBatch(f, rng, 20, types)), uint8(1))
	f.Fuzz(func(t *testing.T, content []byte, format uint8) {
		wantWithinLimits(t, content, Parquet+Format(format%3), Options{})
	})
}

// wantWithinLimits reads content twice. With a limit on memory it ends in the limit or as
// without it, and all that was reserved is given back.
func wantWithinLimits(t *testing.T, content []byte, format Format, options Options) {
	t.Helper()
	const small, large = 256 << 10, 64 << 20
	var rows [2]int
	var errs [2]error
	var ledgers [2]*ledger
	for i, limit := range []int64{large, small} {
		ledgers[i] = newLedger(limit)
		options.Reserve = ledgers[i].reserve
		rows[i], errs[i] = readDamaged(t, content, format, options)
		if held := ledgers[i].held; held != 0 || ledgers[i].lowest < 0 {
			t.Fatalf("%d bytes are still reserved, and at least %d were", held, ledgers[i].lowest)
		}
	}
	switch refused := errors.Is(errs[1], ledgers[1].refusal); {
	case refused && ledgers[0].highest <= small:
		t.Fatalf("%d bytes are too many for %d", ledgers[0].highest, small)
	case !refused && (ledgers[0].highest > small || rows[0] != rows[1] || (errs[0] == nil) != (errs[1] == nil)):
		t.Fatalf("%d rows by %d bytes (%v), and %d by %d (%v)", rows[0], ledgers[0].highest, errs[0], rows[1], ledgers[1].highest, errs[1])
	}
}
