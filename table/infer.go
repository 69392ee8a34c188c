package table

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/psi-shapley/psi/internal/prose"
)

// textColumn holds the cells of a column as text, before its kind is known.
type textColumn struct {
	rows int
	cell func(row int) []byte
}

// finding is the kind inferred from the cells of a text column.
type finding struct {
	kind    Kind
	reason  string
	remarks []string
	words   [2]string // Boolean: the texts of false and true
	pair    int       // Boolean: pair of these words
	reading *Reading  // nil for cells in plain notation
}

// infer chooses the kind of a column from all its cells.
func infer(column textColumn, missing *missingTokens, where string) finding {
	var e evidence
	e.add(column, missing)
	return e.kind(where)
}

// kind chooses the narrowest kind that fits every observed cell: number, boolean, time, else category. where names the
// examined rows; it is empty if all were.
func (e *evidence) kind(where string) finding {
	all := fmt.Sprintf("%sall %s observed cells", where, prose.Thousands(e.observed))
	if e.observed == 1 {
		all = where + "the only observed cell"
	}
	switch {
	case e.rows == 0:
		return finding{kind: Number, reason: "there are no rows, so it is taken for numbers"}
	case e.observed == 0:
		return finding{kind: Number, reason: fmt.Sprintf("%sall %s cells are missing, so it is taken for numbers", where, prose.Thousands(e.rows))}
	case e.numbers == e.observed:
		f := finding{kind: Number, reason: verb(e.observed, all, "parses as a number", "parse as numbers")}
		if e.zeroLed != "" {
			f.remarks = append(f.remarks, fmt.Sprintf(
				"numbers such as %s start with 0: if these are codes, declare the column a category, which keeps them as written", e.zeroLed))
		}
		return f
	case e.booleans == e.observed:
		f := finding{kind: Boolean, pair: e.pair, words: booleanWords(e.pair, e.example)}
		f.reason = verb(e.observed, all, "is ", "are ") + f.words[0] + " or " + f.words[1]
		return f
	case e.times == e.observed:
		return finding{kind: Time, reason: verb(e.observed, all, "parses as a date or time", "parse as dates or times")}
	}
	return e.category(where)
}

// words returns the column's texts of false and true.
func (e *evidence) words(found finding) [2]string {
	if _, pair, is := parseBoolean([]byte(e.example)); is && found.kind != Boolean {
		return booleanWords(pair, e.example)
	}
	return found.words
}

func verb(n int, subject, one, many string) string {
	if n == 1 {
		return subject + " " + one
	}
	return subject + " " + many
}

// evidence counts the observed cells that fit each kind.
type evidence struct {
	rows                               int
	observed, numbers, booleans, times int
	pair                               int    // the boolean words' pair
	example                            string // the first observed cell
	zeroLed                            string // a number written with a leading zero
	oddRow                             int    // the first cell that is not a number, if any
	odd                                string
	commas, unclear                    int // numbers with a decimal comma, dates of unclear order
	guesses                            bool
	clues                              clues // used with a Guess
}

// add examines the next cells of the column.
func (e *evidence) add(column textColumn, missing *missingTokens) {
	first := e.rows
	e.rows += column.rows
	for row := range column.rows {
		cell := column.cell(row)
		if missing.has(cell) {
			continue
		}
		if e.observed++; e.observed == 1 {
			e.example = string(bytes.TrimSpace(cell))
		}
		v, number := parseNumber(cell)
		if e.guesses {
			e.clues.add(cell, v, number)
		}
		if number {
			e.numbers++
			if e.zeroLed == "" && leadingZero(cell) {
				e.zeroLed = shorten(string(cell))
			}
			continue
		}
		if e.observed == e.numbers+1 {
			e.oddRow, e.odd = first+row, shorten(string(cell))
		}
		// Do not try kinds that an earlier cell ruled out.
		earlier := e.observed - 1
		if e.booleans == earlier {
			if _, pair, is := parseBoolean(cell); is && pair != lettersPair && (earlier == 0 || pair == e.pair) {
				e.booleans, e.pair = e.booleans+1, pair
			}
		}
		if e.times == earlier {
			if _, is := parseTime(cell); is {
				e.times++
			}
		}
		if e.unclear == earlier && unclearDate(cell) {
			e.unclear++
		}
		if e.commas+e.numbers == earlier && hasDecimalComma(cell) {
			e.commas++
		}
	}
}

// category explains why the cells are labels, and what may be wrong if they should not be.
func (e *evidence) category(where string) finding {
	f := finding{kind: Category}
	f.reason = fmt.Sprintf("%s%q in row %d is neither a number, a date nor true or false", where, e.odd, e.oddRow)
	if _, _, is := parseBoolean([]byte(e.odd)); is {
		f.reason = fmt.Sprintf("%sthe cells are not all of one kind", where)
	} else if _, is := parseTime([]byte(e.odd)); is {
		f.reason = fmt.Sprintf("%sthe cells are not all of one kind", where)
	}
	switch {
	case e.unclear == e.observed:
		f.remarks = append(f.remarks, "these look like dates, but which number is the month is unclear: write them as 2006-01-31 to have them read as times")
	case e.commas > 0 && e.commas+e.numbers == e.observed:
		f.remarks = append(f.remarks, "these look like numbers with a decimal comma: write a decimal point to have them read as numbers")
	case e.numbers*10 >= e.observed*9:
		f.remarks = append(f.remarks, fmt.Sprintf("%s of %s observed cells are numbers: if %q means that the value is missing, add it to the missing tokens",
			prose.Thousands(e.numbers), prose.Thousands(e.observed), e.odd))
	}
	return f
}

// leadingZero reports whether the number is written like a code: 0123, but not 0.5.
func leadingZero(cell []byte) bool {
	cell = bytes.TrimSpace(cell)
	return len(cell) > 1 && cell[0] == '0' && cell[1] >= '0' && cell[1] <= '9'
}

func hasDecimalComma(cell []byte) bool {
	if bytes.Count(cell, []byte{','}) != 1 {
		return false
	}
	_, is := parseNumber(bytes.Replace(cell, []byte{','}, []byte{'.'}, 1))
	return is
}

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
	least, largest := values[0], values[len(values)-1]
	neighbours, even := 0, true
	for i := 1; i < len(values); i++ {
		step := values[i] - values[i-1]
		even = even && step == values[1]-least
		if step == 1 {
			neighbours++
		}
	}
	years := least >= 1800 && largest <= 2100
	return least > 0 && !even && !years && 3*neighbours < len(values) && 2*float64(len(values)) < largest-least+1
}

// Limits of one column's labels. A stream keeps every label it has seen, so a column of identifiers would otherwise
// grow without bound.
const (
	maxLevels     = 1 << 20
	maxLevelBytes = 256 << 20
	labelBytes    = 100 // memory of a label besides its text: in the list, and in the map with its spare room
)

// levelSet numbers labels in order of first appearance. The list only grows, so codes remain valid.
type levelSet struct {
	labels []string
	codes  map[string]int32
	bytes  int
	held   account
}

func newLevelSet(b *budget) *levelSet {
	return &levelSet{codes: make(map[string]int32), held: account{budget: b}}
}

// code returns the code of a label; new labels get a new code.
func (s *levelSet) code(label []byte) (int32, error) {
	if code, known := s.codes[string(label)]; known {
		return code, nil
	}
	if !utf8.Valid(label) {
		return 0, &Error{Row: noRow, Message: fmt.Sprintf("%q is not UTF-8 text", shorten(string(label))), Remedy: "save the file in UTF-8"}
	}
	if len(s.labels) == maxLevels || s.bytes+len(label) > maxLevelBytes {
		return 0, &Error{
			Row:     noRow,
			Message: fmt.Sprintf("the column has more than %s distinct labels, or more than %d MiB of them", prose.Thousands(len(s.labels)), maxLevelBytes>>20),
			Remedy:  "drop the column: it seems to identify rows rather than to describe them",
		}
	}
	if err := s.held.take(int64(len(label)) + labelBytes); err != nil {
		return 0, err
	}
	code := int32(len(s.labels))
	text := string(label)
	s.labels = append(s.labels, text)
	s.codes[text] = code
	s.bytes += len(text)
	return code, nil
}

// list returns the labels so far; later labels do not appear in it.
func (s *levelSet) list() []string { return slices.Clip(s.labels) }
