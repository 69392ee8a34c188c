package explain

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// clean removes characters that move the cursor or hide text: names and cells come from untrusted files.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar {
			return '?'
		}
		return r
	}, text)
}

// screenWidth returns the number of terminal cells of a cleaned text.
func screenWidth(text string) int {
	width := 0
	for _, r := range text {
		width += runeWidth(r)
	}
	return width
}

// runeWidth handles combining marks, East Asian wide characters and pictures, which suffices for column names.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60,
		r >= 0xffe0 && r <= 0xffe6, r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// shorten cuts a text to width cells, the last of them an ellipsis.
func shorten(text string, width int, ellipsis string) string {
	if screenWidth(text) <= width {
		return text
	}
	room := width - screenWidth(ellipsis)
	var short strings.Builder
	for _, r := range text {
		if room -= runeWidth(r); room < 0 {
			break
		}
		short.WriteRune(r)
	}
	return short.String() + ellipsis
}

func padRight(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-screenWidth(text)))
}

func padLeft(text string, width int) string {
	return strings.Repeat(" ", max(0, width-screenWidth(text))) + text
}

// wrap breaks a text between words, so that its lines fit into width if the words do. The first line starts with first,
// the others with rest.
func wrap(text string, width int, first, rest string) string {
	var wrapped strings.Builder
	wrapped.WriteString(first)
	column := screenWidth(first)
	for i, word := range strings.Fields(text) {
		size := screenWidth(word)
		switch {
		case i == 0:
		case column+1+size > width:
			wrapped.WriteString("\n" + rest)
			column = screenWidth(rest)
		default:
			wrapped.WriteByte(' ')
			column++
		}
		wrapped.WriteString(word)
		column += size
	}
	return wrapped.String()
}

// ink is the style of text on a terminal, by ECMA-48 sequences; the zero value is plain.
type ink struct {
	colour int // of 256; 0 is the terminal's default
	dim    bool
	bold   bool
}

// Up and down are the orange and blue of the pictures, which are also distinct for colour-blind people.
const (
	upColour   = 208
	downColour = 33
)

func (i ink) dimmed() ink {
	if i != (ink{}) {
		i.dim = true
	}
	return i
}

// paint styles a text, but not the spaces around it.
func (i ink) paint(text string) string {
	inner := strings.Trim(text, " ")
	if i == (ink{}) || inner == "" {
		return text
	}
	var codes []string
	if i.bold {
		codes = append(codes, "1")
	}
	if i.dim {
		codes = append(codes, "2")
	}
	if i.colour != 0 {
		codes = append(codes, "38;5;"+strconv.Itoa(i.colour))
	}
	before, after, _ := strings.Cut(text, inner)
	return before + "\x1b[" + strings.Join(codes, ";") + "m" + inner + "\x1b[0m" + after
}

// bars draws numbers of both signs, and intervals about them, on one axis.
type bars struct {
	left, right int     // cells on either side of the axis
	perCell     float64 // value of one cell
	ascii       bool
}

// barMark is the part of a bar that a cell belongs to.
type barMark int

const (
	emptyMark barMark = iota
	axisMark
	sureMark  // the bar between 0 and its interval
	doubtMark // the bar within its interval
	reachMark // the interval beyond the bar
)

// barCell is one cell of a drawn bar.
type barCell struct {
	sign string
	mark barMark
}

// interval is a number with its interval.
type interval struct{ mean, low, high float64 }

// holds0 reports whether the interval contains 0, so that the sign is not certain.
func (x interval) holds0() bool { return x.low <= 0 && x.high >= 0 }

// maxReach limits an interval to this multiple of the largest number, so that bars stay visible.
const maxReach = 3

// newBars divides width cells, one of them the axis, so that the largest number of either sign fits, with its interval
// unless that is far wider.
func newBars(values []interval, width int, ascii bool) bars {
	largest := 0.0
	for _, v := range values {
		if finite(v.mean) {
			largest = max(largest, math.Abs(v.mean))
		}
	}
	negative, positive := 0.0, 0.0
	for _, v := range values {
		for _, x := range []float64{v.mean, max(v.low, -maxReach*largest), min(v.high, maxReach*largest)} {
			if finite(v.mean) && finite(x) {
				negative, positive = max(negative, -x), max(positive, x)
			}
		}
	}
	b := bars{right: width - 1, ascii: ascii}
	if negative > 0 {
		b.left = int(math.Round(negative / (negative + positive) * float64(width-1)))
		b.left = max(b.left, 1)
		if positive > 0 {
			b.left = min(b.left, width-2)
		}
		b.right = width - 1 - b.left
		b.perCell = negative / float64(b.left)
	}
	if positive > 0 {
		b.perCell = max(b.perCell, positive/float64(b.right))
	}
	return b
}

// draw returns the cells of one bar from left to right.
func (b bars) draw(v interval) []barCell {
	axis, line, before, after := "│", "─", "←", "→"
	if b.ascii {
		axis, line, before, after = "|", "-", "<", ">"
	}
	cells := slices.Repeat([]barCell{{" ", emptyMark}}, b.left+1+b.right)
	cells[b.left] = barCell{axis, axisMark}
	if !finite(v.mean) || b.perCell == 0 {
		return cells
	}
	for k, sign := range b.blocks(v.mean) {
		at := b.left + 1 + k
		if v.mean < 0 {
			at = b.left - 1 - k
		}
		cells[at] = barCell{sign, sureMark}
	}
	if !finite(v.low) || !finite(v.high) || v.low == v.high {
		return cells
	}
	for i := range cells {
		middle := (float64(i-b.left) - .5) * b.perCell
		if i < b.left {
			middle += b.perCell
		}
		switch {
		case i == b.left || middle < v.low || middle > v.high:
		case cells[i].mark == sureMark:
			cells[i].mark = doubtMark
		default:
			cells[i] = barCell{line, reachMark}
		}
	}
	if last := len(cells) - 1; cells[last].mark == reachMark && v.high > (float64(b.right)+.5)*b.perCell {
		cells[last].sign = after
	}
	if cells[0].mark == reachMark && v.low < -(float64(b.left)+.5)*b.perCell {
		cells[0].sign = before
	}
	return cells
}

// blocks returns the characters of a bar, starting at the axis.
func (b bars) blocks(v float64) []string {
	cells, full := math.Abs(v/b.perCell), "█"
	end := "" // the partial cell at the end of a bar
	switch {
	case b.ascii:
		full = "#"
		cells = math.Round(cells)
	case v < 0: // to the left there are only half blocks
		cells = math.Round(cells*2) / 2
		if cells != math.Trunc(cells) {
			end = "▐"
		}
	default:
		eighths := int(math.Round(cells * 8))
		cells = float64(eighths) / 8
		end = []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}[eighths%8]
	}
	signs := slices.Repeat([]string{full}, int(cells))
	if end != "" {
		signs = append(signs, end)
	}
	return signs
}

// barText paints a bar in one colour. Its certain part is bright, the rest dim.
func barText(cells []barCell, of ink) string {
	var text strings.Builder
	for from := 0; from < len(cells); {
		to, run := from, ""
		for ; to < len(cells) && cells[to].mark == cells[from].mark; to++ {
			run += cells[to].sign
		}
		switch cells[from].mark {
		case sureMark:
			run = of.paint(run)
		case doubtMark, reachMark:
			run = of.dimmed().paint(run)
		}
		text.WriteString(run)
		from = to
	}
	return text.String()
}
