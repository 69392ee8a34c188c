package plot

import (
	"math"
	"strconv"
	"strings"
)

// digits writes a number with three significant digits, and its integer part in full up to ten million, so that a year
// is not rounded.
func digits(x float64) string {
	const significant = 3
	size := math.Abs(x)
	if x == 0 || size < 1e-4 || size >= 1e7 || math.IsNaN(x) || math.IsInf(x, 0) {
		return strconv.FormatFloat(x, 'g', significant, 64)
	}
	decimals := max(0, significant-1-int(math.Floor(math.Log10(size))))
	text := strconv.FormatFloat(x, 'f', decimals, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// signed is digits with an explicit sign.
func signed(x float64) string {
	if x > 0 {
		return "+" + digits(x)
	}
	return digits(x)
}
