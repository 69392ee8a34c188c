package table

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// parquetCells reads the cells of one column, row group by row group. Labels are looked up in place, in a page or a
// dictionary, so that repeated labels are stored once.
type parquetCells struct {
	reader *parquetReader
	column *schema.Column
	leaf   int  // index of the column in the file
	null   bool // all cells are missing
	next   int  // next row group
	left   int  // rows left in the current row group
	pages  *pageReader
	values file.ColumnChunkReader
	fill   func(column *Column, first, n int) error // reads n values of a page

	label    func(row int, text []byte) error
	integers []int64 // values just read, if their text will be needed
	unsigned bool    // they are unsigned
	held     account // memory of integers
}

// newParquetCells reads a column as its declared type.
func newParquetCells(r *parquetReader, leaf int, of arrow.DataType, texts bool) (*parquetCells, error) {
	c := &parquetCells{reader: r, leaf: leaf, column: r.file.MetaData().Schema.Column(leaf), held: account{budget: r.budget}}
	if c.column.MaxRepetitionLevel() > 0 || c.column.MaxDefinitionLevel() > 1 {
		return nil, unreadable(of)
	}
	of = storageOf(of)
	if dictionary, is := of.(*arrow.DictionaryType); is {
		of = dictionary.ValueType
	}
	if texts && arrow.IsInteger(of.ID()) {
		c.integers = []int64{}
	}
	c.null = of.ID() == arrow.NULL
	if c.fill = c.filler(of); c.fill == nil && !c.null {
		return nil, unreadable(of)
	}
	return c, nil
}

// filler returns a function that reads values of a type; nil if the type is not supported.
func (c *parquetCells) filler(of arrow.DataType) func(column *Column, first, n int) error {
	switch c.column.PhysicalType() {
	case parquet.Types.Boolean:
		if of.ID() == arrow.BOOL {
			return filler(c, numbers(func(v bool) float64 {
				if v {
					return 1
				}
				return 0
			}))
		}
	case parquet.Types.Int32:
		return c.fillInt32(of)
	case parquet.Types.Int64:
		return c.fillInt64(of)
	case parquet.Types.Int96:
		if of.ID() == arrow.TIMESTAMP {
			return filler(c, func(column *Column, row int, v parquet.Int96) error {
				nanoseconds, err := v.ToTimestamp()
				column.Numbers[row] = secondsOf(int64(nanoseconds), 1e9)
				return err
			})
		}
	case parquet.Types.Float:
		if of.ID() == arrow.FLOAT32 {
			return filler(c, numbers(func(v float32) float64 { return float64(v) }))
		}
	case parquet.Types.Double:
		if of.ID() == arrow.FLOAT64 {
			return filler(c, numbers(func(v float64) float64 { return v }))
		}
	case parquet.Types.ByteArray:
		if of.ID() == arrow.STRING || of.ID() == arrow.LARGE_STRING {
			return filler(c, c.setLabel)
		}
		if number := decimals(of); number != nil {
			return filler(c, func(column *Column, row int, v parquet.ByteArray) error { return number(column, row, v) })
		}
	case parquet.Types.FixedLenByteArray:
		if of.ID() == arrow.FLOAT16 && c.column.TypeLength() == arrow.Float16SizeBytes {
			return filler(c, numbers(func(v parquet.FixedLenByteArray) float64 { return float64(float16.FromLEBytes(v).Float32()) }))
		}
		if number := decimals(of); number != nil && c.column.TypeLength() <= arrow.Decimal256SizeBytes {
			return filler(c, func(column *Column, row int, v parquet.FixedLenByteArray) error { return number(column, row, v) })
		}
	}
	return nil
}

func (c *parquetCells) fillInt32(of arrow.DataType) func(column *Column, first, n int) error {
	switch of := of.(type) {
	case *arrow.Int8Type, *arrow.Int16Type, *arrow.Int32Type, *arrow.Uint8Type, *arrow.Uint16Type:
		return filler(c, integers(c, func(v int32) int64 { return int64(v) }))
	case *arrow.Uint32Type:
		return filler(c, integers(c, func(v int32) int64 { return int64(uint32(v)) }))
	case *arrow.Date32Type, *arrow.Date64Type:
		const secondsPerDay = 86400
		return filler(c, numbers(func(v int32) float64 { return float64(v) * secondsPerDay }))
	case *arrow.Decimal128Type:
		return filler(c, numbers(func(v int32) float64 { return decimal128.FromI64(int64(v)).ToFloat64(of.Scale) }))
	case *arrow.Decimal256Type:
		return filler(c, numbers(func(v int32) float64 { return decimal256.FromI64(int64(v)).ToFloat64(of.Scale) }))
	}
	return nil
}

func (c *parquetCells) fillInt64(of arrow.DataType) func(column *Column, first, n int) error {
	switch of := of.(type) {
	case *arrow.Int8Type, *arrow.Int16Type, *arrow.Int32Type, *arrow.Int64Type, *arrow.Uint8Type, *arrow.Uint16Type, *arrow.Uint32Type:
		return filler(c, integers(c, func(v int64) int64 { return v }))
	case *arrow.Uint64Type:
		c.unsigned = true
		return filler(c, integers(c, func(v int64) int64 { return v }))
	case *arrow.TimestampType:
		perSecond := map[arrow.TimeUnit]int64{arrow.Millisecond: 1e3, arrow.Microsecond: 1e6, arrow.Nanosecond: 1e9}[of.Unit]
		if perSecond != 0 {
			return filler(c, numbers(func(v int64) float64 { return secondsOf(v, perSecond) }))
		}
	case *arrow.Decimal128Type:
		return filler(c, numbers(func(v int64) float64 { return decimal128.FromI64(v).ToFloat64(of.Scale) }))
	case *arrow.Decimal256Type:
		return filler(c, numbers(func(v int64) float64 { return decimal256.FromI64(v).ToFloat64(of.Scale) }))
	}
	return nil
}

// setLabel looks up each dictionary entry once, by its address, which all its rows share.
func (c *parquetCells) setLabel(column *Column, row int, text parquet.ByteArray) error {
	if !c.pages.entries || len(text) == 0 {
		return c.label(row, text)
	}
	place := &text[0]
	if code, known := c.pages.codes[place]; known {
		column.Codes[row], column.Observed[row] = code, code >= 0
		return nil
	}
	if err := c.label(row, text); err != nil {
		return err
	}
	c.pages.codes[place] = column.Codes[row]
	return nil
}

// filler returns a function that reads values stored as T and sets the cells of a column.
func filler[T any](c *parquetCells, set func(column *Column, row int, value T) error) func(column *Column, first, n int) error {
	var values []T
	return func(column *Column, first, n int) error {
		if cap(values) < n {
			values = make([]T, n)
		}
		values = values[:n]
		var levels []int16
		if c.column.MaxDefinitionLevel() > 0 {
			levels = c.reader.levels[:n]
		}
		reader := c.values.(interface {
			ReadBatchInPage(n int64, values []T, levels, _ []int16) (total int64, read int, err error)
		})
		total, read, err := reader.ReadBatchInPage(int64(n), values, levels, nil) // texts point into the page or its dictionary
		if err == nil && total != int64(n) {
			err = fmt.Errorf("a page ends after %d of %d values", total, n)
		}
		if err != nil {
			return damaged(err)
		}
		next := 0
		for i := range n {
			if len(levels) > 0 && levels[i] == 0 {
				continue
			}
			if next == read {
				return damaged(fmt.Errorf("a page has %d values, and claims more", read))
			}
			column.Observed[first+i] = true
			if err := set(column, first+i, values[next]); err != nil {
				return err
			}
			next++
		}
		return nil
	}
}

func numbers[T any](number func(T) float64) func(column *Column, row int, value T) error {
	return func(column *Column, row int, value T) error {
		column.Numbers[row] = number(value)
		return nil
	}
}

// integers sets integers, and keeps them if their text will be needed.
func integers[T int32 | int64](c *parquetCells, integer func(T) int64) func(column *Column, row int, value T) error {
	return func(column *Column, row int, value T) error {
		v := integer(value)
		column.Numbers[row] = float64(v)
		if c.unsigned {
			column.Numbers[row] = float64(uint64(v))
		}
		if c.integers != nil {
			c.integers[row] = v
		}
		return nil
	}
}

// decimals sets decimals stored as big-endian integers; nil if the type is not a decimal.
func decimals(of arrow.DataType) func(column *Column, row int, bytes []byte) error {
	size := 0
	var number func(words [4]uint64) float64
	switch of := of.(type) {
	case *arrow.Decimal128Type:
		size = arrow.Decimal128SizeBytes
		number = func(w [4]uint64) float64 { return decimal128.New(int64(w[2]), w[3]).ToFloat64(of.Scale) }
	case *arrow.Decimal256Type:
		size = arrow.Decimal256SizeBytes
		number = func(w [4]uint64) float64 { return decimal256.New(w[0], w[1], w[2], w[3]).ToFloat64(of.Scale) }
	default:
		return nil
	}
	return func(column *Column, row int, bytes []byte) error {
		if len(bytes) == 0 || len(bytes) > size {
			return damaged(fmt.Errorf("a decimal has %d bytes", len(bytes)))
		}
		var full [arrow.Decimal256SizeBytes]byte
		if bytes[0] >= 0x80 {
			for i := range full {
				full[i] = 0xff
			}
		}
		copy(full[len(full)-len(bytes):], bytes)
		var words [4]uint64
		for i := range words {
			words[i] = binary.BigEndian.Uint64(full[8*i:])
		}
		column.Numbers[row] = number(words)
		return nil
	}
}

func (c *parquetCells) read(column *Column, label func(row int, text []byte) error) error {
	n := column.Len()
	c.label = label
	if more := n - len(c.integers); c.integers != nil && more > 0 {
		if err := c.held.take(8 * int64(more)); err != nil {
			return err
		}
		c.integers = make([]int64, n)
	}
	for row := 0; row < n && !c.null; {
		if c.left == 0 {
			if err := c.open(); err != nil {
				return err
			}
			continue
		}
		if c.pages.inPage == 0 && !c.values.HasNext() {
			err := c.values.Err()
			if err == nil {
				err = fmt.Errorf("%d rows are missing at the end of a row group", c.left)
			}
			return damaged(err)
		}
		part := int(min(int64(n-row), int64(c.left), c.pages.inPage, c.pages.maxRows))
		if err := c.fill(column, row, part); err != nil {
			return err
		}
		row += part
		c.left -= part
		c.pages.inPage -= int64(part)
	}
	return nil
}

// open continues with the next row group.
func (c *parquetCells) open() error {
	c.close()
	group := c.reader.groups[c.next]
	chunk, err := c.reader.file.MetaData().RowGroup(group.index).ColumnChunk(c.leaf)
	if err != nil {
		return damaged(err)
	}
	if c.pages, err = newPageReader(c.reader, chunk, c.column, int64(group.rows)); err != nil {
		return err
	}
	// The library has no other way to pass in pages that have been checked.
	c.values = file.NewColumnReader(c.column, c.pages, memory.NewGoAllocator(), c.reader.file.BufferPool()) //nolint:staticcheck // see above
	c.next++
	c.left = group.rows
	return nil
}

func (c *parquetCells) close() {
	if c.pages != nil {
		_ = c.pages.Close() // read-only
		c.pages = nil
	}
}

func (c *parquetCells) integer(row int) []byte {
	switch {
	case c.integers == nil:
		return nil
	case c.unsigned:
		return strconv.AppendUint(nil, uint64(c.integers[row]), 10)
	}
	return strconv.AppendInt(nil, c.integers[row], 10)
}
