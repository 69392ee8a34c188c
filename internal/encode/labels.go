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
	const limit = 40
	if utf8.RuneCountInString(label) <= limit {
		return label
	}
	return string([]rune(label)[:limit-1]) + "…"
}

// Task is the kind of prediction.
type Task string

// Tasks.
const (
	Auto       Task = "auto" // inferred from the target's values; never the task of a Target
	Regression Task = "regression"
	Binary     Task = "binary"
	Multiclass Task = "multiclass"
)

// Check returns an error if a column of the kind cannot have the task. Labels checks the values.
func (t Task) Check(column string, kind table.Kind) error {
	switch t {
	case Auto, "", Binary, Multiclass:
		return nil
	case Regression:
		if kind == table.Number || kind == table.Time {
			return nil
		}
		return &table.Error{
			Row: noRow, Column: column,
			Message: fmt.Sprintf("the target is a %v, and only numbers have a regression", kind), Remedy: "choose a column of numbers, or another Config.Task",
		}
	}
	return fmt.Errorf("encode: the task %q is unknown: choose %s, %s, %s or %s", t, Auto, Regression, Binary, Multiclass)
}

// maxClasses limits the outputs of a network.
const maxClasses = 100

// fewNumbers is the number of distinct integers up to which a target may well be classes.
const fewNumbers = 10

// Target returns the task that fits the values so far, and its classes; TargetFitter fits the rest. asked may be "",
// which means Auto. positive may be "", which means the last of two classes. The note tells users about what they might
// not expect.
func (l *Labels) Target(requested Task, positive string) (t Target, note string, err error) {
	if err := l.check(); err != nil {
		return Target{}, "", err
	}
	t.Kind = l.kind
	if t.Task, note, err = l.task(requested); err != nil {
		return Target{}, "", err
	}
	if t.Task != Regression {
		t.Classes = l.list()
	}
	t.NonNegative = t.Task == Regression && t.Kind == table.Number && l.least >= 0
	if positive != "" {
		err = l.choosePositive(&t, positive)
	}
	return t, note, err
}

// check returns an error if there is nothing to learn.
func (l *Labels) check() error {
	switch l.len() {
	case 0:
		return l.wrong("no row has a target", "name the column that holds the targets")
	case 1:
		return l.wrong(fmt.Sprintf("the target is %s in every row: there is nothing to learn", l.list()[0]), "check that this is the column to predict")
	}
	return nil
}

func (l *Labels) wrong(message, remedy string) error {
	return &table.Error{Row: noRow, Column: l.name, Message: message, Remedy: remedy}
}

func (l *Labels) task(requested Task) (task Task, note string, err error) {
	if err := requested.Check(l.name, l.kind); err != nil {
		return "", "", err
	}
	n := l.len()
	switch requested {
	case Regression:
		return Regression, "", nil
	case Binary:
		if n != 2 {
			return "", "", l.wrong(fmt.Sprintf("the target has %s different values, and Config.Task=binary needs two", l.count()), "choose another Config.Task, or another column")
		}
	case Multiclass:
		if n > 2 && l.kind == table.Time {
			return "", "", l.wrong("the target is a time, whose values are no classes", "choose Config.Task=regression, or another column")
		}
		if n == 2 {
			note = fmt.Sprintf("the target has two classes, %s: their task is binary", quoted(l.list(), "and"))
		}
	default:
		if n > 2 && (l.kind == table.Number || l.kind == table.Time) {
			return Regression, l.hintOfClasses(), nil
		}
	}
	switch {
	case n > maxClasses:
		return "", "", l.wrong(fmt.Sprintf("the target has more than %d different values, too many for classes", maxClasses), "merge rare classes, or choose another column")
	case n == 2:
		return Binary, note, nil
	}
	return Multiclass, "", nil
}

// hintOfClasses is for targets such as 1, 2, 3, which may be names as well as quantities.
func (l *Labels) hintOfClasses() string {
	if l.kind != table.Number || l.len() > fewNumbers || !l.whole() {
		return ""
	}
	return fmt.Sprintf("the target has %d different values, all whole, and is learned as a quantity: Config.Task=multiclass takes them for classes", l.len())
}

func (l *Labels) choosePositive(t *Target, positive string) error {
	if t.Task != Binary {
		return l.wrong(fmt.Sprintf("a positive class is given, %q, but the task is %s", shortened(positive), t.Task), "leave it out, or choose a target with two classes")
	}
	k, ok := t.classOf(positive)
	if !ok {
		return l.wrong(fmt.Sprintf("the target has no class %q to be the positive one", shortened(positive)), "choose "+quoted(t.Classes, "or"))
	}
	if k == 0 {
		slices.Reverse(t.Classes)
	}
	return nil
}

// skewness computes the skewness of a stream of numbers, √n Σδ³/(Σδ²)^1.5 with δ the distance from the mean, by updates
// of central moments (Pébay, 2008).
type skewness struct{ n, mean, squares, cubes float64 }

func (s *skewness) add(v float64) {
	s.n++
	from := v - s.mean
	step := from / s.n
	square := from * step * (s.n - 1)
	s.mean += step
	s.cubes += square*step*(s.n-2) - 3*step*s.squares
	s.squares += square
}

// value returns NaN for a constant, and for numbers so large that their cubes overflow.
func (s *skewness) value() float64 { return math.Sqrt(s.n) * s.cubes / math.Pow(s.squares, 1.5) }
