// Package prose writes numbers and names as sentences for people need them.
package prose

import (
	"strconv"
	"strings"
	"unicode"
)

// Thousands writes 17379 as 17,379. Negative numbers are not for it.
func Thousands(n int) string {
	digits := strconv.Itoa(n)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// Count writes 17379, "row" as 17,379 rows.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Thousands(n) + " " + noun + "s"
}

// Printable takes out what would steer a terminal: names and cells come from files that nobody looked at.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}
