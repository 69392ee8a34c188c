package table

import (
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Properties of numeric codes. None of these is measured: they are chosen so that notes about ages, counts, years and
// grades stay rare.
const (
	minCodes    = 3
	maxCodes    = 30
	codeRepeats = 5 // minimum mean number of occurrences of a code
)

// likelyCodes reports whether a column's numbers are probably names of things: few integers, with such a column name or
// too scattered for a quantity.
func likelyCodes(parts []*Column, observed int) bool {
	c := parts[0]
	values := wholeValues(parts)
	if len(values) < minCodes || observed < codeRepeats*len(values) || len(c.remarks) > 0 {
		return false
	}
	return namedCodes(c.Name) || scattered(values)
}

// wholeValues returns the distinct observed numbers in order. It returns nil if any is not an integer, or if there are
// more than maxCodes.
func wholeValues(parts []*Column) []float64 {
	seen := make(map[float64]struct{})
	for _, c := range parts {
		for row, v := range c.Numbers {
			if !c.Observed[row] {
				continue
			}
			if seen[v] = struct{}{}; v != math.Trunc(v) || len(seen) > maxCodes {
				return nil
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// namedCodes reports whether a column is named like a code: shop_id, shopId, PostCode, Pclass.
func namedCodes(name string) bool {
	lower := strings.ToLower(name)
	for _, word := range []string{"code", "type", "class"} {
		if strings.HasSuffix(lower, word) {
			return true
		}
	}
	before := len(name) - len("id")
	if before < 0 || !strings.EqualFold(name[before:], "id") {
		return false
	}
	// Many words end in "id": paid, humid. A separate "id" follows a separator or starts with a capital.
	last, _ := utf8.DecodeLastRuneInString(name[:before])
	return before == 0 || !unicode.IsLetter(last) || name[before] == 'I' && unicode.IsLower(last)
}

// scattered reports whether sorted values leave most of their range empty, as 20, 31, 75, 190 do. Quantities do not:
// they start from 0, have neighbours, are evenly spaced or are years.
func scattered(values []float64) bool {
	least, most := values[0], values[len(values)-1]
	neighbours, even := 0, true
	for i := 1; i < len(values); i++ {
		step := values[i] - values[i-1]
		even = even && step == values[1]-least
		if step == 1 {
			neighbours++
		}
	}
	years := least >= 1800 && most <= 2100
	return least > 0 && !even && !years && 3*neighbours < len(values) && 2*float64(len(values)) < most-least+1
}
