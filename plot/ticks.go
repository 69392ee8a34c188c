package plot

import (
	"math"
	"strconv"

	gonum "gonum.org/v1/plot"
)

// roundTicks places ticks at multiples of 1, 2 or 5 times a power of ten, which are easy to read.
type roundTicks struct{}

// Ticks returns three to seven ticks between two numbers.
func (roundTicks) Ticks(low, high float64) []gonum.Tick {
	const most = 6
	step := math.Pow10(int(math.Floor(math.Log10((high - low) / most))))
	for _, times := range []float64{1, 2, 5, 10} {
		if (high-low)/(times*step) <= most {
			step *= times
			break
		}
	}
	var ticks []gonum.Tick
	for k := math.Ceil(low/step - 1e-9); k <= high/step+1e-9; k++ {
		ticks = append(ticks, gonum.Tick{Value: k * step, Label: roundNumber(k*step, step)})
	}
	return ticks
}

// roundNumber writes a multiple of a step with the decimals of the step.
func roundNumber(x, step float64) string {
	if largest := math.Abs(x); step < 1e-5 || largest >= 1e7 {
		return strconv.FormatFloat(x, 'g', 6, 64)
	}
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	text := strconv.FormatFloat(x, 'f', decimals, 64)
	if x == 0 || text == "-0" {
		return "0"
	}
	return text
}
