package table

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/parquet"
)

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
	p.most = decodeBatch
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
		p.most = max(1, min(decodeBatch, decodeBatchBytes/longest))
		expanded = p.most * longest
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
func deltaBlocks(data []byte, most int64) (rest []byte, err error) {
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
	case values > uint64(most):
		return nil, fmt.Errorf("a page of %d values claims %d", most, values)
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
