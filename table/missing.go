package table

import (
	"bytes"
	"strings"
)

// missingTokens recognises the strings that mean a missing cell.
type missingTokens struct {
	tokens [][]byte
	first  [256]bool // first bytes of tokens, to reject most cells at once
	asked  []string  // the user's own tokens, which also apply to typed files
}

// defaultTokens are treated as missing in any CSV file.
func defaultTokens() [5]string { return [5]string{"NA", "N/A", "NaN", "null", "?"} }

// DefaultMissing returns the strings that CSV files treat as missing, in any case, besides the empty cell.
func DefaultMissing() []string {
	tokens := defaultTokens()
	return tokens[:]
}

func newMissingTokens(asked []string) *missingTokens {
	m := &missingTokens{asked: asked}
	tokens := defaultTokens()
	for _, token := range append(tokens[:], asked...) {
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
	for _, token := range m.asked {
		if strings.EqualFold(string(label), token) {
			return true
		}
	}
	return false
}

// numbers returns the user's own tokens that are numbers, such as −9 for "unknown".
func (m *missingTokens) numbers() []float64 {
	var values []float64
	for _, token := range m.asked {
		if v, ok := parseNumber([]byte(token)); ok {
			values = append(values, v)
		}
	}
	return values
}
