package explain

import (
	"strconv"
	"strings"
)

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
