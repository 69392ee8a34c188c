package table

import (
	"bytes"
	"math"
)

// Missing reports whether a text cell is missing as in CSV: empty, NA, N/A, NaN, null or ?, in any case.
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

// Parse parses a text cell as CSV columns of the kind do. It returns a number, which may be infinite; 0 or 1 for a
// boolean's words or digits; or the Unix seconds of a time. ok is false for categories.
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

// Holds reports whether an observed cell of the kind may have the value: a finite number, 0 or 1, or a time of the
// years 1 to 9999. It is false for categories.
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
