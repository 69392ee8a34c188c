package table

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// thriftPage writes the header of a page: its numbers, then those of its kind. Fields of both
// count from 1.
func thriftPage(kind, unpacked, stored int64, of ...int64) []byte {
	const integer, structure = 5, 12
	steps := map[int64]byte{dataPage: 2, dictionaryPage: 4, dataPage2: 5} // from field 3 to that of the kind
	var b []byte
	for _, n := range []int64{kind, unpacked, stored} {
		b = binary.AppendVarint(append(b, 1<<4|integer), n)
	}
	b = append(b, steps[kind]<<4|structure)
	for _, n := range of {
		b = binary.AppendVarint(append(b, 1<<4|integer), n)
	}
	return append(b, 0, 0)
}

// column is a column as Parquet describes it.
func columnOf(t *testing.T, of arrow.DataType, nullable bool) *schema.Column {
	t.Helper()
	batch := oneColumn(t, of, `[]`)
	if !nullable {
		batch = drawnBatch(t, nil, 0, []arrow.DataType{of})
	}
	r, err := file.NewParquetReader(bytes.NewReader(parquetFile(t, batch)))
	if err != nil {
		t.Fatal(err)
	}
	return r.MetaData().Schema.Column(0)
}

// pagesOf reads content as the pages of a column of so many rows.
func pagesOf(content []byte, column *schema.Column, rows int64, codec compress.Compression, b *budget) *pageReader {
	held := account{budget: b}
	return &pageReader{
		in: bufio.NewReader(bytes.NewReader(content)), left: int64(len(content)), rows: rows, column: column, codec: codec,
		reader: &parquetReader{budget: b, held: held}, pageHeld: held, decodeHeld: held, dictHeld: held, bufferHeld: held,
	}
}

// deltas are integers packed as differences, in blocks of 128 values and 4 parts, all 0.
func deltas(values uint64) []byte {
	b := []byte{0x80, 1, 4}
	b = binary.AppendUvarint(b, values)
	b = append(b, 0)
	for n := uint64(1); n < values; n += 128 {
		b = append(b, 0, 0, 0, 0, 0)
	}
	return b
}

// Pages that claim one thing and hold another are refused before memory is taken for them.
func TestPagesThatLie(t *testing.T) {
	const bound = 48 << 20
	zero := make([]byte, 64<<20)
	zstd, _ := compress.GetCodec(compress.Codecs.Zstd)
	gzipped, _ := compress.GetCodec(compress.Codecs.Gzip)
	brotli, _ := compress.GetCodec(compress.Codecs.Brotli)
	page := func(unpacked, values int64, encoding parquet.Encoding, body []byte) []byte {
		return append(thriftPage(dataPage, unpacked, int64(len(body)), values, int64(encoding), 3, 3), body...)
	}
	text, number := columnOf(t, arrow.BinaryTypes.String, false), columnOf(t, arrow.PrimitiveTypes.Int64, false)
	plain, deltaText := parquet.Encodings.Plain, parquet.Encodings.DeltaByteArray
	for name, c := range map[string]struct {
		column  *schema.Column
		codec   compress.Compression
		content []byte
		want    string
	}{
		"frames that go on":        {text, compress.Codecs.Zstd, page(100, 1, plain, zstd.Encode(nil, zero)), "decompressed size exceeds"},
		"a block that goes on":     {text, compress.Codecs.Snappy, page(100, 1, plain, binary.AppendUvarint(nil, 1<<32-1)), "a page claims 100 bytes, and 4294967295 when packed"},
		"gzip that goes on":        {text, compress.Codecs.Gzip, page(100, 1, plain, gzipped.Encode(nil, zero)), "exceeds destination size 100"},
		"gzip of no size":          {text, compress.Codecs.Gzip, page(0, 1, plain, gzipped.Encode(nil, zero)), ""},
		"brotli of no size":        {text, compress.Codecs.Brotli, page(0, 1, plain, brotli.Encode(nil, zero)), ""},
		"a page of any size":       {text, compress.Codecs.Zstd, page(1<<31-1, 1, plain, []byte("short")), "reading the table takes more than 512 MiB"},
		"a page beyond its column": {text, compress.Codecs.Zstd, thriftPage(dataPage, 100, 1<<30, 1, 0, 3, 3), "a page claims 1073741824 bytes more than its column has"},
		"a negative size":          {text, compress.Codecs.Zstd, page(-1, 1, plain, nil), "the header of a page holds -1"},
		"more values than rows":    {text, compress.Codecs.Uncompressed, page(4, 1001, plain, make([]byte, 4)), "a page claims 1001 values where 1000 are left"},
		"a dictionary of any length": {
			text, compress.Codecs.Uncompressed, append(thriftPage(dictionaryPage, 8, 8, 1<<31-1, 0), make([]byte, 8)...),
			"a dictionary claims 2147483647 values in 8 bytes",
		},
		"levels beyond a page": {
			text, compress.Codecs.Uncompressed, append(thriftPage(dataPage2, 8, 8, 1, 0, 1, 0, 9, 0), make([]byte, 8)...), "a page of 8 bytes claims 9 bytes of levels",
		},
		"blocks of any length": {
			number, compress.Codecs.Uncompressed, page(8, 1000, parquet.Encodings.DeltaBinaryPacked, []byte{0x80, 0xff, 0xff, 0xff, 0x0f, 1, 0xe8, 7}), "a page ends within its values",
		},
		"long blocks": {
			number, compress.Codecs.Uncompressed, page(9, 1000, parquet.Encodings.DeltaBinaryPacked, []byte{0x80, 0xff, 0xff, 0xff, 0x0f, 1, 0xe8, 7, 0}), "a page has blocks of 4294967168 values in 1 parts",
		},
		"lengths without texts": {
			text, compress.Codecs.Uncompressed, page(int64(len(deltas(1001))), 1000, parquet.Encodings.DeltaLengthByteArray, deltas(1001)), "a page of 1000 values claims 1001",
		},
		"beginnings without lengths": {
			text, compress.Codecs.Uncompressed, page(int64(len(deltas(1000))), 1000, deltaText, deltas(1000)), "a page ends within its values",
		},
	} {
		pages := pagesOf(c.content, c.column, 1000, c.codec, newBudget(Options{}))
		peak := heapPeak(func() {
			err := guard(func() error {
				if pages.Next() {
					return nil
				}
				return pages.Err()
			})
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: %v, want %s", name, err, c.want)
			}
		})
		if peak > bound {
			t.Errorf("%s: the heap grew by %d MB", name, peak/1e6)
		}
	}
}

// What the delta encodings are decoded to is counted: a few bytes stand for any number of values.
func TestDecodedValuesCount(t *testing.T) {
	const rows = 100 << 20
	text := columnOf(t, arrow.BinaryTypes.String, false)
	body := append([]byte{0x80, 0x80, 4, 1}, binary.AppendUvarint(nil, rows)...)
	body = append(body, 0)
	for range rows>>16 + 1 {
		body = append(body, 0, 0)
	}
	content := append(thriftPage(dataPage, int64(len(body)), int64(len(body)), rows, int64(parquet.Encodings.DeltaLengthByteArray), 3, 3), body...)
	pages := pagesOf(content, text, rows, compress.Codecs.Uncompressed, newBudget(Options{}))
	if pages.Next() || pages.Err() == nil || !strings.Contains(pages.Err().Error(), "reading the table takes more than 512 MiB") {
		t.Errorf("%d values in %d bytes: %v", rows, len(content), pages.Err())
	}
}

// Headers of any writer are read: fields that are not known are passed over.
func TestPageHeaders(t *testing.T) {
	content := []byte{
		0x15, 0, 0x15, 20, 0x15, 40, // kind 0, 10 and 20 bytes
		0x15, 8, // a checksum
		0x1c,     // the numbers of a data page:
		0x15, 14, // 7 values
		0x15, 0, // plain
		0x15, 6, // levels by run length
		0x15, 6, //
		0x1c,          // statistics:
		0x18, 2, 1, 2, // bytes
		0x17, 1, 2, 3, 4, 5, 6, 7, 8, // a double
		0x19, 0x21, 1, 2, // a list of two truths
		0x1b, 1, 0x85, 1, 'x', 4, // a map of a text to a number
		0x11, 0x12, 0x13, 9, // truths and a byte
		0x0c, 100, 0, // a structure in field 50
		0, // the end of the statistics
		0, // of the data page
		0, // of the header
		'!',
	}
	in := bufio.NewReader(bytes.NewReader(content))
	header, n, err := readPageHeader(in)
	if err != nil || header.unpacked != 10 || header.stored != 20 || header.values != 7 || header.defEncoding != 3 {
		t.Errorf("%+v, %v", header, err)
	}
	if next, _ := in.ReadByte(); next != '!' || n != int64(len(content)-1) {
		t.Errorf("%d bytes are read of %d", n, len(content)-1)
	}
	for cut := range content[:len(content)-1] {
		if _, _, err := readPageHeader(bufio.NewReader(bytes.NewReader(content[:cut]))); !errors.Is(noEOF(err), io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes: %v", cut, err)
		}
	}
	for name, bad := range map[string][]byte{
		"deep":             bytes.Repeat([]byte{0x1c}, 100),
		"a long number":    append([]byte{0x15}, bytes.Repeat([]byte{0xff}, 11)...),
		"an unknown type":  {0x1e},
		"a long text":      append([]byte{0x18}, binary.AppendUvarint(nil, 1<<40)...),
		"a list of no end": append([]byte{0x19, 0xf1}, binary.AppendUvarint(nil, 1<<62)...),
	} {
		if _, _, err := readPageHeader(bufio.NewReader(bytes.NewReader(bad))); err == nil {
			t.Errorf("%s is read", name)
		}
	}
}
