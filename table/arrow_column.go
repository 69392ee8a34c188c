package table

import (
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// arrowColumn converts one field's arrays, batch after batch, into columns.
type arrowColumn struct {
	index          int // position in the batches
	name           string
	kind           Kind // what the columns become
	stored         Kind // what the arrays hold
	reason         string
	levels         *levelSet
	missing        *missingTokens
	missingNumbers []float64
	declared       *decoder // reads the stored cells' text when kind differs from stored
}

func newArrowColumn(index int, field arrow.Field, options Options, missing *missingTokens) (*arrowColumn, error) {
	stored, ok := storedKind(field.Type)
	if !ok {
		return nil, &Error{
			Row: noRow, Column: field.Name, Message: fmt.Sprintf("cells of type %s cannot be read", field.Type),
			Remedy: "drop the column, or store it as numbers, text, booleans or times",
		}
	}
	c := &arrowColumn{
		index: index, name: field.Name, kind: stored, stored: stored, reason: "stored as " + field.Type.String(),
		levels: newLevelSet(), missing: missing, missingNumbers: missing.numbers(),
	}
	if kind, declared := options.declaredKind(field.Name); declared && kind != stored {
		c.kind = kind
		c.reason = fmt.Sprintf("declared a %s, stored as %s", kind, field.Type)
		c.declared = newDeclaredDecoder(field.Name, kind, newMissingTokens(nil))
		c.declared.reason = c.reason
	}
	return c, nil
}

// storedKind is the kind of column an Arrow type holds.
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

// convert turns one batch's array into a column; firstRow is where it starts in the file.
func (c *arrowColumn) convert(cells arrow.Array, firstRow int) (*Column, error) {
	column, err := c.read(cells, firstRow)
	if err != nil || c.declared == nil {
		return column, err
	}
	text := func(row int) []byte { return column.appendText(nil, row) }
	if arrow.IsInteger(cells.DataType().ID()) {
		// Beyond 2⁵³ two integers can be one float64, but they stay two labels.
		text = func(row int) []byte {
			if !column.Observed[row] {
				return nil
			}
			return []byte(cells.ValueStr(row))
		}
	}
	return c.declared.decode(textColumn{rows: column.Len(), cell: text}, firstRow)
}

// read converts the array to the kind it is stored as.
func (c *arrowColumn) read(cells arrow.Array, firstRow int) (*Column, error) {
	column := &Column{Name: c.name, Kind: c.stored, Reason: c.reason, Observed: observedCells(cells)}
	if extended, is := cells.(array.ExtensionArray); is {
		cells = extended.Storage()
	}
	if c.stored == Category {
		return column, c.readLabels(column, cells, firstRow)
	}

	column.Numbers = make([]float64, cells.Len())
	if err := readNumbers(column, cells); err != nil {
		return nil, at(err, noRow, c.name)
	}
	for row, v := range column.Numbers {
		if !column.Observed[row] || c.stored == Number && (math.IsNaN(v) || slices.Contains(c.missingNumbers, v)) {
			column.Observed[row], column.Numbers[row] = false, 0
			continue
		}
		if c.stored == Number && math.IsInf(v, 0) {
			return nil, at(infinite(fmt.Sprint(v)), firstRow+row, c.name)
		}
		if c.stored == Time && !inCalendar(v) {
			return nil, &Error{Row: firstRow + row, Column: c.name, Message: "the time lies outside the years 1 to 9999", Remedy: "correct it or leave the cell empty"}
		}
	}
	return column, nil
}

func observedCells(cells arrow.Array) []bool {
	observed := make([]bool, cells.Len())
	if _, is := cells.(*array.Null); is {
		return observed // which calls all its cells valid
	}
	for row := range observed {
		observed[row] = cells.IsValid(row)
	}
	return observed
}

// readLabels fills the codes of a Category from text or a dictionary of text.
func (c *arrowColumn) readLabels(column *Column, cells arrow.Array, firstRow int) error {
	texts, position := cells, func(row int) int { return row }
	if dictionary, is := cells.(*array.Dictionary); is {
		texts, position = dictionary.Dictionary(), dictionary.GetValueIndex
	}
	labels, ok := texts.(interface{ Value(int) string })
	if !ok {
		return unreadable(cells)
	}
	column.Codes = make([]int32, column.Len())
	for row, observed := range column.Observed {
		column.Codes[row] = -1
		if !observed {
			continue
		}
		i := position(row)
		if texts.IsNull(i) || c.missing.hasLabel(labels.Value(i)) {
			column.Observed[row] = false
			continue
		}
		code, err := c.levels.code([]byte(labels.Value(i)))
		if err != nil {
			return at(err, firstRow+row, c.name)
		}
		column.Codes[row] = code
	}
	column.Levels = c.levels.list()
	return nil
}

// readNumbers fills the numbers of a column, and marks as missing what a
// dictionary's own nulls make so. Numbers of missing cells are left undefined.
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
			column.Numbers[row], column.Observed[row] = value(row)
		}
	}
	return nil
}

// copyPlain copies the cells of an array that is a plain slice of Go numbers.
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

// numberAt reads the cells of the less plain types one by one; the second result
// is whether the cell is observed.
func numberAt(cells arrow.Array) (func(row int) (float64, bool), error) {
	all := func(value func(row int) float64) func(int) (float64, bool) {
		return func(row int) (float64, bool) { return value(row), true }
	}
	switch cells := cells.(type) {
	case *array.Boolean:
		return all(func(row int) float64 {
			if cells.Value(row) {
				return 1
			}
			return 0
		}), nil
	case *array.Float16:
		return all(func(row int) float64 { return float64(cells.Value(row).Float32()) }), nil
	case *array.Date32:
		const secondsPerDay = 86400
		return all(func(row int) float64 { return float64(cells.Value(row)) * secondsPerDay }), nil
	case *array.Date64:
		return all(func(row int) float64 { return secondsOf(int64(cells.Value(row)), 1000) }), nil
	case *array.Timestamp:
		perSecond := int64(1)
		for unit := cells.DataType().(*arrow.TimestampType).Unit; unit > arrow.Second; unit-- {
			perSecond *= 1000
		}
		return all(func(row int) float64 { return secondsOf(int64(cells.Value(row)), perSecond) }), nil
	case *array.Dictionary:
		return dictionaryNumberAt(cells)
	}
	if decimals, is := cells.DataType().(arrow.DecimalType); is {
		return decimalAt(cells, decimals.GetScale())
	}
	return nil, unreadable(cells)
}

func decimalAt(cells arrow.Array, scale int32) (func(row int) (float64, bool), error) {
	switch cells := cells.(type) {
	case *array.Decimal32:
		return func(row int) (float64, bool) { return cells.Value(row).ToFloat64(scale), true }, nil
	case *array.Decimal64:
		return func(row int) (float64, bool) { return cells.Value(row).ToFloat64(scale), true }, nil
	case *array.Decimal128:
		return func(row int) (float64, bool) { return cells.Value(row).ToFloat64(scale), true }, nil
	case *array.Decimal256:
		return func(row int) (float64, bool) { return cells.Value(row).ToFloat64(scale), true }, nil
	}
	return nil, unreadable(cells)
}

// dictionaryNumberAt reads a dictionary's values once and looks them up by row.
func dictionaryNumberAt(cells *array.Dictionary) (func(row int) (float64, bool), error) {
	values := cells.Dictionary()
	entries := &Column{Numbers: make([]float64, values.Len()), Observed: observedCells(values)}
	if err := readNumbers(entries, values); err != nil {
		return nil, err
	}
	return func(row int) (float64, bool) {
		i := cells.GetValueIndex(row)
		return entries.Numbers[i], entries.Observed[i]
	}, nil
}

func unreadable(cells arrow.Array) error {
	return &Error{
		Row: noRow, Message: fmt.Sprintf("cells of type %s cannot be read", cells.DataType()),
		Remedy: "drop the column, or store it as numbers, text, booleans or times",
	}
}
