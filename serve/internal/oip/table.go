package oip

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/psi-shapley/psi/table"
)

// Table decodes the rows of a request into the columns of the model, in its order. Unknown columns that were not sent are
// present without cells. Table refuses more than maxRows rows, and calls reserve before it allocates memory for rows; a nil
// reserve means no limit. Errors are of type *Error, or those of reserve.
func (r *Request) Table(sig *Signature, maxRows int, reserve func(bytes int64) error) (*table.Table, error) {
	a, err := r.arrange(sig)
	if err != nil {
		return nil, err
	}
	if err := a.measure(maxRows); err != nil {
		return nil, err
	}
	if reserve != nil {
		if err := reserve(a.bytes()); err != nil {
			return nil, err
		}
	}
	return a.fill()
}

// bytes returns the memory that fill needs: for cells and masks, for the index of labels, and for decoding.
func (a *arrangement) bytes() int64 {
	const number, label, mark = 8 + 1, 4 + 1 + 100, 8 + 1
	n, wide := int64(a.n), int64(len(a.sig.Columns))
	sum := 2 * number * n // of columns that were not sent, which share them
	for j, c := range a.sig.Columns {
		if c.Kind == table.Category {
			sum += label * n
			if t := a.columns[j]; t != nil {
				sum += t.size()
			}
		} else {
			sum += number * n
		}
	}
	if a.rows != nil {
		sum += 8 * n * wide
	}
	if a.observed != nil {
		sum += mark * n * wide
	}
	return sum
}

// arrangement sorts the tensors of a request by their role.
type arrangement struct {
	sig      *Signature
	columns  []*Tensor // by column; nil if it was not sent
	rows     *Tensor   // of all columns; nil if columns were sent
	observed *Tensor   // nil if there is none
	n        int       // rows
}

func (r *Request) arrange(sig *Signature) (*arrangement, error) {
	sig.index()
	a := &arrangement{sig: sig, columns: make([]*Tensor, len(sig.Columns))}
	var extra []string
	sent := false
	for i := range r.Inputs {
		t := &r.Inputs[i]
		// Most callers send columns in the model's order.
		j, column := i, i < len(sig.Columns) && sig.Columns[i].Name == t.Name
		if !column {
			j, column = sig.places[t.Name]
		}
		switch {
		case column:
			a.columns[j], sent = t, true
		case t.Name == rowsName:
			a.rows = t
		case t.Name == observedName:
			a.observed = t
		case !slices.Contains(sig.Ignored, t.Name):
			extra = append(extra, t.Name)
		}
	}
	if len(extra) > 0 {
		return nil, invalid("leave it out, or check the spelling: metadata of the model lists its columns", "the model has no column %s", listed(extra))
	}
	for _, name := range r.Unknown {
		if _, known := sig.places[name]; !known {
			return nil, invalid("check the spelling: metadata of the model lists its columns", "the parameter \"unknown\" names %s, which is no column of the model", quoted(name))
		}
	}
	if a.rows != nil {
		if c := sig.category(); c != nil {
			return nil, invalid("send a tensor for each column", "the tensor \"rows\" holds numbers, but the model's column %s is a category", quoted(c.Name))
		}
		if sent {
			return nil, invalid("send one of them", "the request has the tensor \"rows\" and tensors of single columns")
		}
		return a, nil
	}
	var absent []string
	for j, t := range a.columns {
		if name := sig.Columns[j].Name; t == nil && !slices.Contains(r.Unknown, name) {
			absent = append(absent, name)
		}
	}
	if len(absent) > 0 {
		return nil, invalid("send a tensor of that name, or list it in the request's parameter \"unknown\"", "the request lacks the column %s", listed(absent))
	}
	return a, nil
}

// listed quotes the first few of some names.
func listed(names []string) string {
	const few = 5
	shown := make([]string, min(few, len(names)))
	for i := range shown {
		shown[i] = quoted(names[i])
	}
	if len(names) > few {
		return fmt.Sprintf("%s and %d others", strings.Join(shown, ", "), len(names)-few)
	}
	return strings.Join(shown, ", ")
}

// measure returns the number of rows, on which all tensors must agree.
func (a *arrangement) measure(maxRows int) error {
	wide := int64(len(a.sig.Columns))
	first := a.observed
	for _, t := range append(slices.Clip(a.columns), a.rows, a.observed) {
		if t == nil {
			continue
		}
		switch d := len(t.Shape); {
		case t == a.rows || t == a.observed:
			if d != 2 || t.Shape[1] != wide {
				return invalid(fmt.Sprintf("send it with a number for each of the %d columns in every row", wide), "the tensor %s has the shape %v, not [n, %d]", quoted(t.Name), t.Shape, wide)
			}
		case d != 1 && (d != 2 || t.Shape[1] != 1):
			return invalid("send one cell for each row", "the tensor %s has the shape %v, not [n] or [n, 1]", quoted(t.Name), t.Shape)
		}
		if first == a.observed {
			first = t
		}
		if t.Shape[0] != first.Shape[0] {
			return invalid("send a cell for every row; NaN or null if it is missing", "the tensor %s has %d rows, but %s has %d",
				quoted(t.Name), t.Shape[0], quoted(first.Name), first.Shape[0])
		}
	}
	switch {
	case first == nil:
		return invalid("send at least one tensor", "all columns are unknown, so that nothing says how many rows there are")
	case a.rows != nil && a.rows.Datatype == Bytes:
		return invalid("send it as FP32 or FP64", "the tensor \"rows\" is BYTES")
	case a.observed != nil && a.observed.Datatype != Bool:
		return invalid("send it as BOOL", "the tensor \"observed\" is %s", a.observed.Datatype)
	case first.Shape[0] == 0:
		return invalid("send at least one", "the request has no rows")
	case first.Shape[0] > int64(maxRows):
		return &Error{Kind: TooLarge, Message: fmt.Sprintf("the request has %d rows, but the server takes %d at once", first.Shape[0], maxRows), Remedy: "send fewer rows at a time"}
	}
	a.n = int(first.Shape[0])
	return nil
}

// fill decodes the tensors. All columns share a few arrays.
func (a *arrangement) fill() (*table.Table, error) {
	n, wide := a.n, len(a.sig.Columns)
	mask, err := a.mask()
	if err != nil {
		return nil, err
	}
	numeric, labelled := 0, 0
	for j, t := range a.columns {
		switch {
		case t == nil && a.rows == nil:
		case a.sig.Columns[j].Kind == table.Category:
			labelled++
		default:
			numeric++
		}
	}
	var all []float64 // of the tensor rows
	if a.rows != nil {
		all = make([]float64, n*wide)
		if err := a.rows.numbers(all); err != nil {
			return nil, err
		}
	}
	columns, list := make([]table.Column, wide), make([]*table.Column, wide)
	numbers, codes, marks := make([]float64, n*numeric), make([]int32, n*labelled), make([]bool, n*(numeric+labelled))
	count := a.sig.counters.Get().(*counter)
	var none *table.Column
	for j := range a.sig.Columns {
		f := fields{column: &a.sig.Columns[j], cells: &columns[j], known: a.sig.labels[j], mask: mask, place: j, wide: wide}
		c := f.cells
		c.Name, c.Kind = f.column.Name, f.column.Kind
		list[j] = c
		t := a.columns[j]
		if t == nil && a.rows == nil {
			none = empty(c, none, n)
			continue
		}
		c.Observed, marks = marks[:n:n], marks[n:]
		switch {
		case c.Kind == table.Category:
			c.Codes, codes = codes[:n:n], codes[n:]
			err = f.labels(t, count)
		default:
			c.Numbers, numbers = numbers[:n:n], numbers[n:]
			switch {
			case a.rows != nil:
				for i := range c.Numbers {
					c.Numbers[i] = all[i*wide+j]
				}
				err = f.check()
			case t.Datatype == Bytes:
				err = f.parse(t)
			default:
				if err = t.numbers(c.Numbers); err == nil {
					err = f.check()
				}
			}
		}
		if err != nil {
			return nil, err
		}
	}
	a.sig.counters.Put(count) // after an error it may not be ready for another
	return &table.Table{Columns: list}, nil
}

// mask decodes the tensor observed; nil if there is none.
func (a *arrangement) mask() ([]bool, error) {
	if a.observed == nil {
		return nil, nil
	}
	if a.observed.typed != nil {
		return a.observed.typed.BoolContents, nil
	}
	values := make([]float64, a.observed.elements)
	if err := a.observed.numbers(values); err != nil {
		return nil, err
	}
	mask := make([]bool, len(values))
	for i, v := range values {
		if math.IsNaN(v) {
			return nil, invalid("send true or false", "the tensor \"observed\" has a missing element")
		}
		mask[i] = v == 1
	}
	return mask, nil
}

// empty makes a column without cells. All such columns share their arrays.
func empty(c, before *table.Column, n int) *table.Column {
	if before == nil {
		before = &table.Column{Observed: make([]bool, n), Numbers: make([]float64, n), Codes: slices.Repeat([]int32{-1}, n)}
	}
	c.Observed = before.Observed
	if c.Kind == table.Category {
		c.Codes = before.Codes
	} else {
		c.Numbers = before.Numbers
	}
	return before
}

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
			return f.invalidNumber(i, v)
		}
		f.cells.Observed[i] = true
	}
	return nil
}

func (f *fields) invalidNumber(row int, v float64) error {
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
			return f.invalidNumber(i, v)
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
