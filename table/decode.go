package table

import (
	"fmt"
	"math"
)

// decoder converts the text of one column to typed cells, chunk by chunk. It keeps the column's levels, so that codes
// are the same in every chunk.
type decoder struct {
	name    string
	kind    Kind
	reason  string
	remarks []string
	since   string // where the kind was found, for the error about a cell that contradicts it
	words   [2]string
	pair    int // the only words that a Boolean accepts; anyPair accepts all of them, and 0 and 1
	levels  *levelSet
	missing *missingTokens
	reading *Reading                   // nil for cells in plain notation
	unread  func(row int, text []byte) // called with cells that do not fit the reading
}

const anyPair = -1

// newDecoder returns the decoder of a column whose kind was inferred from its text.
func newDecoder(name string, found finding, since string, missing *missingTokens, b *budget) *decoder {
	return &decoder{
		name: name, kind: found.kind, reason: found.reason, remarks: found.remarks, since: since,
		words: found.words, pair: found.pair, levels: newLevelSet(b), missing: missing, reading: found.reading,
	}
}

// newDeclaredDecoder returns the decoder of a column whose kind the caller chose.
func newDeclaredDecoder(name string, kind Kind, missing *missingTokens, b *budget) *decoder {
	return &decoder{
		name: name, kind: kind, reason: "declared a " + kind.String(), since: "as it was declared",
		pair: anyPair, levels: newLevelSet(b), missing: missing,
	}
}

// decode parses the column's cells; firstRow is the number of the first one in the file.
func (d *decoder) decode(text textColumn, firstRow int) (*Column, error) {
	c := &Column{Name: d.name, Kind: d.kind, Reason: d.reason, remarks: d.remarks, reading: d.reading, Observed: make([]bool, text.rows)}
	if d.kind == Category {
		c.Codes = make([]int32, text.rows)
	} else {
		c.Numbers = make([]float64, text.rows)
	}
	for row := range text.rows {
		cell := text.cell(row)
		if d.missing.has(cell) {
			if d.kind == Category {
				c.Codes[row] = -1
			}
			continue
		}
		if d.reading != nil && d.kind != Category {
			if c.Numbers[row], c.Observed[row] = d.reading.Parse(d.kind, cell); !c.Observed[row] {
				c.Numbers[row] = 0
				d.unread(firstRow+row, cell)
			}
			continue
		}
		var err error
		if d.kind == Category {
			c.Codes[row], err = d.levels.code(cell)
		} else {
			c.Numbers[row], err = d.number(cell)
		}
		if err != nil {
			return nil, at(err, firstRow+row, d.name)
		}
		c.Observed[row] = true
	}
	c.Levels = d.listLevels()
	return c, nil
}

func (d *decoder) listLevels() []string {
	switch {
	case d.kind == Category:
		return d.levels.list()
	case d.kind == Boolean && d.words != [2]string{} && d.words != [2]string{"false", "true"}:
		return d.words[:]
	}
	return nil
}

// number parses an observed cell of a kind that is stored as numbers.
func (d *decoder) number(cell []byte) (float64, error) {
	switch d.kind {
	case Boolean:
		if value, pair, ok := parseBoolean(cell); ok && (d.pair == anyPair || d.pair == pair) {
			if value {
				return 1, nil
			}
			return 0, nil
		}
		if v, ok := parseNumber(cell); ok && d.pair == anyPair && (v == 0 || v == 1) {
			return v, nil
		}
		words := (&Column{Levels: d.listLevels()}).words()
		return 0, d.contradiction(cell, fmt.Sprintf("neither %s nor %s", words[0], words[1]))
	case Time:
		if v, ok := parseTime(cell); ok {
			return v, nil
		}
		return 0, d.contradiction(cell, "not a date or time")
	default:
		v, ok := parseNumber(cell)
		if !ok {
			return 0, d.contradiction(cell, "not a number")
		}
		if math.IsInf(v, 0) {
			return 0, infinite(string(cell))
		}
		return v, nil
	}
}

func (d *decoder) contradiction(cell []byte, what string) error {
	text := shorten(string(cell))
	return &Error{
		Row: noRow, Message: fmt.Sprintf("%q is %s, %s", text, what, d.since),
		Remedy: fmt.Sprintf("declare the column a category, or add %q to the missing tokens if it means that the value is missing", text),
	}
}

func infinite(cell string) error {
	return &Error{
		Row: noRow, Message: fmt.Sprintf("%q is infinite or too large", shorten(cell)),
		Remedy: "write a finite number or leave the cell empty",
	}
}
