package oip

import (
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/psi-shapley/psi/table"
)

// fields decodes the cells of one column.
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

// check marks which numbers are observed.
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

// parse parses texts as in CSV files.
func (f *fields) parse(t *Tensor) error {
	cells := t.texts()
	for i := range f.cells.Numbers {
		cell, null := cells.cell()
		if null || f.hidden(i) || table.Missing(cell) {
			continue
		}
		v, ok := f.column.Reading.Parse(f.column.Kind, cell)
		if !ok && f.column.Reading != nil {
			continue // text that does not fit a reading is missing
		}
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

// labels numbers the labels of a category in the order of their first appearance.
func (f *fields) labels(t *Tensor, count *counter) error {
	if t.Datatype != Bytes {
		return invalid("send its labels as BYTES", "the column %s is a category, but the tensor is %s", quoted(f.column.Name), t.Datatype)
	}
	cells := t.texts()
	for i := range f.cells.Codes {
		f.cells.Codes[i] = -1
		cell, null := cells.cell()
		if null || f.hidden(i) {
			continue
		}
		var code int32
		if place, known := f.known[string(cell)]; known {
			code = count.known(place, f.column.Labels[place])
		} else {
			if table.Missing(cell) {
				continue
			}
			if !utf8.Valid(cell) {
				return f.wrong(i, "encode labels in UTF-8", "%s is not UTF-8 text", quoted(cell))
			}
			code = count.other(cell)
		}
		f.cells.Codes[i], f.cells.Observed[i] = code, true
	}
	f.cells.Levels = count.take()
	return nil
}

// counter numbers the labels of one column after another.
type counter struct {
	levels []string // met so far
	codes  []int32  // by the place of a known label, 1 above what it is; 0 if it was not met
	met    []int    // places of the known labels among levels
	others map[string]int32
}

func newCounter(labels int) *counter { return &counter{codes: make([]int32, labels)} }

// known returns the code of a label that the model knows.
func (c *counter) known(place int, label string) int32 {
	if c.codes[place] == 0 {
		c.levels = append(c.levels, label)
		c.met = append(c.met, place)
		c.codes[place] = int32(len(c.levels))
	}
	return c.codes[place] - 1
}

// other returns the code of a label that the model does not know.
func (c *counter) other(cell []byte) int32 {
	code, met := c.others[string(cell)]
	if !met {
		if c.others == nil {
			c.others = make(map[string]int32)
		}
		code = int32(len(c.levels))
		label := string(cell)
		c.levels = append(c.levels, label)
		c.others[label] = code
	}
	return code
}

// take returns the labels found, and resets the counter for another column.
func (c *counter) take() []string {
	levels := slices.Clone(c.levels)
	for _, place := range c.met {
		c.codes[place] = 0
	}
	clear(c.levels) // of texts that are the request's
	c.levels, c.met, c.others = c.levels[:0], c.met[:0], nil
	return levels
}
