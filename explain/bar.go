package explain

import (
	"math"
	"strings"
)

// bars draws numbers of both signs on one axis.
type bars struct {
	left, right int     // cells on either side of the axis
	perCell     float64 // of the numbers
	ascii       bool
}

// newBars divides width cells, one of them the axis, so that the largest number of
// either sign fits.
func newBars(values []float64, width int, ascii bool) bars {
	negative, positive := 0.0, 0.0
	for _, v := range values {
		if finite(v) {
			negative, positive = max(negative, -v), max(positive, v)
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

func (b bars) draw(v float64) string {
	cells := 0.0
	if finite(v) && b.perCell > 0 {
		cells = v / b.perCell
	}
	full, axis := "█", "│"
	var below, above string // the part of a cell at a bar's end
	switch {
	case b.ascii:
		full, axis = "#", "|"
		cells = math.Round(cells)
	case cells < 0: // to the left there are only halves
		cells = math.Round(cells*2) / 2
		if cells != math.Trunc(cells) {
			below = "▐"
		}
	default:
		eighths := int(math.Round(cells * 8))
		cells = float64(eighths) / 8
		above = []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}[eighths%8]
	}
	blocks := strings.Repeat(full, int(math.Abs(cells)))
	if cells < 0 {
		return padLeft(below+blocks, b.left) + axis + strings.Repeat(" ", b.right)
	}
	return strings.Repeat(" ", b.left) + axis + padRight(blocks+above, b.right)
}
