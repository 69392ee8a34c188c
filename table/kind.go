package table

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind is the type of a column's cells.
type Kind uint8

// Kinds of columns.
const (
	Number   Kind = iota // a quantity
	Category             // one of a set of labels
	Boolean              // false or true
	Time                 // an instant
)

func (k Kind) String() string {
	switch k {
	case Number:
		return "number"
	case Category:
		return "category"
	case Boolean:
		return "boolean"
	case Time:
		return "time"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// MarshalText returns the kind as a word, so that stored schemas are readable.
func (k Kind) MarshalText() ([]byte, error) {
	if k > Time {
		return nil, fmt.Errorf("unknown column kind %d", uint8(k))
	}
	return []byte(k.String()), nil
}

// UnmarshalText is the inverse of MarshalText.
func (k *Kind) UnmarshalText(text []byte) error {
	for kind := Number; kind <= Time; kind++ {
		if kind.String() == string(text) {
			*k = kind
			return nil
		}
	}
	return fmt.Errorf("unknown column kind %q", text)
}

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

// missingTokens recognises the strings that mean a missing cell.
type missingTokens struct {
	tokens   [][]byte
	first    [256]bool // first bytes of tokens, to reject most cells at once
	declared []string  // the user's own tokens, which also apply to typed files
}

// defaultTokens are treated as missing in any CSV file.
func defaultTokens() [5]string { return [5]string{"NA", "N/A", "NaN", "null", "?"} }

// DefaultMissing returns the strings that CSV files treat as missing, in any case, besides the empty cell.
func DefaultMissing() []string {
	tokens := defaultTokens()
	return tokens[:]
}

func newMissingTokens(declared []string) *missingTokens {
	m := &missingTokens{declared: declared}
	tokens := defaultTokens()
	for _, token := range append(tokens[:], declared...) {
		if token = strings.TrimSpace(token); token == "" {
			continue
		}
		m.tokens = append(m.tokens, []byte(token))
		for _, spelling := range []string{strings.ToLower(token), strings.ToUpper(token)} {
			m.first[spelling[0]] = true
		}
	}
	for b := 0x80; b <= 0xff; b++ {
		m.first[b] = true // letters beyond ASCII may fold into any token
	}
	return m
}

// has reports whether the cell is empty or a missing token in any case.
func (m *missingTokens) has(cell []byte) bool {
	if cell = bytes.TrimSpace(cell); len(cell) == 0 {
		return true
	}
	if !m.first[cell[0]] {
		return false
	}
	for _, token := range m.tokens {
		if bytes.EqualFold(cell, token) {
			return true
		}
	}
	return false
}

// hasLabel reports whether the label of a typed file is one of the user's own tokens. The default tokens do not apply:
// typed files mark missing cells themselves, so "NA" is an ordinary label.
func (m *missingTokens) hasLabel(label []byte) bool {
	for _, token := range m.declared {
		if strings.EqualFold(string(label), token) {
			return true
		}
	}
	return false
}

// numbers returns the user's own tokens that are numbers, such as −9 for "unknown".
func (m *missingTokens) numbers() []float64 {
	var values []float64
	for _, token := range m.declared {
		if v, ok := parseNumber([]byte(token)); ok {
			values = append(values, v)
		}
	}
	return values
}

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
