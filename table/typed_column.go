package table

import (
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
)

// typedColumn converts the cells of one field to columns, chunk by chunk.
type typedColumn struct {
	index          int // index of the field in the file
	name           string
	kind           Kind // kind of the columns returned
	stored         Kind // kind in the file
	reason         string
	cells          cellReader
	levels         *levelSet
	missing        *missingTokens
	missingNumbers []float64
	declared       *decoder // parses the text of stored cells if kind differs from stored
	free           bool     // text whose meaning neither the file nor the caller declares
}

func newTypedColumn(index int, field arrow.Field, options Options, missing *missingTokens, b *budget) (*typedColumn, error) {
	stored, ok := storedKind(field.Type)
	if !ok {
		return nil, at(unreadable(field.Type), noRow, field.Name)
	}
	c := &typedColumn{
		index: index, name: field.Name, kind: stored, stored: stored, reason: "stored as " + field.Type.String(),
		levels: newLevelSet(b), missing: missing, missingNumbers: missing.numbers(),
	}
	kind, declared := options.declaredKind(field.Name)
	c.free = !declared && isFree(field.Type) && options.Guess.about(field.Name)
	if declared && kind != stored {
		c.kind = kind
		c.reason = fmt.Sprintf("declared a %s, stored as %s", kind, field.Type)
		c.declared = newDeclaredDecoder(field.Name, kind, newMissingTokens(nil), b)
		c.declared.reason = c.reason
		c.declared.unread = options.unread(field.Name)
		if stored == Category {
			c.declared.reading = options.Readings[field.Name]
		}
	}
	return c, nil
}

// storedKind returns the column kind of an Arrow type.
func storedKind(t arrow.DataType) (kind Kind, ok bool) {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return storedKind(t.ValueType)
	case arrow.ExtensionType:
		return storedKind(t.StorageType())
	case arrow.DecimalType:
		return Number, true
	}
	switch t.ID() {
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64,
		arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64, arrow.NULL:
		return Number, true
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW:
		return Category, true
	case arrow.BOOL:
		return Boolean, true
	case arrow.DATE32, arrow.DATE64, arrow.TIMESTAMP:
		return Time, true
	}
	return 0, false
}

// next reads the next cells; firstRow is the number of the first one among the rows read.
func (c *typedColumn) next(rows, firstRow int, held *account) (*Column, error) {
	if err := held.take(c.stored.bytes(rows)); err != nil {
		return nil, err
	}
	column := &Column{Name: c.name, Kind: c.stored, Reason: c.reason, Observed: make([]bool, rows)}
	if c.stored == Category {
		column.Codes = slices.Repeat([]int32{-1}, rows)
	} else {
		column.Numbers = make([]float64, rows)
	}
	err := c.cells.read(column, func(row int, text []byte) error { return c.label(column, row, firstRow+row, text) })
	if err == nil && c.stored != Category {
		err = c.checkNumbers(column, firstRow)
	}
	if err != nil {
		return nil, at(err, noRow, c.name)
	}
	column.Levels = c.labels()
	if c.declared == nil {
		return column, nil
	}
	if err := held.take(c.kind.bytes(rows)); err != nil {
		return nil, err
	}
	return c.declared.decode(textColumn{rows: rows, cell: func(row int) []byte {
		if !column.Observed[row] {
			return nil
		}
		// Beyond 2⁵³ two integers can be the same float64, but they remain two labels.
		if text := c.cells.integer(row); text != nil {
			return text
		}
		return column.appendText(nil, row)
	}}, firstRow)
}

// label records the label of a row. The same length limit applies as in CSV.
func (c *typedColumn) label(column *Column, row, inFile int, text []byte) error {
	if len(text) > maxCellBytes {
		return at(&Error{
			Row: inFile, Message: fmt.Sprintf("the cell is longer than %d MiB", maxCellBytes>>20),
			Remedy: "shorten it, or drop the column",
		}, inFile, c.name)
	}
	if c.missing.hasLabel(text) {
		column.Observed[row] = false
		return nil
	}
	code, err := c.levels.code(text)
	if err != nil {
		return at(err, inFile, c.name)
	}
	column.Codes[row] = code
	return nil
}

func (c *typedColumn) labels() []string {
	if c.stored == Category {
		return c.levels.list()
	}
	return nil
}

// checkNumbers marks numbers that mean missing, and rejects values that are not finite.
func (c *typedColumn) checkNumbers(column *Column, firstRow int) error {
	for row, v := range column.Numbers {
		if !column.Observed[row] || c.stored == Number && (math.IsNaN(v) || slices.Contains(c.missingNumbers, v)) {
			column.Observed[row], column.Numbers[row] = false, 0
			continue
		}
		if c.stored == Number && math.IsInf(v, 0) {
			return at(infinite(fmt.Sprint(v)), firstRow+row, c.name)
		}
		if c.stored == Time && !inCalendar(v) {
			return &Error{Row: firstRow + row, Column: c.name, Message: "the time lies outside the years 1 to 9999", Remedy: "correct it or leave the cell empty"}
		}
	}
	return nil
}

func unreadable(of arrow.DataType) error {
	return &Error{
		Row: noRow, Message: fmt.Sprintf("cells of type %s cannot be read", of),
		Remedy: "drop the column, or store it as numbers, text, booleans or times",
	}
}
