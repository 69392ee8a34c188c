package encode

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/psi-shapley/psi/table"
)

// Labels accumulates the distinct values of a target. It stops counting when there are too many for classes, so its
// memory is bounded. The zero value is ready to use.
type Labels struct {
	name    string
	kind    table.Kind
	started bool

	texts   map[string]struct{} // of a category
	numbers map[float64]struct{}
	words   []string // of a boolean; nil for the default words
	least   float64  // minimum of all numbers

	skew, logSkew skewness // of the numbers, and of the logs of positive ones
	met           []bool   // by the codes of the current chunk
}

// Add adds the observed targets of the rows for which keep is true, or all rows if keep is nil.
func (l *Labels) Add(y *table.Column, keep func(row int) bool) error {
	if keep == nil {
		keep = keepAll
	}
	if !l.started {
		*l = Labels{name: y.Name, kind: y.Kind, started: true, texts: map[string]struct{}{}, numbers: map[float64]struct{}{}, least: math.Inf(1)}
	}
	if y.Kind != l.kind {
		return &table.Error{
			Row: noRow, Column: y.Name,
			Message: fmt.Sprintf("the target is a %v in some rows and a %v in others", l.kind, y.Kind), Remedy: "give all tables the same kind of target",
		}
	}
	if y.Kind == table.Category {
		return l.addTexts(y, keep)
	}
	if y.Kind == table.Boolean && l.words == nil && len(y.Levels) == 2 {
		l.words = y.Levels
	}
	for row, v := range observedNumbers(y, keep) {
		if !finite(v) {
			return notFinite(y, row)
		}
		l.least = min(l.least, v)
		if l.skew.add(v); v > 0 {
			l.logSkew.add(math.Log(v))
		}
		if l.len() <= maxClasses {
			l.numbers[v+0] = struct{}{} // −0 + 0 is 0
		}
	}
	return nil
}

func (l *Labels) addTexts(y *table.Column, keep func(row int) bool) error {
	l.met = slices.Grow(l.met[:0], len(y.Levels))[:len(y.Levels)]
	clear(l.met)
	for row, code := range y.Codes {
		if !y.Observed[row] || !keep(row) || l.met[code] {
			continue
		}
		l.met[code] = true
		label := y.Levels[code]
		if !utf8.ValidString(label) {
			err := notText()
			err.Row, err.Column = row, y.Name
			return err
		}
		if l.len() <= maxClasses {
			l.texts[label] = struct{}{}
		}
	}
	return nil
}

// Positive reports whether the target is a number above 0 in all rows.
func (l *Labels) Positive() bool { return l.kind == table.Number && l.least > 0 }

// minSkewness is the minimum skewness of a skewed target: that of an exponential distribution.
const minSkewness = 2

// Skewed reports whether the target is positive and skewed, and its log less so, so that a log scale may be better.
func (l *Labels) Skewed() bool {
	skew := l.skew.value()
	return l.Positive() && skew >= minSkewness && math.Abs(l.logSkew.value()) < skew
}

// Skewness returns the skewness of the target.
func (l *Labels) Skewness() float64 { return l.skew.value() }

// len returns the number of distinct values, at most maxClasses + 1.
func (l *Labels) len() int { return len(l.texts) + len(l.numbers) }

func (l *Labels) count() string {
	if l.len() > maxClasses {
		return fmt.Sprintf("more than %d", maxClasses)
	}
	return strconv.Itoa(l.len())
}

// whole reports whether all numbers are integers.
func (l *Labels) whole() bool {
	for v := range l.numbers {
		if v != math.Trunc(v) {
			return false
		}
	}
	return true
}

// list returns the labels as users write them: texts and numbers in order, false before true.
func (l *Labels) list() []string {
	if l.kind == table.Category {
		return slices.Sorted(maps.Keys(l.texts))
	}
	sorted := slices.Sorted(maps.Keys(l.numbers))
	written := &table.Column{
		Kind: l.kind, Numbers: sorted, Levels: l.words,
		Observed: slices.Repeat([]bool{true}, len(sorted)),
	}
	labels := make([]string, len(sorted))
	for i := range labels {
		labels[i] = written.Text(i)
	}
	return labels
}

// quoted lists labels for a message, at most a few of them.
func quoted(labels []string, last string) string {
	const few = 6
	var text strings.Builder
	for i, label := range labels {
		switch {
		case i == few:
			return text.String() + fmt.Sprintf(" … (%d)", len(labels))
		case i > 0 && i == len(labels)-1:
			text.WriteString(" " + last + " ")
		case i > 0:
			text.WriteString(", ")
		}
		text.WriteString(strconv.Quote(shortened(label)))
	}
	return text.String()
}

// shortened truncates a label to fit into a message.
func shortened(label string) string {
	const most = 40
	if utf8.RuneCountInString(label) <= most {
		return label
	}
	return string([]rune(label)[:most-1]) + "…"
}
