package table

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// pageReader reads the pages of one column of a row group; the library decodes them. The library's own reader allocates
// what headers and compressed bytes claim; this one counts and checks the claims first. It implements file.PageReader.
type pageReader struct {
	in     *bufio.Reader
	left   int64 // bytes left in the chunk
	rows   int64 // rows that later pages may contain
	column *schema.Column
	codec  compress.Compression
	reader *parquetReader

	page       file.Page
	inPage     int64           // values of the current page left to read
	maxRows    int64           // maximum number of values to decode at a time
	entries    bool            // the page contains dictionary entries
	codes      map[*byte]int32 // codes of dictionary labels, by address
	data       []byte
	pageHeld   account // memory of the page
	decodeHeld account // memory of its decoded values
	dictHeld   account // memory of the dictionary
	bufferHeld account // memory of in
	err        error
}

// newPageReader returns a reader of the pages of a column chunk.
func newPageReader(r *parquetReader, chunk *metadata.ColumnChunkMetaData, column *schema.Column, rows int64) (*pageReader, error) {
	if chunk.CryptoMetadata() != nil {
		return nil, &Error{Row: noRow, Column: column.Name(), Message: "the column is encrypted", Remedy: "write it without encryption"}
	}
	at, ok := r.in.span(chunk)
	if !ok {
		return nil, damaged(fmt.Errorf("column %q lies outside the file", shorten(column.Name())))
	}
	// Old writers omit the header of the dictionary from the length.
	const padding = 100
	length := min(at.end-at.start+padding, r.in.size-at.start)
	buffer, held := min(r.window, length), account{budget: r.budget}
	p := &pageReader{
		left: length, rows: rows, column: column, codec: chunk.Compression(), reader: r,
		pageHeld: held, decodeHeld: held, dictHeld: held, bufferHeld: held,
	}
	if err := p.bufferHeld.takeUnpacked(buffer, buffer); err != nil {
		return nil, err
	}
	p.in = bufio.NewReaderSize(io.NewSectionReader(r.in, at.start, length), int(buffer))
	return p, nil
}

// Next reads the next page with values or a dictionary.
func (p *pageReader) Next() bool {
	p.page = nil
	for p.rows > 0 && p.err == nil && p.page == nil {
		p.err = p.next()
	}
	return p.page != nil && p.err == nil
}

func (p *pageReader) next() error {
	header, bytes, err := readPageHeader(p.in)
	if err != nil {
		return noEOF(err)
	}
	if p.left -= bytes + header.stored; p.left < 0 {
		return fmt.Errorf("a page claims %d bytes more than its column has", -p.left)
	}
	switch header.kind {
	case dictionaryPage:
		return p.readDictionary(header)
	case dataPage, dataPage2:
		return p.readData(header)
	}
	_, err = p.in.Discard(int(header.stored)) // other pages may be skipped
	return noEOF(err)
}

func (p *pageReader) readDictionary(header pageHeader) error {
	// Values take some bytes each; the decoder keeps a value, or a slice and its code.
	width, decoded := int64(p.column.PhysicalType().ByteSize()), int64(p.column.PhysicalType().ByteSize())
	switch p.column.PhysicalType() {
	case parquet.Types.Boolean:
		return errors.New("a column of booleans has a dictionary")
	case parquet.Types.ByteArray:
		width, decoded = 4, 48
	case parquet.Types.FixedLenByteArray:
		width, decoded = int64(p.column.TypeLength()), 24
	}
	if header.values > header.unpacked/max(1, width) {
		return fmt.Errorf("a dictionary claims %d values in %d bytes", header.values, header.unpacked)
	}
	p.dictHeld.release()
	if err := p.dictHeld.takeUnpacked(header.unpacked+2*decoded*header.values, header.stored); err != nil {
		return err
	}
	p.codes = map[*byte]int32{}
	content := make([]byte, header.unpacked)
	if err := p.unpack(p.codec, content, header.stored); err != nil {
		return err
	}
	p.page = file.NewDictionaryPage(memory.NewBufferBytes(content), int32(header.values), parquet.Encoding(header.encoding))
	return nil
}

func (p *pageReader) readData(header pageHeader) error {
	if header.values > p.rows {
		return fmt.Errorf("a page claims %d values where %d are left", header.values, p.rows)
	}
	if header.unpacked > int64(cap(p.data)) {
		p.pageHeld.release()
		if err := p.pageHeld.takeUnpacked(header.unpacked, header.stored); err != nil {
			return err
		}
		p.data = make([]byte, header.unpacked)
	}
	p.data = p.data[:header.unpacked]
	levels := header.defBytes + header.repBytes // version 2 does not compress them
	if levels > header.stored || levels > header.unpacked {
		return fmt.Errorf("a page of %d bytes claims %d bytes of levels", header.unpacked, levels)
	}
	if header.kind == dataPage2 {
		if _, err := io.ReadFull(p.in, p.data[:levels]); err != nil {
			return noEOF(err)
		}
	}
	codec := p.codec
	if header.notPacked {
		codec = compress.Codecs.Uncompressed
	}
	if err := p.unpack(codec, p.data[levels:], header.stored-levels); err != nil {
		return err
	}
	if header.values == 0 {
		return nil
	}
	if err := p.checkEncoding(header, levels); err != nil {
		return err
	}
	encoding := parquet.Encoding(header.encoding)
	p.entries = p.codes != nil && (encoding == parquet.Encodings.RLEDict || encoding == parquet.Encodings.PlainDict)
	p.rows -= header.values
	p.inPage = header.values
	p.page = p.pageOf(header)
	return nil
}

func (p *pageReader) pageOf(header pageHeader) file.Page {
	content, encoding := memory.NewBufferBytes(p.data), parquet.Encoding(header.encoding)
	if header.kind == dataPage {
		return file.NewDataPageV1(content, int32(header.values), encoding,
			parquet.Encoding(header.defEncoding), parquet.Encoding(header.repEncoding), int32(header.unpacked))
	}
	return file.NewDataPageV2(content, int32(header.values), int32(header.nulls), int32(header.rows), encoding,
		int32(header.defBytes), int32(header.repBytes), int32(header.unpacked), false)
}

// unpack reads the stored bytes, which must decompress to exactly dst.
func (p *pageReader) unpack(by compress.Compression, dst []byte, stored int64) error {
	if by == compress.Codecs.Uncompressed {
		if stored != int64(len(dst)) {
			return fmt.Errorf("a page that is not packed has %d bytes, and claims %d", stored, len(dst))
		}
		_, err := io.ReadFull(p.in, dst)
		return noEOF(err)
	}
	block, err := p.reader.scratch(stored)
	if err != nil {
		return err
	}
	if _, err := io.ReadFull(p.in, block); err != nil {
		return noEOF(err)
	}
	switch {
	case len(dst) == 0:
		return nil // codecs treat an empty destination as unknown size
	case by == compress.Codecs.Zstd:
		return p.reader.unpacker.zstandard(dst, block)
	case by == compress.Codecs.Snappy:
		if claimed, n := binary.Uvarint(block); n <= 0 || claimed != uint64(len(dst)) {
			return fmt.Errorf("a page claims %d bytes, and %d when packed", len(dst), claimed)
		}
	}
	codec, err := compress.GetCodec(by)
	if err != nil {
		return err
	}
	got, err := compress.Decode(codec, dst, block)
	if err != nil {
		return err
	}
	return wantUnpacked(len(got), len(dst))
}

// Page returns the page that Next read.
func (p *pageReader) Page() file.Page { return p.page }

// Err returns why Next read no page; nil at the end.
func (p *pageReader) Err() error { return p.err }

// Close releases the memory of pages.
func (p *pageReader) Close() error {
	p.page, p.data = nil, nil
	p.pageHeld.release()
	p.decodeHeld.release()
	p.dictHeld.release()
	p.bufferHeld.release()
	return nil
}

// GetDictionaryPage returns nil: Next returns dictionaries in order.
func (*pageReader) GetDictionaryPage() (*file.DictionaryPage, error) { return nil, nil } //nolint:nilnil // the interface says so

// SeekToPageWithRow is not supported: all rows of a row group are read.
func (*pageReader) SeekToPageWithRow(int64) error { return errors.ErrUnsupported }

// SetMaxPageHeaderSize does nothing: headers are limited.
func (*pageReader) SetMaxPageHeaderSize(int) {}

// Reset does nothing: each row group has its own reader.
func (*pageReader) Reset(parquet.BufferedReader, int64, compress.Compression, *file.CryptoContext) {}

// Limits of Parquet's delta encodings. A few bytes can claim any number of values, and the library allocates memory for
// them.
const (
	maxDeltaBlock    = 1 << 16  // values and parts of a block; writers use 128 values in 4 parts
	decodeBatch      = 1024     // values decoded at a time
	decodeBatchBytes = 16 << 20 // for texts with shared prefixes, which are copied for each text
)

// checkEncoding charges the decoded values of a page to the budget and sets how many are decoded at a time. In version
// 2, the given number of bytes of levels come first.
func (p *pageReader) checkEncoding(header pageHeader, levels int64) error {
	p.decodeHeld.release()
	p.maxRows = decodeBatch
	encoding := parquet.Encoding(header.encoding)
	switch encoding {
	case parquet.Encodings.DeltaBinaryPacked, parquet.Encodings.DeltaLengthByteArray, parquet.Encodings.DeltaByteArray:
	default:
		return nil
	}
	values := p.data[levels:]
	if header.kind == dataPage {
		skipped, err := p.levelBytes(header)
		if err != nil {
			return err
		}
		values = values[skipped:]
	}
	rest, err := deltaBlocks(values, header.values)
	if err != nil {
		return err
	}
	if encoding == parquet.Encodings.DeltaBinaryPacked {
		return nil
	}
	const lengthBytes = 2 * 4 // of a prefix and a suffix
	expanded := int64(0)
	if encoding == parquet.Encodings.DeltaByteArray {
		if _, err := deltaBlocks(rest, header.values); err != nil {
			return err
		}
		longest := max(1, int64(len(values))) // longest text
		p.maxRows = max(1, min(decodeBatch, decodeBatchBytes/longest))
		expanded = p.maxRows * longest
	}
	return p.decodeHeld.take(lengthBytes*header.values + expanded)
}

// levelBytes returns the size of the levels of a version 1 page.
func (p *pageReader) levelBytes(header pageHeader) (int, error) {
	if p.column.MaxDefinitionLevel() == 0 {
		return 0, nil
	}
	n := (header.values + 7) / 8
	if parquet.Encoding(header.defEncoding) == parquet.Encodings.RLE {
		if len(p.data) < 4 {
			return 0, errors.New("a page has no levels")
		}
		n = 4 + int64(binary.LittleEndian.Uint32(p.data))
	}
	if n > int64(len(p.data)) {
		return 0, fmt.Errorf("a page of %d bytes claims %d bytes of levels", len(p.data), n)
	}
	return int(n), nil
}

// deltaBlocks checks delta-encoded integers and returns the bytes after them.
func deltaBlocks(data []byte, limit int64) (rest []byte, err error) {
	short := errors.New("a page ends within its values")
	number := func() uint64 {
		v, n := binary.Uvarint(data)
		if n <= 0 {
			err = short
			return 0
		}
		data = data[n:]
		return v
	}
	block, parts, values, _ := number(), number(), number(), number()
	switch {
	case err != nil:
		return nil, err
	case block == 0 || parts == 0 || block > maxDeltaBlock || parts > block || block%parts != 0:
		return nil, fmt.Errorf("a page has blocks of %d values in %d parts", block, parts)
	case values > uint64(limit):
		return nil, fmt.Errorf("a page of %d values claims %d", limit, values)
	}
	for left := int64(values) - 1; left > 0; { // the first value precedes the blocks
		if number(); err != nil {
			return nil, err
		}
		if uint64(len(data)) < parts {
			return nil, short
		}
		widths := data[:parts]
		data = data[parts:]
		for _, width := range widths {
			if left <= 0 {
				break // unused parts have widths, but no bytes
			}
			bytes := int(block/parts) * int(width) / 8
			if bytes > len(data) {
				return nil, short
			}
			data = data[bytes:]
			left -= int64(block / parts)
		}
	}
	return data, nil
}
