package main

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// formatDuration formats a duration for people.
func formatDuration(d time.Duration) string {
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

// didYouMean prefixes a remedy with a suggestion if a word is similar to an existing one.
func didYouMean(word string, among []string, remedy string) string {
	if near := nearest(word, among); near != "" {
		return fmt.Sprintf("did you mean %s? Otherwise %s", near, remedy)
	}
	return remedy
}

// nearest returns the word that was most likely mistyped: the same in another case, or the one with the fewest changes,
// at most a third of its letters. It returns "" if there is none.
func nearest(word string, among []string) string {
	best, closest := "", 1+max(1, utf8.RuneCountInString(word)/3)
	for _, other := range among {
		if strings.EqualFold(other, word) {
			return other
		}
		if utf8.RuneCountInString(other) < 2 {
			continue // a single letter is close to any other
		}
		if n := editDistance(strings.ToLower(word), strings.ToLower(other)); n < closest {
			best, closest = other, n
		}
	}
	return best
}

// editDistance returns the number of letters to insert, delete, replace or swap with the next to turn a into b.
func editDistance(a, b string) int {
	from, to := []rune(a), []rune(b)
	var before, above []int // rows of the table of distances between all prefixes of a and b
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i := range from {
		before, above, row = above, row, make([]int, len(to)+1)
		row[0] = i + 1
		for j := range to {
			other := 1
			if from[i] == to[j] {
				other = 0
			}
			row[j+1] = min(above[j+1]+1, row[j]+1, above[j]+other)
			if i > 0 && j > 0 && from[i] == to[j-1] && from[i-1] == to[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(to)]
}
