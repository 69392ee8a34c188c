package table

import (
	"bytes"
	"math"
	"time"
)

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
