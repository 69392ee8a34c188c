package plot

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// axis is the x axis for the values of a column.
type axis struct {
	place func(row int) float64 // position of a cell
	aside func(row int) float64 // horizontal offset of a dot, so that rows with the same value lie side by side
	gap   float64               // position of missing cells
}

// axisOf returns the positions of cells on the x axis: labels by name, times as such, and a position for missing cells.
func axisOf(p *gonum.Plot, c *table.Column) axis {
	of, apart, gap := func(row int) float64 { return c.Numbers[row] }, 0.0, 0.0
	switch c.Kind {
	case table.Category:
		gap, apart = labelAxis(p, c), 1
		of = func(row int) float64 { return min(float64(c.Codes[row]), gap-1) }
	case table.Boolean:
		gap, apart = 2, 1
		words := []string{"false", "true"}
		if len(c.Levels) == len(words) {
			words = c.Levels
		}
		p.X.Tick.Marker = gonum.ConstantTicks{{Value: 0, Label: shorten(words[0], 14)}, {Value: 1, Label: shorten(words[1], 14)}}
	default:
		gap, apart = numberAxis(p, c)
	}
	return axis{
		place: func(row int) float64 {
			if !c.Observed[row] { // MissingAsLevel: the gap has an attribution
				return gap
			}
			return of(row)
		},
		aside: func(row int) float64 { return .24 * apart * (float64(row*7919%97)/97 - .5) }, // a fixed pattern
		gap:   gap,
	}
}

// numberAxis chooses the ticks of numbers or times. It returns the position behind them and, for few distinct values,
// their minimum distance; 0 means that there are many.
func numberAxis(p *gonum.Plot, c *table.Column) (gap, apart float64) {
	const few, ticked = 31, 12 // distinct values that are drawn apart, and that get a tick each
	values := slices.Compact(sortedNumbers(c))
	if len(values) == 0 {
		return 0, 0
	}
	low, high := values[0], values[len(values)-1]
	gap = high + .06*(high-low)
	if c.Kind == table.Time {
		p.X.Tick.Marker = timeTicks{}
		return gap, 0
	}
	if len(values) > few {
		return gap, 0
	}
	apart = max(1, high-low)
	for i, x := range values[1:] {
		apart = min(apart, x-values[i])
	}
	if len(values) <= ticked && (high-low)/apart < 2*ticked {
		var ticks gonum.ConstantTicks
		for _, x := range values {
			ticks = append(ticks, gonum.Tick{Value: x, Label: digits(x)})
		}
		p.X.Tick.Marker = ticks
	}
	return max(gap, high+.5*apart), apart
}

// labelAxis writes a category's labels below the axis, rare ones as one, and returns the position behind them.
func labelAxis(p *gonum.Plot, c *table.Column) (behind float64) {
	const limit = 20
	var ticks gonum.ConstantTicks
	for i, level := range c.Levels[:min(limit, len(c.Levels))] {
		ticks = append(ticks, gonum.Tick{Value: float64(i), Label: shorten(level, 18)})
	}
	if len(c.Levels) > limit {
		ticks = append(ticks, gonum.Tick{Value: limit, Label: fmt.Sprintf("%d others", len(c.Levels)-limit)})
	}
	p.X.Tick.Marker = ticks
	if len(ticks) > 6 {
		p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/4, draw.XRight, draw.YTop
	}
	return float64(len(ticks))
}

// timeTicks returns five evenly spaced times, as precise as their distance requires.
type timeTicks struct{}

// Ticks returns ticks in seconds since 1970.
func (timeTicks) Ticks(low, high float64) []gonum.Tick {
	const n = 5
	layout := "2006-01-02"
	switch apart := (high - low) / (n - 1); {
	case apart < 60:
		layout = "15:04:05"
	case apart < 24*3600:
		layout = "01-02 15:04"
	}
	ticks := make([]gonum.Tick, n)
	for i := range ticks {
		x := low + (high-low)*float64(i)/(n-1)
		ticks[i] = gonum.Tick{Value: x, Label: time.Unix(int64(x), 0).UTC().Format(layout)}
	}
	return ticks
}

// roundTicks places ticks at multiples of 1, 2 or 5 times a power of ten, which are easy to read.
type roundTicks struct{}

// Ticks returns three to seven ticks between two numbers.
func (roundTicks) Ticks(low, high float64) []gonum.Tick {
	const limit = 6
	step := math.Pow10(int(math.Floor(math.Log10((high - low) / limit))))
	for _, times := range []float64{1, 2, 5, 10} {
		if (high-low)/(times*step) <= limit {
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

// scale maps numbers between two ends to [0, 1]; numbers beyond are clipped.
type scale struct{ low, high float64 }

// scaleOf returns the range of the middle 90 % of a column's numbers, so that a few extremes do not make the rest look
// alike. If that is a single number, it uses the middle 98 %, or all. The minimum is always at 0 and the maximum at 1,
// unless they are equal.
func scaleOf(c *table.Column) scale {
	sorted := sortedNumbers(c)
	if len(sorted) == 0 {
		return scale{}
	}
	for _, beyond := range []float64{.05, .01} {
		if low, high := explain.Quantile(sorted, beyond), explain.Quantile(sorted, 1-beyond); low < high {
			return scale{low, high}
		}
	}
	return scale{sorted[0], sorted[len(sorted)-1]}
}

func (s scale) share(x float64) float64 {
	if s.low == s.high {
		return .5
	}
	return math.Min(1, math.Max(0, (x-s.low)/(s.high-s.low)))
}

// sortedNumbers returns the observed numbers of a column in order.
func sortedNumbers(c *table.Column) []float64 {
	var sorted []float64
	for row, x := range c.Numbers {
		if c.Observed[row] {
			sorted = append(sorted, x)
		}
	}
	slices.Sort(sorted)
	return sorted
}

// place maps a cell to [0, 1] within the values of its column; not for categories.
func (v view) place(player int) func(row int) (share float64, ok bool) {
	c := v.Values[player]
	if c == nil || c.Kind == table.Category {
		return func(int) (float64, bool) { return 0, false }
	}
	s := scaleOf(c)
	return func(row int) (float64, bool) { return s.share(c.Numbers[row]), c.Observed[row] }
}

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
