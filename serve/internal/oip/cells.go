package oip

import (
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/psi-shapley/psi/table"
)

// fields fills the cells of one column.
type fields struct {
	column *Column
	cells  *table.Column
	known  map[string]int // places of the labels that the model knows
	mask   []bool         // of all columns; nil if there is none
	place  int            // of the column among all
	wide   int
}

func (f *fields) hidden(row int) bool { return len(f.mask) > 0 && !f.mask[row*f.wide+f.place] }

func (f *fields) wrong(row int, remedy, format string, args ...any) error {
	return invalid(remedy, "row %d, column %s: %s", row, quoted(f.column.Name), fmt.Sprintf(format, args...))
}

// check marks what is observed of numbers that are there.
func (f *fields) check() error {
	for i, v := range f.cells.Numbers {
		if math.IsNaN(v) || f.hidden(i) {
			f.cells.Numbers[i] = 0
			continue
		}
		if !f.column.Kind.Holds(v) {
			return f.unheld(i, v)
		}
		f.cells.Observed[i] = true
	}
	return nil
}

func (f *fields) unheld(row int, v float64) error {
	switch f.column.Kind {
	case table.Boolean:
		return f.wrong(row, "send true or false, 1 or 0", "%v is not a boolean", v)
	case table.Time:
		return f.wrong(row, "send seconds since 1970, or text such as 2024-02-29T12:00:00Z", "the time %v lies outside the years 1 to 9999", v)
	default:
		return f.wrong(row, "send a finite number, or NaN or null if it is missing", "%v is infinite or too large", v)
	}
}

// parse reads texts as CSV has them.
func (f *fields) parse(t *Tensor) error {
	cells := t.texts()
	for i := range f.cells.Numbers {
		cell, null := cells.cell()
		if null || f.hidden(i) || table.Missing(cell) {
			continue
		}
		v, ok := f.column.Kind.Parse(cell)
		if !ok {
			return f.wrong(i, "send one, or null or an empty text if it is missing", "%s is not a %s", quoted(cell), f.column.Kind)
		}
		if !f.column.Kind.Holds(v) {
			return f.unheld(i, v)
		}
		f.cells.Numbers[i], f.cells.Observed[i] = v, true
	}
	return nil
}

// labels numbers the labels of a category in order of first appearance. Their texts are the model's where it knows them.
func (f *fields) labels(t *Tensor) error {
	if t.Datatype != Bytes {
		return invalid("send its labels as BYTES", "the column %s is a category, but the tensor is %s", quoted(f.column.Name), t.Datatype)
	}
	const few = 16 // up to which comparing with each is cheaper than a map
	var room [few]string
	levels, places := room[:0], map[string]int32(nil)
	cells := t.texts()
	for i := range f.cells.Codes {
		f.cells.Codes[i] = -1
		cell, null := cells.cell()
		if null || f.hidden(i) {
			continue
		}
		code, found := int32(0), false
		if places != nil {
			code, found = places[string(cell)]
		} else if k := slices.IndexFunc(levels, func(level string) bool { return level == string(cell) }); k >= 0 {
			code, found = int32(k), true
		}
		if !found {
			var label string
			if k, known := f.known[string(cell)]; known {
				label = f.column.Labels[k]
			} else {
				if table.Missing(cell) {
					continue
				}
				if !utf8.Valid(cell) {
					return f.wrong(i, "encode labels in UTF-8", "%s is not UTF-8 text", quoted(cell))
				}
				label = string(cell)
			}
			code = int32(len(levels))
			levels = append(levels, label)
			if len(levels) > few {
				if places == nil {
					places = make(map[string]int32)
					for k, level := range levels {
						places[level] = int32(k)
					}
				}
				places[label] = code
			}
		}
		f.cells.Codes[i], f.cells.Observed[i] = code, true
	}
	f.cells.Levels = slices.Clone(levels)
	return nil
}
