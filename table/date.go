package table

import (
	"bytes"
	"math"
	"time"
)

// date is a numeric date, such as 31.12.2024 23:59.
type date struct {
	parts   [3]int
	between string // separator of the parts
	long    int    // index of the part with four digits, the year; −1 if there is none
	digits  [3]int // number of digits of each part
	clock   time.Duration
}

func isBetween(b byte) bool { return b == '/' || b == '-' || b == '.' }

// cutDate splits a date into its parts.
func cutDate(cell []byte) (d date, ok bool) {
	cell = bytes.TrimSpace(cell)
	if len(cell) > maxReadBytes {
		return d, false
	}
	d.long = -1
	for i := range d.parts {
		n := 0
		for n < len(cell) && isDigit(cell[n]) {
			d.parts[i] = 10*d.parts[i] + int(cell[n]-'0')
			if n++; n > len("2006") {
				return d, false
			}
		}
		d.digits[i] = n
		switch {
		case n == len("2006") && i != 1:
			d.long = i
		case n != 1 && n != 2:
			return d, false
		}
		cell = cell[n:]
		if i == 2 {
			break
		}
		if len(cell) == 0 || !isBetween(cell[0]) || i == 1 && string(cell[:1]) != d.between {
			return d, false
		}
		d.between, cell = string(cell[:1]), cell[1:]
	}
	if len(cell) == 0 {
		return d, true
	}
	d.clock, ok = timeOfDay(cell)
	return d, ok
}

// timeOfDay parses what follows a date.
func timeOfDay(cell []byte) (time.Duration, bool) {
	if len(cell) < 2 || cell[0] != ' ' && cell[0] != 'T' && cell[0] != ',' {
		return 0, false
	}
	text := string(bytes.ToUpper(bytes.TrimSpace(cell[1:])))
	for _, layout := range []string{"15:04", "15:04:05", "3:04 PM", "3:04:05 PM", "3:04PM", "3:04:05PM"} {
		if t, err := time.Parse(layout, text); err == nil {
			return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute + time.Duration(t.Second())*time.Second, true
		}
	}
	return 0, false
}

// seconds returns the Unix seconds of the date, given the order of its parts.
func (d date) seconds(order DateOrder) (seconds float64, ok bool) {
	at := [3]int{0, 1, 2} // indices of day, month and year among the parts
	switch {
	case d.long == 0 || d.long < 0 && order == YearFirst:
		at = [3]int{2, 1, 0}
	case order == MonthFirst:
		at = [3]int{1, 0, 2}
	case order != DayFirst:
		return 0, false
	}
	day, month, year := d.parts[at[0]], d.parts[at[1]], d.parts[at[2]]
	if d.long < 0 {
		if d.digits[at[2]] != len("06") {
			return 0, false
		}
		year = century(year)
	}
	t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if year < 1 || t.Year() != year || int(t.Month()) != month || t.Day() != day {
		return 0, false
	}
	return secondsOf(t.Add(d.clock).UnixMicro(), microsPerSecond), true
}

// century completes a two-digit year: 69 is 1969 and 68 is 2068, as in package time.
func century(year int) int {
	if year >= 69 {
		return 1900 + year
	}
	return 2000 + year
}

// Supported times: years 1 to 9999, which every format and layout here can write.
const (
	firstSecond = -62135596800 // 0001-01-01T00:00:00Z
	lastSecond  = 253402300799 // 9999-12-31T23:59:59Z
)

func inCalendar(seconds float64) bool {
	return seconds >= firstSecond && seconds < lastSecond+1
}

const microsPerSecond = 1_000_000

// secondsOf converts ticks since 1970, as files store them, to Unix seconds. Splitting off whole seconds first lets
// microsOf recover the microseconds wherever a float64 resolves them (the years 1698 to 2242). Seconds survive any
// number of conversions.
func secondsOf(ticks, perSecond int64) float64 {
	whole, part := ticks/perSecond, ticks%perSecond
	if perSecond > microsPerSecond {
		part /= perSecond / microsPerSecond
		perSecond = microsPerSecond
	}
	return float64(whole) + float64(part)/float64(perSecond)
}

func microsOf(seconds float64) int64 {
	whole, part := math.Modf(seconds)
	return int64(whole)*microsPerSecond + int64(math.Round(part*microsPerSecond))
}

// appendTime writes a date, or a date and time of day, in ISO 8601.
func appendTime(text []byte, seconds float64) []byte {
	t := time.UnixMicro(microsOf(seconds)).UTC()
	if t.Truncate(24 * time.Hour).Equal(t) {
		return t.AppendFormat(text, time.DateOnly)
	}
	return t.AppendFormat(text, "2006-01-02T15:04:05.999999Z")
}

// parseTime parses ISO 8601 dates and date-times, also with / for - and a space for T, and dates with the month as a
// word. It does not parse dates such as 01/02/2006, which do not show the month. A time without a zone is UTC.
func parseTime(cell []byte) (seconds float64, ok bool) {
	cell = bytes.TrimSpace(cell)
	const shortest, longest = len("2 Jan 2006"), len("2006-01-02T15:04:05.999999999+00:00")
	if len(cell) < shortest || len(cell) > longest {
		return 0, false
	}
	layouts := []string{"2 Jan 2006", "2-Jan-2006", "Jan 2, 2006", "2 January 2006", "January 2, 2006"}
	text := cell
	if cell[4] == '-' || cell[4] == '/' {
		layouts = []string{time.DateOnly}
		if len(cell) > len(time.DateOnly) {
			layouts = []string{
				"2006-01-02T15:04:05", "2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05Z0700",
				"2006-01-02T15:04", "2006-01-02T15:04Z07:00",
			}
		}
		text = isoSpelling(cell)
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, string(text)); err == nil {
			seconds = secondsOf(t.UnixMicro(), microsPerSecond)
			return seconds, inCalendar(seconds)
		}
	}
	return 0, false
}

// isoSpelling turns 2006/01/02 15:04 into 2006-01-02T15:04.
func isoSpelling(cell []byte) []byte {
	iso := bytes.Clone(cell)
	if iso[4] == '/' && iso[7] == '/' {
		iso[4], iso[7] = '-', '-'
	}
	if len(iso) > 10 && iso[10] == ' ' {
		iso[10] = 'T'
	}
	return iso
}

// unclearDate reports whether the cell is a date whose day and month cannot be distinguished.
func unclearDate(cell []byte) bool {
	for _, layout := range []string{"1/2/2006", "2/1/2006", "1-2-2006", "2-1-2006", "1.2.2006", "2.1.2006"} {
		if _, err := time.Parse(layout, string(cell)); err == nil {
			return true
		}
	}
	return false
}
