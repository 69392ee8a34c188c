package table

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// Column is a typed column. Cells where Observed is false are missing; their Numbers entry is 0 and their Codes entry
// −1.
type Column struct {
	Name     string
	Kind     Kind
	Observed []bool
	Numbers  []float64 // Number; Boolean as 0/1; Time as Unix seconds UTC, to the microsecond
	Codes    []int32   // Category: index into Levels

	// Levels lists the distinct labels of a Category, in order of first appearance. A Boolean may keep the two words
	// that its file used for false and true; nil stands for "false", "true".
	Levels []string

	// Reason explains to users why a reader chose Kind. It is empty for columns made by a program.
	Reason string

	remarks []string // notes of the reader that the typed cells no longer show
	reading *Reading // how the cells were parsed
}

// NumberColumn returns a Number column. A nil observed means that every cell but NaN is observed; NaN is always
// missing.
func NumberColumn(name string, values []float64, observed []bool) *Column {
	c := &Column{Name: name, Kind: Number, Numbers: slices.Clone(values), Observed: observedOrAll(observed, len(values))}
	for i, v := range values {
		if i < len(c.Observed) && (math.IsNaN(v) || !c.Observed[i]) {
			c.Observed[i], c.Numbers[i] = false, 0
		}
	}
	return c
}

// BooleanColumn returns a Boolean column. A nil observed means that every cell is observed.
func BooleanColumn(name string, values, observed []bool) *Column {
	c := &Column{Name: name, Kind: Boolean, Numbers: make([]float64, len(values)), Observed: observedOrAll(observed, len(values))}
	for i, v := range values {
		if v && i < len(c.Observed) && c.Observed[i] {
			c.Numbers[i] = 1
		}
	}
	return c
}

// TimeColumn returns a Time column. A nil observed means that every cell but the zero time is observed.
func TimeColumn(name string, values []time.Time, observed []bool) *Column {
	c := &Column{Name: name, Kind: Time, Numbers: make([]float64, len(values)), Observed: observedOrAll(observed, len(values))}
	for i, v := range values {
		if i >= len(c.Observed) {
			break
		}
		if observed == nil && v.IsZero() {
			c.Observed[i] = false
		}
		if c.Observed[i] {
			c.Numbers[i] = secondsOf(v.UnixMicro(), microsPerSecond)
		}
	}
	return c
}

// CategoryColumn returns a Category column. A nil observed means that every cell is observed, including empty labels.
func CategoryColumn(name string, labels []string, observed []bool) *Column {
	c := &Column{Name: name, Kind: Category, Codes: make([]int32, len(labels)), Observed: observedOrAll(observed, len(labels))}
	codes := make(map[string]int32)
	for i, label := range labels {
		if i < len(c.Observed) && !c.Observed[i] {
			c.Codes[i] = -1
			continue
		}
		code, known := codes[label]
		if !known {
			code = int32(len(c.Levels))
			codes[label] = code
			c.Levels = append(c.Levels, label)
		}
		c.Codes[i] = code
	}
	return c
}

func observedOrAll(observed []bool, n int) []bool {
	if observed != nil {
		return slices.Clone(observed)
	}
	return slices.Repeat([]bool{true}, n)
}

// Bytes of an observed mark with a number or a code.
const (
	numberBytes = 1 + 8
	codeBytes   = 1 + 4
)

// bytes returns the memory of a column of the kind, without its labels.
func (k Kind) bytes(rows int) int64 {
	if k == Category {
		return codeBytes * int64(rows)
	}
	return numberBytes * int64(rows)
}

// Len returns the number of cells.
func (c *Column) Len() int { return len(c.Observed) }

// Text returns the cell as a user would write it; a missing cell is empty.
func (c *Column) Text(row int) string { return string(c.appendText(nil, row)) }

func (c *Column) appendText(text []byte, row int) []byte {
	if !c.Observed[row] {
		return text
	}
	switch c.Kind {
	case Category:
		return append(text, c.Levels[c.Codes[row]]...)
	case Boolean:
		return append(text, c.words()[int(c.Numbers[row])]...)
	case Time:
		return appendTime(text, c.Numbers[row])
	default:
		return appendNumber(text, c.Numbers[row])
	}
}

// words returns the texts of a Boolean's false and true.
func (c *Column) words() [2]string {
	if len(c.Levels) == 2 {
		return [2]string{c.Levels[0], c.Levels[1]}
	}
	return [2]string{"false", "true"}
}

// appendNumber writes v with the fewest digits that read back as v. It uses no exponent for numbers that people write
// without one.
func appendNumber(text []byte, v float64) []byte {
	if size := math.Abs(v); size != 0 && (size < 1e-6 || size >= 1e21) {
		return strconv.AppendFloat(text, v, 'e', -1, 64)
	}
	return strconv.AppendFloat(text, v, 'f', -1, 64)
}

// selectRows copies the given rows.
func (c *Column) selectRows(rows []int) *Column {
	selected := *c
	selected.Observed = pick(c.Observed, rows)
	selected.Numbers = pick(c.Numbers, rows)
	selected.Codes = pick(c.Codes, rows)
	return &selected
}

func pick[T any](from []T, rows []int) []T {
	if from == nil {
		return nil
	}
	picked := make([]T, len(rows))
	for i, row := range rows {
		picked[i] = from[row]
	}
	return picked
}

// slice returns a view of rows [from, to) that shares memory with c. Its capacity ends at to, so appending to the view
// cannot overwrite later rows.
func (c *Column) slice(from, to int) *Column {
	view := *c
	view.Observed = c.Observed[from:to:to]
	if c.Numbers != nil {
		view.Numbers = c.Numbers[from:to:to]
	}
	if c.Codes != nil {
		view.Codes = c.Codes[from:to:to]
	}
	return &view
}

// check returns an error if the column contradicts its kind.
func (c *Column) check() error {
	if c.Name == "" {
		return &Error{Row: noRow, Message: "a column has no name", Remedy: "give every column a name"}
	}
	wrong := func(row int, format string, args ...any) error {
		return &Error{Row: row, Column: c.Name, Message: fmt.Sprintf(format, args...)}
	}
	cells := len(c.Numbers)
	if c.Kind == Category {
		cells = len(c.Codes)
	}
	if cells != len(c.Observed) {
		return wrong(noRow, "the column has %d %s cells but %d observed marks", cells, c.Kind, len(c.Observed))
	}
	for row, observed := range c.Observed {
		if !observed {
			continue
		}
		switch c.Kind {
		case Number:
			if v := c.Numbers[row]; math.IsNaN(v) || math.IsInf(v, 0) {
				return wrong(row, "%v is observed but not a finite number", v)
			}
		case Boolean:
			if v := c.Numbers[row]; v != 0 && v != 1 {
				return wrong(row, "a boolean is 0 or 1, not %v", v)
			}
		case Time:
			if v := c.Numbers[row]; !inCalendar(v) {
				return wrong(row, "the time %v lies outside the years 1 to 9999", v)
			}
		case Category:
			if code := c.Codes[row]; code < 0 || int(code) >= len(c.Levels) {
				return wrong(row, "code %d is outside the %d levels", code, len(c.Levels))
			}
		default:
			return wrong(noRow, "unknown column kind %d", uint8(c.Kind))
		}
	}
	return nil
}
