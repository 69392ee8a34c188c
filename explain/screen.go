package explain

import (
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
