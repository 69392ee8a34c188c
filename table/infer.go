package table

import (
	"bytes"
	"fmt"

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
