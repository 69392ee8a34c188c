package table

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// arrowCells reads the cells of one column, an array of each batch in turn.
type arrowCells struct {
	of         arrow.DataType
	dictionary *arrowDictionary // if of is a dictionary type
	held       *account

	at       int64        // next row
	validity *ipcBuffer   // nil if no cell is missing
	values   *ipcBuffer   // numbers, dictionary indices, views, or offsets of texts
	text     *ipcBuffer   // the text that offsets refer to
	texts    [][]byte     // the texts that views refer to
	integers arrow.Array  // the integers just read; nil for other types
	places   []float64    // dictionary indices
	codes    []int32      // codes of labels by dictionary index; computed on first use
	version  int          // version of the dictionary that codes belong to
	coded    account      // memory of codes
	buffers  []*ipcBuffer // all buffers of the array
}

// open finds the buffers of the next array of the batch.
func (c *arrowCells) open(batch *ipcBatch, u *unpacker) error {
	length, nulls := batch.nodes.take()
	if length != batch.rows {
		return fmt.Errorf("it has %d rows in a batch of %d", length, batch.rows)
	}
	c.close()
	for i := range batch.bufferCount(c.of) {
		buffer, err := batch.buffer(u, c.held)
		if err != nil {
			return err
		}
		c.buffers = append(c.buffers, buffer)
		switch {
		case i == 0 && nulls != 0:
			c.validity = buffer
		case i == 1:
			c.values = buffer
		case i == 2 && c.of.ID() != arrow.STRING_VIEW:
			c.text = buffer
		case i >= 2:
			if err := c.view(buffer); err != nil {
				return err
			}
		}
	}
	return c.check(length)
}

// view keeps a whole text buffer, because views refer to it in any order.
func (c *arrowCells) view(buffer *ipcBuffer) error {
	text, err := buffer.bytes(0, buffer.size)
	c.texts = append(c.texts, text)
	return err
}

// check rejects batches with more rows than the buffers have bytes for.
func (c *arrowCells) check(rows int64) error {
	if c.validity != nil && rows > 8*c.validity.size {
		return fmt.Errorf("%d rows are claimed, and marks for %d", rows, 8*c.validity.size)
	}
	if c.values == nil || rows == 0 {
		return nil
	}
	entries := rows
	if c.text != nil {
		entries++ // the end of the last text
	}
	if width := int64(c.bits()); entries < 0 || c.values.size > math.MaxInt64/8 || entries > 8*c.values.size/width {
		return fmt.Errorf("%d rows are claimed, and %d bytes for them", rows, c.values.size)
	}
	return nil
}

// bits returns the size of an entry of values.
func (c *arrowCells) bits() int {
	switch of := c.of.(type) {
	case *arrow.StringType:
		return 32
	case *arrow.LargeStringType:
		return 64
	case *arrow.StringViewType:
		return 128
	case *arrow.DictionaryType:
		return of.IndexType.(arrow.FixedWidthDataType).BitWidth()
	case arrow.FixedWidthDataType:
		return of.BitWidth()
	}
	panic(fmt.Sprintf("cells of type %s", c.of)) // newTypedColumn rejects these types
}

func (c *arrowCells) close() {
	for _, buffer := range c.buffers {
		_ = buffer.close() // read-only
	}
	*c = arrowCells{of: c.of, dictionary: c.dictionary, held: c.held, codes: c.codes, version: c.version, coded: c.coded}
}

func (c *arrowCells) read(column *Column, label func(row int, text []byte) error) error {
	from, to := c.at, c.at+int64(column.Len())
	c.at = to
	c.integers = nil
	if c.of.ID() == arrow.NULL {
		return nil
	}
	if err := c.readObserved(column.Observed, from); err != nil {
		return err
	}
	switch of := c.of.(type) {
	case *arrow.StringType, *arrow.LargeStringType:
		return c.readTexts(column, from, to, label)
	case *arrow.StringViewType:
		return c.readViews(column, from, to, label)
	case *arrow.DictionaryType:
		return c.readEntries(of, column, from, to, label)
	}
	numbers, err := c.window(c.of, from, to)
	if err != nil {
		return err
	}
	if arrow.IsInteger(c.of.ID()) {
		c.integers = numbers
	}
	return readNumbers(column, numbers)
}

func (c *arrowCells) integer(row int) []byte {
	if c.integers == nil {
		return nil
	}
	return []byte(c.integers.ValueStr(row))
}

// readObserved reads the validity of cells, starting at a row.
func (c *arrowCells) readObserved(observed []bool, from int64) error {
	if c.validity == nil {
		for row := range observed {
			observed[row] = true
		}
		return nil
	}
	bits, err := c.validity.bytes(from/8, (from+int64(len(observed))+7)/8)
	if err != nil {
		return err
	}
	for row := range observed {
		observed[row] = bitutil.BitIsSet(bits, int(from%8)+row)
	}
	return nil
}

// window returns rows of a fixed-width array as an array without nulls.
func (c *arrowCells) window(of arrow.DataType, from, to int64) (arrow.Array, error) {
	bits := int64(of.(arrow.FixedWidthDataType).BitWidth())
	offset := from * bits % 8 // of booleans
	values, err := c.values.bytes(from*bits/8, (to*bits+7)/8)
	if err != nil {
		return nil, err
	}
	data := array.NewData(of, int(to-from), []*memory.Buffer{nil, memory.NewBufferBytes(values)}, nil, 0, int(offset))
	return array.MakeFromData(data), nil
}

// readTexts reads texts that are stored consecutively.
func (c *arrowCells) readTexts(column *Column, from, to int64, label func(row int, text []byte) error) error {
	width := int64(c.bits() / 8)
	ends, err := c.values.bytes(from*width, (to+1)*width)
	if err != nil {
		return err
	}
	end := func(i int) int64 {
		if width == 4 {
			return int64(binary.LittleEndian.Uint32(ends[4*i:]))
		}
		return int64(binary.LittleEndian.Uint64(ends[8*i:]))
	}
	for row, observed := range column.Observed {
		if !observed {
			continue
		}
		start, end := end(row), end(row+1)
		if end-start > maxCellBytes && end <= c.text.size {
			end = start + maxCellBytes + 1 // enough to exceed the limit
		}
		text, err := c.text.bytes(start, end)
		if err == nil {
			err = label(row, text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readViews reads texts that are stored inline, or anywhere in the array's text buffers.
func (c *arrowCells) readViews(column *Column, from, to int64, label func(row int, text []byte) error) error {
	const size, inline = 16, 12 // bytes of a view, and of an inline text
	views, err := c.values.bytes(size*from, size*to)
	if err != nil {
		return err
	}
	for row, observed := range column.Observed {
		if !observed {
			continue
		}
		view := views[row*size:][:size]
		length := binary.LittleEndian.Uint32(view)
		text := view[4:]
		if length > inline {
			text = c.texts[binary.LittleEndian.Uint32(view[8:])][binary.LittleEndian.Uint32(view[12:]):]
		}
		if err := label(row, text[:min(length, maxCellBytes+1)]); err != nil {
			return err
		}
	}
	return nil
}

// readEntries reads dictionary indices and looks up their entries.
func (c *arrowCells) readEntries(of *arrow.DictionaryType, column *Column, from, to int64, label func(row int, text []byte) error) error {
	window, err := c.window(of.IndexType, from, to)
	if err != nil {
		return err
	}
	if more := int(to-from) - len(c.places); more > 0 {
		if err := c.held.take(8 * int64(more)); err != nil {
			return err
		}
		c.places = make([]float64, to-from)
	}
	if !copyPlain(c.places, window) {
		return unreadable(c.of)
	}
	for row, observed := range column.Observed {
		if !observed {
			continue
		}
		place := int(c.places[row])
		if place < 0 || place >= c.dictionary.entries.Len() {
			return damaged(fmt.Errorf("entry %d of a dictionary of %d is referred to", place, c.dictionary.entries.Len()))
		}
		switch {
		case !c.dictionary.entries.Observed[place]:
			column.Observed[row] = false
		case column.Kind == Category:
			err = c.readLabel(column, row, place, label)
		default:
			column.Numbers[row] = c.dictionary.entries.Numbers[place]
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const unknown = -2 // code

// readLabel looks up each entry of a dictionary once.
func (c *arrowCells) readLabel(column *Column, row, place int, label func(row int, text []byte) error) error {
	if c.version != c.dictionary.version {
		n := c.dictionary.entries.Len()
		c.coded.release()
		if err := c.coded.take(4 * int64(n)); err != nil {
			return err
		}
		c.codes, c.version = slices.Repeat([]int32{unknown}, n), c.dictionary.version
	}
	if code := c.codes[place]; code != unknown {
		column.Codes[row], column.Observed[row] = code, code >= 0
		return nil
	}
	if err := label(row, c.dictionary.label(place)); err != nil {
		return err
	}
	c.codes[place] = column.Codes[row]
	return nil
}

// readNumbers fills the numbers of a column from an array. The numbers of missing cells are undefined.
func readNumbers(column *Column, cells arrow.Array) error {
	if copyPlain(column.Numbers, cells) {
		return nil
	}
	value, err := numberAt(cells)
	if err != nil {
		return err
	}
	for row, observed := range column.Observed {
		if observed {
			column.Numbers[row] = value(row)
		}
	}
	return nil
}

// copyPlain copies arrays that are plain slices of Go numbers.
func copyPlain(to []float64, cells arrow.Array) bool {
	switch cells := cells.(type) {
	case *array.Int8:
		copyNumbers(to, cells.Values())
	case *array.Int16:
		copyNumbers(to, cells.Values())
	case *array.Int32:
		copyNumbers(to, cells.Values())
	case *array.Int64:
		copyNumbers(to, cells.Values())
	case *array.Uint8:
		copyNumbers(to, cells.Values())
	case *array.Uint16:
		copyNumbers(to, cells.Values())
	case *array.Uint32:
		copyNumbers(to, cells.Values())
	case *array.Uint64:
		copyNumbers(to, cells.Values())
	case *array.Float32:
		copyNumbers(to, cells.Values())
	case *array.Float64:
		copyNumbers(to, cells.Values())
	case *array.Null:
	default:
		return false
	}
	return true
}

func copyNumbers[T arrow.IntType | arrow.UintType | float32 | float64](to []float64, from []T) {
	for i, v := range from {
		to[i] = float64(v)
	}
}

// numberAt reads cells of other types one by one.
func numberAt(cells arrow.Array) (func(row int) float64, error) {
	switch cells := cells.(type) {
	case *array.Boolean:
		return func(row int) float64 {
			if cells.Value(row) {
				return 1
			}
			return 0
		}, nil
	case *array.Float16:
		return func(row int) float64 { return float64(cells.Value(row).Float32()) }, nil
	case *array.Date32:
		const secondsPerDay = 86400
		return func(row int) float64 { return float64(cells.Value(row)) * secondsPerDay }, nil
	case *array.Date64:
		return func(row int) float64 { return secondsOf(int64(cells.Value(row)), 1000) }, nil
	case *array.Timestamp:
		perSecond := int64(1)
		for unit := cells.DataType().(*arrow.TimestampType).Unit; unit > arrow.Second; unit-- {
			perSecond *= 1000
		}
		return func(row int) float64 { return secondsOf(int64(cells.Value(row)), perSecond) }, nil
	}
	if decimals, is := cells.DataType().(arrow.DecimalType); is {
		return decimalAt(cells, decimals.GetScale())
	}
	return nil, unreadable(cells.DataType())
}

func decimalAt(cells arrow.Array, scale int32) (func(row int) float64, error) {
	switch cells := cells.(type) {
	case *array.Decimal32:
		return func(row int) float64 { return cells.Value(row).ToFloat64(scale) }, nil
	case *array.Decimal64:
		return func(row int) float64 { return cells.Value(row).ToFloat64(scale) }, nil
	case *array.Decimal128:
		return func(row int) float64 { return cells.Value(row).ToFloat64(scale) }, nil
	case *array.Decimal256:
		return func(row int) float64 { return cells.Value(row).ToFloat64(scale) }, nil
	}
	return nil, unreadable(cells.DataType())
}
