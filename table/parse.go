package table

import (
	"bytes"
	"math"
)

// Missing tells whether a cell of text stands for no value, as in CSV: it is empty, NA, N/A, NaN, null or ?, in any case.
func Missing(cell []byte) bool {
	cell = bytes.TrimSpace(cell)
	if len(cell) == 0 {
		return true
	}
	for _, token := range defaultTokens() {
		if len(cell) == len(token) && bytes.EqualFold(cell, []byte(token)) {
			return true
		}
	}
	return false
}

// Parse reads a cell of text as CSV columns of the kind do: a number, which may be infinite; 0 or 1 for a boolean's words
// or digits; the Unix seconds of a time. Labels of categories have no number.
func (k Kind) Parse(cell []byte) (value float64, ok bool) {
	switch k {
	case Number:
		return parseNumber(cell)
	case Boolean:
		if truth, _, ok := parseBoolean(cell); ok {
			if truth {
				return 1, true
			}
			return 0, true
		}
		value, ok = parseNumber(cell)
		return value, ok && k.Holds(value)
	case Time:
		return parseTime(cell)
	default:
		return 0, false
	}
}

// Holds tells whether an observed cell of the kind may have the value: a finite number; 0 or 1; a time of the years 1 to
// 9999. Labels of categories have no number.
func (k Kind) Holds(value float64) bool {
	switch k {
	case Number:
		return !math.IsNaN(value) && !math.IsInf(value, 0)
	case Boolean:
		return value == 0 || value == 1
	case Time:
		return inCalendar(value)
	default:
		return false
	}
}
