package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/psi-shapley/psi/table"
)

// textLine is a player of a row, or the sum of its remaining players.
type textLine struct {
	name, value string
	other       bool // the label did not occur in training
	mean, std   float64
	piece       bool // it has no standard deviation: a part of attributions, or they are unknown
}

// otherMark follows such a value.
const otherMark = " (other)"

// lines returns the observed players of a row in descending order, and the names of the others. Players beyond the
// maximum are summed up in the last line.
func (t *textWriter) lines(row, output int) (lines []textLine, missing []string) {
	e := t.e
	mean, std, unknown := e.means(row, output), e.deviations(row, output), e.Interval() == NoInterval
	for d, observed := range e.observed(row) {
		if !observed {
			missing = append(missing, t.name(e.Players[d]))
			continue
		}
		line := textLine{name: clean(e.Players[d]), other: e.Values[d] != nil && e.other(row, d), mean: mean[d], piece: unknown}
		if !unknown {
			line.std = std[d]
		}
		switch column := e.Values[d]; {
		case column == nil:
		case column.Observed[row]:
			line.value = clean(valueText(column, row))
		default:
			line.value = "(missing)" // it has an attribution if its column is in MissingAsLevel
		}
		lines = append(lines, line)
	}
	slices.SortStableFunc(lines, func(a, b textLine) int { return larger(a.mean, b.mean) })
	if len(lines) <= t.Players+1 {
		return lines, missing // one more player takes no more space than a line about it
	}
	rest, variance := textLine{name: fmt.Sprintf("%d others", len(lines)-t.Players), piece: unknown}, 0.0
	for _, line := range lines[t.Players:] {
		rest.mean += line.mean
		variance += line.std * line.std // as for independent players
	}
	rest.std = math.Sqrt(variance)
	return append(lines[:t.Players], rest), missing
}

// valueText returns a cell with few enough digits for people.
func valueText(c *table.Column, row int) string {
	if full := c.Text(row); c.Kind != table.Number || len(full) <= 8 {
		return full
	}
	return strconv.FormatFloat(c.Numbers[row], 'g', 6, 64)
}

// larger sorts numbers by descending size, NaN last.
func larger(a, b float64) int { return cmp.Compare(math.Abs(b), math.Abs(a)) }

// name returns a player's name for use in a sentence.
func (t *textWriter) name(player string) string {
	const limit = 24
	return shorten(clean(player), limit, t.sign("…", "..."))
}

// block aligns the lines in columns: name, value, bar, mean ± z·std, words. On a narrow screen it drops the words, then
// the values, then the bar. Lines without a standard deviation have neither interval nor words.
func (t *textWriter) block(lines []textLine, digits digits) {
	const gap, narrowest, widest = 2, 8, 48
	var names, values, means, spreads, words column
	ellipsis := t.sign("…", "...")
	for _, line := range lines {
		value := shorten(line.value, t.Width/6, ellipsis)
		if line.other {
			value += otherMark
		}
		names.add(line.name)
		values.add(value)
		means.add(strings.TrimSpace(t.factor(line.mean) + "  " + digits.signed(line.mean)))
		if !line.piece {
			spreads.add(digits.plain(t.law.reach * line.std))
			words.add(t.direction(line))
		}
	}
	numbers, forNames := means.width, t.Width/2
	if spreads.width > 0 {
		numbers += spreads.width + screenWidth(t.plusMinus()) + 2
		forNames = t.Width / 4
	}
	names.width = min(names.width, forNames)
	bar := func() int {
		left := t.Width - names.width - numbers - 2*gap
		for _, c := range []column{values, words} {
			if c.width > 0 {
				left -= c.width + gap
			}
		}
		return min(left-gap, widest)
	}
	for _, c := range []*column{&words, &values} {
		if bar() < narrowest {
			c.width = 0
		}
	}
	var drawn *bars
	if width := bar(); width >= narrowest {
		intervals := make([]interval, len(lines))
		for i, line := range lines {
			intervals[i] = t.interval(line)
		}
		b := newBars(intervals, width, t.ASCII)
		drawn = &b
	}

	for i, line := range lines {
		of := t.inkOf(line)
		text := "  " + padRight(shorten(names.cells[i], names.width, ellipsis), names.width)
		if values.width > 0 {
			text += "  " + padRight(values.cells[i], values.width)
		}
		if drawn != nil {
			text += "  " + barText(drawn.draw(t.interval(line)), of)
		}
		text += "  " + of.paint(padLeft(means.cells[i], means.width))
		if spreads.width > 0 {
			text += t.ink(ink{dim: true}).paint(" " + t.plusMinus() + " " + padLeft(spreads.cells[i], spreads.width))
		}
		if words.width > 0 {
			text += "  " + words.cells[i]
		}
		t.line(text)
	}
}

// interval returns the interval of a line.
func (t *textWriter) interval(line textLine) interval {
	return interval{line.mean, line.mean - t.law.reach*line.std, line.mean + t.law.reach*line.std}
}

// inkOf returns the colour for raising or lowering, dim if the direction is not certain.
func (t *textWriter) inkOf(line textLine) ink {
	of := ink{colour: upColour}
	switch {
	case line.mean < 0:
		of.colour = downColour
	case line.mean == 0 || math.IsNaN(line.mean):
		of.colour = 0
	}
	of.dim = t.interval(line).holds0()
	return t.ink(of)
}

// column is a column of texts; a width of 0 omits it.
type column struct {
	cells []string
	width int
}

func (c *column) add(text string) {
	c.cells = append(c.cells, text)
	c.width = max(c.width, screenWidth(text))
}

// direction names the direction of a line. It is certain if the interval does not contain 0, as in reasons and reports;
// otherwise its probability is added.
func (t *textWriter) direction(line textLine) string {
	p, sure := t.law.positive(line.mean, line.std), !t.interval(line).holds0()
	switch {
	case math.IsNaN(p):
		return "unknown"
	case line.mean == 0 && line.std == 0:
		return "no effect"
	case sure && line.mean > 0:
		return "raises it"
	case sure:
		return "lowers it"
	case p >= 0.5:
		return fmt.Sprintf("%.0f%% up", 100*p)
	default:
		return fmt.Sprintf("%.0f%% down", 100*(1-p))
	}
}

// digits writes the numbers of one row with the same number of decimals, so that readers can add them up.
type digits struct {
	format   byte
	decimals int
	unit     float64 // unit of the last decimal of the largest mean
}

// digitsFor gives the largest mean three digits or more, unless its uncertainty makes them meaningless.
func (t *textWriter) digitsFor(lines []textLine) digits {
	largest := 0.0
	for _, line := range lines {
		if v := max(math.Abs(line.mean), t.law.reach*line.std/100); finite(v) {
			largest = max(largest, v)
		}
	}
	if largest == 0 {
		return digits{'f', 3, 1e-3}
	}
	magnitude := int(math.Floor(math.Log10(largest)))
	if magnitude < -6 || magnitude > 8 {
		return digits{'e', 2, math.Pow10(magnitude - 2)}
	}
	decimals := max(0, 2-magnitude)
	return digits{'f', decimals, math.Pow10(-decimals)}
}

func (d digits) plain(v float64) string {
	if !finite(v) {
		return "?"
	}
	return strconv.FormatFloat(v, d.format, d.decimals, 64)
}

func (d digits) signed(v float64) string {
	switch {
	case !finite(v):
		return "?"
	case !d.shows(v):
		return d.plain(0)
	case v > 0:
		return "+" + d.plain(v)
	}
	return d.plain(v)
}

// shows reports whether v is more than zeros beside the largest mean.
func (d digits) shows(v float64) bool { return finite(v) && math.Abs(v) > d.unit/2 }

// Reasons returns the players of a row whose interval does not contain 0, so that they certainly raised or lowered an
// output. If the uncertainty of attributions is unknown, it returns all players whose attribution is not 0. It returns at
// most limit players, in descending order of |mean|.
func (e *Explanation) Reasons(row, output, limit int) []int {
	var sure []int
	mean, std, observed, reach := e.means(row, output), e.deviations(row, output), e.observed(row), e.Reach()
	for d := range e.Players {
		if e.Interval() == NoInterval {
			std[d] = 0
		}
		if observed[d] && math.Abs(mean[d]) > reach*std[d] {
			sure = append(sure, d)
		}
	}
	slices.SortStableFunc(sure, func(a, b int) int { return larger(mean[a], mean[b]) })
	return sure[:min(len(sure), limit)]
}

// reasons writes the certain contributions in words.
func (t *textWriter) reasons(row, output int, digits digits) {
	e := t.e
	sure := e.Reasons(row, output, t.Reasons)
	for i, d := range sure {
		mean, reach := e.means(row, output)[d], e.Reach()*e.deviations(row, output)[d]
		verb := "raises it by"
		if mean < 0 {
			verb = "lowers it by"
		}
		size := math.Abs(mean)
		order := ""
		if i+1 < len(sure) {
			if p := e.PLarger(row, output, d, sure[i+1]); p < .95 { // claims need at least this probability
				order = fmt.Sprintf("; %.0f%% sure to outweigh the next", 100*p)
			}
		}
		between := ""
		if finite(reach) {
			between = fmt.Sprintf(" (%s to %s)", digits.plain(size-reach), digits.plain(size+reach))
		}
		t.note(fmt.Sprintf("%d. %s %s %s%s%s", i+1, t.reason(row, d), verb, digits.plain(size), between, order))
	}
	switch {
	case e.Interval() == NoInterval:
	case len(sure) == 0:
		t.note("no column is sure to raise or to lower it")
	case len(sure) < t.Reasons:
		t.note("no other column is sure to raise or to lower it")
	}
}

// reason names a player and its value in the row.
func (t *textWriter) reason(row, d int) string {
	e := t.e
	text := t.name(e.Players[d])
	switch c := e.Values[d]; {
	case c == nil:
	case !c.Observed[row]:
		text += " missing"
	default:
		text += " = " + shorten(clean(valueText(c, row)), t.Width/4, t.sign("…", "..."))
		if e.other(row, d) {
			text += otherMark
		}
	}
	return text
}
