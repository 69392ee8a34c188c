package table

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// amount is a number as people write it, with a unit, separators or parentheses around its digits.
type amount struct {
	digits   string // with separators, and perhaps an exponent
	negative bool
	enclosed bool // in parentheses, which accountants use for negative numbers
	unit     string
	thousand int // power of 1000 that multiplies it
}

// parseAmount parses numbers such as "-$1,234.50", "(1,200)", "48.4 %" or "3.5M".
func parseAmount(cell string) (a amount, ok bool) {
	if len(cell) > maxReadBytes {
		return a, false
	}
	s := strings.TrimSpace(cell)
	signed := false
	for s != "" && !startsNumber(s) {
		var unit, rest string
		switch {
		case !signed && s[0] == '(' && s[len(s)-1] == ')':
			a.negative, a.enclosed, signed = true, true, true
			rest = s[1 : len(s)-1]
		case !signed && a.sign(s, &rest):
			signed = true
		case a.unit == "" && cutCurrency(s, &unit, &rest):
			a.unit = unit
		default:
			return a, false
		}
		s = strings.TrimSpace(rest)
	}
	last := strings.LastIndexAny(s, "0123456789")
	if last < 0 {
		return a, false
	}
	a.digits = s[:last+1]
	tail := strings.TrimPrefix(s[last+1:], point)
	ok = a.suffix(strings.TrimSpace(tail))
	return a, ok
}

func startsNumber(s string) bool {
	return isDigit(s[0]) || (s[0] == '.' || s[0] == ',') && len(s) > 1 && isDigit(s[1])
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

// sign cuts a sign off the text.
func (a *amount) sign(s string, rest *string) bool {
	for _, sign := range []string{"-", "−", "–", "+"} {
		if after, found := strings.CutPrefix(s, sign); found {
			a.negative, *rest = sign != "+", after
			return true
		}
	}
	return false
}

// suffix reads what follows the digits: a power of 1000, a unit, or both.
func (a *amount) suffix(s string) bool {
	if s == "" {
		return true
	}
	if power, rest, found := cutThousands(s); found {
		unit, is := currencyOf(strings.TrimSpace(rest))
		if rest == "" || is {
			a.thousand = power
			// A small m is a million of a currency only: otherwise it may be a metre, a minute or a month.
			return a.setUnit(unit) && (s[0] != 'm' || a.unit != "")
		}
	}
	unit, is := unitOf(s)
	return is && a.setUnit(unit)
}

func (a *amount) setUnit(unit string) bool {
	if a.unit == "" {
		a.unit = unit
	}
	return unit == "" || a.unit == unit
}

func cutThousands(s string) (power int, rest string, found bool) {
	for _, word := range []struct {
		text  string
		power int
	}{{"bn", 3}, {"mn", 2}, {"k", 1}, {"K", 1}, {"m", 2}, {"M", 2}, {"B", 3}} {
		if rest, found = strings.CutPrefix(s, word.text); found {
			return word.power, rest, true
		}
	}
	return 0, "", false
}

const percentUnit = "%"

// unitOf returns the unit that a word stands for, in one spelling.
func unitOf(word string) (unit string, ok bool) {
	if word == percentUnit {
		return percentUnit, true
	}
	return currencyOf(word)
}

// cutCurrency cuts a currency off the start of the text.
func cutCurrency(s string, unit, rest *string) bool {
	end := strings.IndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.Is(unicode.Sc, r) })
	if end < 0 {
		return false
	}
	*rest = s[end:]
	if s[end] == '.' && end+1 < len(s) && !isDigit(s[end+1]) || strings.HasPrefix(s, "Rs.") || strings.HasPrefix(s, "Fr.") {
		*rest = s[end+1:] // an abbreviation
	}
	var is bool
	*unit, is = currencyOf(s[:end])
	return is
}

// currencyOf recognises currency signs, alone or after letters as in US$, and the most common names.
func currencyOf(word string) (unit string, ok bool) {
	word = strings.TrimSuffix(word, ".")
	switch word {
	case "USD", "US$":
		return "$", true
	case "EUR":
		return "€", true
	case "GBP":
		return "£", true
	case "JPY":
		return "¥", true
	case "INR", "Rs":
		return "₹", true
	case "SFr", "Fr":
		return "CHF", true
	case "CHF", "CNY", "RMB", "AUD", "CAD", "NZD", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "RON", "TRY", "BRL", "MXN", "ZAR", "KRW", "SGD", "HKD",
		"kr", "zł", "Kč", "Ft", "lei":
		return word, true
	}
	sign, size := utf8.DecodeLastRuneInString(word)
	before := word[:len(word)-size]
	if !unicode.Is(unicode.Sc, sign) || len(before) > 2 || strings.Trim(before, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return "", false
	}
	return word, true
}

// value returns the number, given the decimal sign of its digits.
func (a amount) value(decimal string) (value float64, ok bool) {
	text := make([]byte, 0, maxReadBytes)
	if a.negative {
		text = append(text, '-')
	}
	whole, exponent := a.digits, ""
	if at := strings.IndexAny(whole, "eE"); at >= 0 {
		whole, exponent = whole[:at], whole[at:]
	}
	whole, part, _ := strings.Cut(whole, decimal)
	text, ok = appendGrouped(text, whole, decimal)
	if !ok || strings.Trim(part, "0123456789") != "" || whole == "" && part == "" || a.thousand > 0 && exponent != "" {
		return 0, false
	}
	text = append(append(append(text, '.'), part...), exponent...)
	if a.thousand > 0 {
		text = strconv.AppendInt(append(text, 'e'), int64(3*a.thousand), 10)
	}
	value, err := strconv.ParseFloat(string(text), 64)
	return value, err == nil && !math.IsInf(value, 0)
}

// appendGrouped appends the digits of an integer without its thousands separators.
func appendGrouped(text []byte, s, decimal string) ([]byte, bool) {
	var groups []string
	separator, start := rune(0), 0
	for at, r := range s {
		if r >= '0' && r <= '9' {
			continue
		}
		if unicode.IsSpace(r) {
			r = ' '
		}
		if !partsThousands(r, decimal) || separator != 0 && r != separator {
			return nil, false
		}
		separator = r
		groups = append(groups, s[start:at])
		_, size := utf8.DecodeRuneInString(s[at:])
		start = at + size
	}
	last := s[start:]
	if separator == 0 {
		return append(text, last...), true
	}
	groups = append(groups, last)
	for _, group := range groups {
		text = append(text, group...)
	}
	return text, s[0] != '0' && wellGrouped(groups, separator)
}

func partsThousands(r rune, decimal string) bool {
	switch r {
	case ' ', '\'', '’':
		return true
	case ',':
		return decimal == point
	case '.':
		return decimal == comma
	}
	return false
}

// wellGrouped accepts 1,234,567 and, with commas, India's 12,34,567.
func wellGrouped(groups []string, separator rune) bool {
	last := len(groups) - 1
	if n := len(groups[0]); n < 1 || n > 3 || len(groups[last]) != 3 {
		return false
	}
	threes, twos := true, separator == ',' && len(groups[0]) < 3
	for _, group := range groups[1:last] {
		threes, twos = threes && len(group) == 3, twos && len(group) == 2
	}
	return threes || twos
}
