package table

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// parseNumber parses a decimal number with a point. Words for infinity and numbers too large for a float64 give an
// infinite value, which the caller must reject: as text they would hide an error in a numeric column.
func parseNumber(cell []byte) (value float64, ok bool) {
	cell = bytes.TrimSpace(cell)
	if len(cell) == 0 {
		return 0, false
	}
	switch cell[0] {
	case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '.', '+', '-', 'i', 'I':
	default:
		return 0, false
	}
	// ParseFloat also accepts hexadecimal numbers and NaN, which are not quantities in a table.
	if bytes.ContainsAny(cell, "xX_pPaA") {
		return 0, false
	}
	value, err := strconv.ParseFloat(string(cell), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	return value, true
}

// booleanPairs returns the words for false and true, in that order.
func booleanPairs() [4][2]string {
	return [4][2]string{{"false", "true"}, {"no", "yes"}, {"f", "t"}, {"n", "y"}}
}

// lettersPair is n and y. Without a Guess they are labels, because a column of x, y and z has a y too.
const lettersPair = 3

// parseBoolean parses one of the words in any case and returns the pair it belongs to.
func parseBoolean(cell []byte) (value bool, pair int, ok bool) {
	cell = bytes.TrimSpace(cell)
	if len(cell) == 0 || len(cell) > len("false") {
		return false, 0, false
	}
	for pair, words := range booleanPairs() {
		for i, word := range words {
			if len(cell) == len(word) && strings.EqualFold(string(cell), word) {
				return i == 1, pair, true
			}
		}
	}
	return false, 0, false
}

// Truth parses a word for false or true: false and true, no and yes, f and t, n and y, in any case.
func Truth(word string) (value, ok bool) {
	value, _, ok = parseBoolean([]byte(word))
	return value, ok
}

// booleanWords returns the pair's words in the case of the example. Only the first observed cell serves as example, so
// that a stream and a whole read agree.
func booleanWords(pair int, example string) [2]string {
	words := booleanPairs()[pair]
	first, _ := utf8.DecodeRuneInString(example)
	for i, word := range words {
		switch {
		case example == strings.ToUpper(example):
			words[i] = strings.ToUpper(word)
		case unicode.IsUpper(first):
			words[i] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return words
}
