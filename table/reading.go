package table

import (
	"fmt"
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
	a, ok := undress(cell)
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
