package table

import (
	"fmt"
	"slices"
)

// Reading says how the text of a column becomes numbers or times where it is not written plainly: "$1,234.50", "48.4%",
// "31.12.2024". Text that does not fit is missing.
type Reading struct {
	// Decimal is the decimal sign of numbers, "." or ",". The other one, apostrophes and spaces may part thousands.
	Decimal string `json:"decimal,omitempty"`

	// Unit may stand before or after a number: "%" or a currency, such as "$". It does not change the number: 48.4% is
	// 48.4. A number in another unit does not fit. "" is none.
	Unit string `json:"unit,omitempty"`

	// Dates is the order of day, month and year in dates that are numbers, by what stands between these: "/", "-" or ".".
	Dates map[string]DateOrder `json:"dates,omitempty"`
}

// DateOrder is the order of day, month and year in a date such as 01/02/2024. A year of four digits that comes first is the
// year in any case.
type DateOrder string

// The orders of dates.
const (
	DayFirst   DateOrder = "dmy"
	MonthFirst DateOrder = "mdy"
	YearFirst  DateOrder = "ymd"
)

// The decimal signs.
const (
	point = "."
	comma = ","
)

// Guess lets a reader find a Reading for columns of text, and take booleans in several spellings for one. At least 95 % of
// the observed cells must fit it.
type Guess struct {
	Decimal   string    // "." or ",", where the cells do not show it; "" goes by the other columns
	DateOrder DateOrder // where the cells do not show it; "" leaves such columns as they are
	Except    []string  // columns that are taken as they are written
}

// fits is the share of observed cells that must fit a reading.
const fits = 0.95

// Parse reads a cell of a column of that kind. Without a reading it is kind.Parse; r may be nil.
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

// maxReadBytes is the longest cell that a reading looks at: no number or date is longer.
const maxReadBytes = 64

// limited cuts off what makes a cell too long to fit.
func limited(cell []byte) []byte { return cell[:min(len(cell), maxReadBytes+1)] }

// Number reads a number as the column's are written. The value is finite.
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

// Validate says what is wrong with the reading of a column of that kind. A file may hold anything.
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

// Known says whether it is one of the orders.
func (o DateOrder) Known() bool { return o == DayFirst || o == MonthFirst || o == YearFirst }

// Read is a column of text, read. Text that does not fit is missing. A column that is no category stays as it is.
func (c *Column) Read(kind Kind, r *Reading) *Column {
	return c.read(kind, r, func(int, string) {})
}

// read is Read, and tells of cells that do not fit.
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
