package table

import (
	"bytes"
	"strings"
)

// missingTokens knows the texts that stand for a missing cell.
type missingTokens struct {
	tokens [][]byte
	first  [256]bool // bytes a token can start with, to reject most cells at one look
	asked  []string  // the user's own tokens, which hold in typed files too
}

// defaultTokens stand for a missing cell in any CSV file.
func defaultTokens() [5]string { return [5]string{"NA", "N/A", "NaN", "null", "?"} }

// DefaultMissing are the texts that stand for a missing cell in any CSV file, in any case, beside an empty one.
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

// hasLabel reports whether the label of a typed file is one of the user's own
// tokens. The built-in ones do not apply there: such files mark missing cells
// themselves, and "NA" is then a label like any other.
func (m *missingTokens) hasLabel(label []byte) bool {
	for _, token := range m.asked {
		if strings.EqualFold(string(label), token) {
			return true
		}
	}
	return false
}

// numbers are the user's own tokens that are numbers, such as a -9 for "unknown".
func (m *missingTokens) numbers() []float64 {
	var values []float64
	for _, token := range m.asked {
		if v, ok := parseNumber([]byte(token)); ok {
			values = append(values, v)
		}
	}
	return values
}
