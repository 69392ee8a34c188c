package table

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

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
