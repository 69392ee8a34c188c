package table

import (
	"fmt"
	"math"
	"slices"
)

// Reading describes how the text of a column is parsed if it is not in plain notation: "$1,234.50", "48.4%",
// "31.12.2024". Text that does not fit is missing.
type Reading struct {
	// Decimal is the decimal sign, "." or ",". The other one, apostrophes and spaces may separate thousands.
	Decimal string `json:"decimal,omitempty"`

	// Unit may precede or follow a number: "%" or a currency, such as "$". It does not change the number: 48.4% is
	// 48.4. A number with another unit does not fit. "" means no unit.
	Unit string `json:"unit,omitempty"`

	// Dates maps the separator of numeric dates, "/", "-" or ".", to the order of day, month and year.
	Dates map[string]DateOrder `json:"dates,omitempty"`
}

// DateOrder is the order of day, month and year in a date such as 01/02/2024. A leading number with four digits is
// always the year.
type DateOrder string

// Orders of dates.
const (
	DayFirst   DateOrder = "dmy"
	MonthFirst DateOrder = "mdy"
	YearFirst  DateOrder = "ymd"
)

// Decimal signs.
const (
	point = "."
	comma = ","
)

// Guess enables a reader to infer a Reading for text columns, and to combine several spellings of booleans. At least 95
// % of the observed cells must fit.
type Guess struct {
	Decimal   string    // "." or ",", used where the cells do not show it; "" infers it from the other columns
	DateOrder DateOrder // used where the cells do not show it; "" leaves such columns as text
	Except    []string  // columns to leave as they are
}

// fits is the minimum share of observed cells that fit a reading.
const fits = 0.95

// Parse parses a cell of a column of the kind. A nil r means plain notation, as in kind.Parse.
func (r *Reading) Parse(kind Kind, cell []byte) (value float64, ok bool) {
	switch {
	case r == nil:
		return kind.Parse(cell)
	case kind == Number:
		return r.Number(string(limited(cell)))
	case kind == Time:
		return r.time(limited(cell))
	}
	return kind.Parse(cell)
}

// maxReadBytes is the maximum length of a cell that a reading examines: no number or date is longer.
const maxReadBytes = 64

// limited truncates cells that are too long to fit.
func limited(cell []byte) []byte { return cell[:min(len(cell), maxReadBytes+1)] }

// Number parses a number in the column's notation. The value is finite.
func (r *Reading) Number(cell string) (value float64, ok bool) {
	a, ok := parseAmount(cell)
	if !ok || a.unit != "" && a.unit != r.Unit {
		return 0, false
	}
	return a.value(r.Decimal)
}

func (r *Reading) time(cell []byte) (seconds float64, ok bool) {
	if seconds, ok = parseTime(cell); ok {
		return seconds, true
	}
	d, ok := cutDate(cell)
	if !ok {
		return 0, false
	}
	return d.seconds(r.Dates[d.between])
}

// Validate returns an error if the reading is not valid for a column of the kind. Readings from files are untrusted.
func (r *Reading) Validate(kind Kind) error {
	switch {
	case r == nil:
		return nil
	case kind == Number && len(r.Dates) == 0 && slices.Contains([]string{point, comma}, r.Decimal) && len(r.Unit) <= maxReadBytes:
		return nil
	case kind != Time || r.Decimal != "" || r.Unit != "":
		return fmt.Errorf("a %v cannot have the reading %.80q", kind, fmt.Sprint(*r))
	}
	for between, order := range r.Dates {
		if len(between) != 1 || !isBetween(between[0]) || !order.Known() {
			return fmt.Errorf("dates with %.8q cannot have the order %.8q", between, string(order))
		}
	}
	return nil
}

// Known reports whether the order is DayFirst, MonthFirst or YearFirst.
func (o DateOrder) Known() bool { return o == DayFirst || o == MonthFirst || o == YearFirst }

// Read returns the text column parsed by r. Text that does not fit is missing. Columns of other kinds are returned
// unchanged.
func (c *Column) Read(kind Kind, r *Reading) *Column {
	return c.read(kind, r, func(int, string) {})
}

// read is Read with a callback for cells that do not fit.
func (c *Column) read(kind Kind, r *Reading, unread func(row int, text string)) *Column {
	if c.Kind != Category || kind == Category {
		return c
	}
	values, known := make([]float64, len(c.Levels)), make([]bool, len(c.Levels))
	for code, label := range c.Levels {
		values[code], known[code] = r.Parse(kind, []byte(label))
		known[code] = known[code] && kind.Holds(values[code])
	}
	read := &Column{Name: c.Name, Kind: kind, Reason: c.Reason, remarks: c.remarks, reading: r, Observed: make([]bool, c.Len()), Numbers: make([]float64, c.Len())}
	for row, code := range c.Codes {
		switch {
		case !c.Observed[row] || Missing([]byte(c.Levels[code])):
		case known[code]:
			read.Observed[row], read.Numbers[row] = true, values[code]
		default:
			unread(row, c.Levels[code])
		}
	}
	return read
}

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
