package table

import (
	"bytes"
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
