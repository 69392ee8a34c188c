// Package prose formats numbers and names for sentences.
package prose

import (
	"math"
	"strconv"
	"strings"
	"unicode"
)

// Thousands formats 17379 as 17,379. It does not support negative numbers.
func Thousands(n int) string {
	digits := strconv.Itoa(n)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// Number formats a number with four digits, or all integer digits, without an exponent unless it is huge or tiny.
func Number(v float64) string {
	size := math.Abs(v)
	if !(size >= 1e4 && size < 1e9) {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	sign := ""
	if v < 0 {
		sign = "-"
	}
	return sign + Thousands(int(math.Round(size)))
}

// Count formats 17379, "row" as 17,379 rows.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Thousands(n) + " " + noun + "s"
}

// Printable removes terminal control characters: names and cells come from untrusted files.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}
