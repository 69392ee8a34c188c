package main

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// lasting formats a duration for people.
func lasting(d time.Duration) string {
	switch seconds := d.Seconds(); {
	case seconds < 9.95 && d%time.Second != 0:
		return fmt.Sprintf("%.1f s", seconds)
	case seconds < 100:
		return fmt.Sprintf("%.0f s", seconds)
	case seconds < 5940:
		return fmt.Sprintf("%.0f min", seconds/60)
	default:
		return fmt.Sprintf("%.1f h", seconds/3600)
	}
}

// wrap breaks a text between words, so that its lines fit into width if the words do.
func wrap(text string, width int) string {
	var wrapped strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		size := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+size > width && size > 1: // keep a unit with its number
			wrapped.WriteByte('\n')
			column = 0
		default:
			wrapped.WriteByte(' ')
			column++
		}
		wrapped.WriteString(word)
		column += size
	}
	return wrapped.String()
}

// quoted returns an argument quoted for a shell.
func quoted(argument string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,+@%"
	if argument != "" && strings.Trim(argument, plain) == "" {
		return argument
	}
	return "'" + strings.ReplaceAll(argument, "'", `'\''`) + "'"
}

// aligned writes the cells of lines in aligned columns.
func aligned(indent string, lines [][]string) string {
	var widths []int
	for _, cells := range lines {
		for i, cell := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if i < len(cells)-1 { // the last cell of a line needs no padding
				widths[i] = max(widths[i], utf8.RuneCountInString(cell))
			}
		}
	}
	var text strings.Builder
	for _, cells := range lines {
		padded := make([]string, len(cells))
		for i, cell := range cells {
			padded[i] = cell + strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(cell)))
		}
		text.WriteString(strings.TrimRight(indent+strings.Join(padded, "  "), " ") + "\n")
	}
	return text.String()
}
