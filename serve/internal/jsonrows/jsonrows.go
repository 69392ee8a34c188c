// Package jsonrows makes tables of rows in JSON: lists of cells or objects, row by row or column by column.
package jsonrows

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/psi-shapley/psi/table"
)

// Shape describes the rows that a model takes.
type Shape struct {
	Columns []Column // in the model's order
	Unknown []string // columns that rows may omit
	MaxRows int      // maximum number of rows
	Whole   bool     // rows must have all columns: the errors do not recommend "unknown"

	Reserve func(bytes int64) error // called before memory is allocated for rows; nil means no limit
}

// Column is an input of a model.
type Column struct {
	Name    string
	Kind    table.Kind
	Labels  []string       // labels of a category that the model knows
	Missing []string       // strings to treat as missing, beside the usual ones
	Reading *table.Reading // how text is parsed; nil means plain numbers only
}

// cells holds the cells of a column while they are read.
type cells struct {
	Column
	numbers  []float64
	labels   []string
	observed []bool
}

// builder collects rows.
type builder struct {
	Shape
	cells []cells
	at    map[string]int
	rows  int
}

// Bytes of a cell, beside those of its text.
const (
	numberBytes = 8 + 1
	labelBytes  = 16 + 1 + 4 + 100 // the text, whether it is observed, its code, and its place among the levels
)

// builder reserves the memory for the rows of a text.
func (s Shape) builder(rows int, text json.RawMessage) (*builder, error) {
	bytes, labels := 0, 0
	for _, c := range s.Columns {
		if c.Kind == table.Category {
			bytes, labels = bytes+labelBytes, len(text)
		} else {
			bytes += numberBytes
		}
	}
	if s.Reserve != nil {
		if err := s.Reserve(int64(rows)*int64(bytes) + int64(labels)); err != nil {
			return nil, err
		}
	}
	b := &builder{Shape: s, cells: make([]cells, len(s.Columns)), at: s.places()}
	for i, c := range s.Columns {
		b.cells[i] = cells{Column: c, observed: make([]bool, 0, rows)}
		if c.Kind == table.Category {
			b.cells[i].labels = make([]string, 0, rows)
		} else {
			b.cells[i].numbers = make([]float64, 0, rows)
		}
	}
	return b, nil
}

// places returns the positions of the columns, by name.
func (s Shape) places() map[string]int {
	at := make(map[string]int, len(s.Columns))
	for i, c := range s.Columns {
		at[c.Name] = i
	}
	return at
}

// wrong returns the error of a cell. A row of −1 and a column of "" mean none.
func wrong(row int, column, remedy, format string, values ...any) error {
	return &table.Error{Row: row, Column: column, Message: fmt.Sprintf(format, values...), Remedy: remedy}
}

// Rows parses a list of rows: each a list of cells in the order of the columns, or an object by their names. Errors are of
// type *table.Error or *TooManyError, or those of Reserve.
func (s Shape) Rows(list json.RawMessage) (*table.Table, error) {
	n, err := count(list, "rows", s.MaxRows)
	if err != nil {
		return nil, err
	}
	b, err := s.builder(n, list)
	if err != nil {
		return nil, err
	}
	err = each(list, "rows", s.MaxRows, func(i int, row json.RawMessage) error {
		b.rows++
		switch row[0] {
		case '[':
			return b.list(i, row)
		case '{':
			return b.object(i, row)
		}
		return wrong(i, "", "send each row as a list of cells or as an object", "the row is neither a list nor an object")
	})
	if err != nil {
		return nil, err
	}
	return b.table()
}

// Split parses rows that are lists of cells, in the order of the given names. Errors are those of Rows.
func (s Shape) Split(names []string, list json.RawMessage) (*table.Table, error) {
	n, err := count(list, "rows", s.MaxRows)
	if err != nil {
		return nil, err
	}
	b, err := s.builder(n, list)
	if err != nil {
		return nil, err
	}
	places, err := b.find(names)
	if err != nil {
		return nil, err
	}
	err = each(list, "rows", s.MaxRows, func(i int, row json.RawMessage) error {
		b.rows++
		n := 0
		err := each(row, fmt.Sprintf("row %d", i), len(names), func(j int, cell json.RawMessage) error {
			n++
			if places[j] < 0 {
				return nil
			}
			return b.cells[places[j]].add(i, cell)
		})
		if err == nil && n != len(names) {
			err = wrong(i, "", "send a cell for each of the columns", "the row has %d cells, but %d columns are named", n, len(names))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return b.table()
}

// find returns the positions of names among the columns, −1 for names that are no inputs of the model.
func (b *builder) find(names []string) ([]int, error) {
	places := make([]int, len(names))
	seen := map[string]bool{}
	for j, name := range names {
		if seen[name] {
			return nil, wrong(-1, name, "send each column once", "the column is named twice")
		}
		seen[name] = true
		places[j] = -1
		if at, is := b.at[name]; is {
			places[j] = at
		}
	}
	for _, c := range b.Columns {
		if !seen[c.Name] && !slices.Contains(b.Unknown, c.Name) {
			return nil, b.absent(-1, c.Name)
		}
	}
	return places, nil
}

func (b *builder) absent(row int, column string) error {
	remedy := `send it, null if its value is not known, or name it in "unknown"`
	if b.Whole {
		remedy = "send it, null if its value is not known"
	}
	return wrong(row, column, remedy, "the column is not there")
}

// ByColumn parses an object of lists of cells, by the names of the columns. Errors are those of Rows.
func (s Shape) ByColumn(object json.RawMessage) (*table.Table, error) {
	places := s.places()
	rows := 0
	err := Fields(object, len(s.Columns)+maxExtra, func(name, cells []byte) error {
		if _, is := places[string(name)]; !is {
			return nil
		}
		n, err := 1, error(nil)
		if cells[0] == '[' {
			n, err = count(cells, string(name), s.MaxRows)
		}
		rows = max(rows, n)
		return err
	})
	if err != nil {
		return nil, err
	}
	b, err := s.builder(rows, object)
	if err != nil {
		return nil, err
	}
	b.rows = rows
	seen := map[string]bool{}
	err = Fields(object, len(s.Columns)+maxExtra, func(name, cells []byte) error {
		at, is := b.at[string(name)]
		if !is {
			return nil
		}
		if seen[string(name)] {
			return wrong(-1, string(name), "send each column once", "the column is there twice")
		}
		seen[string(name)] = true
		return b.column(&b.cells[at], cells)
	})
	if err != nil {
		return nil, err
	}
	for _, c := range s.Columns {
		if !seen[c.Name] && !slices.Contains(s.Unknown, c.Name) {
			return nil, b.absent(-1, c.Name)
		}
	}
	return b.table()
}

// column parses the cells of a column: a list, or the one cell of one row.
func (b *builder) column(c *cells, list json.RawMessage) error {
	if list[0] != '[' {
		if err := c.add(0, list); err != nil {
			return err
		}
	} else if err := each(list, c.Name, b.MaxRows, func(i int, cell json.RawMessage) error {
		if cell[0] == '[' { // [n, 1]
			inner, err := only(cell)
			if err != nil {
				return wrong(i, c.Name, "send one cell for each row", "there are several cells")
			}
			cell = inner
		}
		return c.add(i, cell)
	}); err != nil {
		return err
	}
	if n := len(c.observed); n != b.rows {
		return wrong(-1, c.Name, "send as many cells for each column", "the column has %d cells, others have %d", n, b.rows)
	}
	return nil
}

// only returns the single element of a list.
func only(list json.RawMessage) (one json.RawMessage, err error) {
	n := 0
	err = each(list, "a cell", 1, func(_ int, element json.RawMessage) error {
		one = element
		n++
		return nil
	})
	if err == nil && n == 0 {
		err = errors.New("there is none")
	}
	return one, err
}

func (b *builder) list(row int, list json.RawMessage) error {
	n := 0
	err := each(list, fmt.Sprintf("row %d", row), len(b.cells), func(j int, cell json.RawMessage) error {
		n++
		return b.cells[j].add(row, cell)
	})
	var many *TooManyError
	if errors.As(err, &many) || err == nil && n != len(b.cells) {
		return wrong(row, "", "send a cell for each column of the model, in its order, or an object by their names", "the row does not have %d cells", len(b.cells))
	}
	return err
}

// maxExtra is the maximum number of fields of a row that are no inputs of the model.
const maxExtra = 1000

func (b *builder) object(row int, object json.RawMessage) error {
	err := Fields(object, len(b.cells)+maxExtra, func(name, cell []byte) error {
		at, is := b.at[string(name)]
		if !is {
			return nil
		}
		if len(b.cells[at].observed) == b.rows {
			return wrong(row, string(name), "send each column once", "the column is there twice")
		}
		return b.cells[at].add(row, cell)
	})
	if err != nil {
		return err
	}
	for i := range b.cells {
		if c := &b.cells[i]; len(c.observed) < b.rows {
			if !slices.Contains(b.Unknown, c.Name) {
				return b.absent(row, c.Name)
			}
			c.put(0, "", false)
		}
	}
	return nil
}

// table returns the rows so far.
func (b *builder) table() (*table.Table, error) {
	if b.rows == 0 {
		return nil, wrong(-1, "", "send at least one", "there are no rows")
	}
	columns := make([]*table.Column, len(b.cells))
	for i := range b.cells {
		c := &b.cells[i]
		for len(c.observed) < b.rows { // an unknown column that was not sent
			c.put(0, "", false)
		}
		if c.Kind == table.Category {
			columns[i] = table.CategoryColumn(c.Name, c.labels, c.observed)
		} else {
			columns[i] = &table.Column{Name: c.Name, Kind: c.Kind, Numbers: c.numbers, Observed: c.observed}
		}
	}
	return table.New(columns...)
}

func (c *cells) put(number float64, label string, observed bool) {
	c.observed = append(c.observed, observed)
	if c.Kind == table.Category {
		c.labels = append(c.labels, label)
	} else {
		c.numbers = append(c.numbers, number)
	}
}

// add appends a cell. Null is missing.
func (c *cells) add(row int, cell json.RawMessage) error {
	switch cell[0] {
	case 'n':
		c.put(0, "", false)
		return nil
	case '[', '{':
		return wrong(row, c.Name, "send a number, a text, true, false or null", "the cell is a list or an object")
	case '"':
		t, err := text(cell)
		if err != nil {
			return err
		}
		return c.text(row, string(t))
	}
	text := string(cell) // a number, true or false
	if c.Kind == table.Category {
		c.put(0, text, true)
		return nil
	}
	if value, err := strconv.ParseFloat(text, 64); err == nil && c.Kind.Holds(value) {
		c.put(value, "", true)
		return nil
	}
	if c.Kind == table.Boolean && (text == "true" || text == "false") {
		value := 0.0
		if text == "true" {
			value = 1
		}
		c.put(value, "", true)
		return nil
	}
	return c.kindError(row, text)
}

// text appends a cell of text.
func (c *cells) text(row int, text string) error {
	known := c.Kind == table.Category && slices.Contains(c.Labels, text)
	switch {
	case !known && (table.Missing([]byte(text)) || slices.Contains(c.Missing, text)):
		c.put(0, "", false)
		return nil
	case c.Kind == table.Category:
		c.put(0, text, true)
		return nil
	}
	if value, ok := c.Reading.Parse(c.Kind, []byte(text)); ok && !math.IsInf(value, 0) {
		c.put(value, "", true)
		return nil
	}
	if c.Reading != nil { // text that does not fit is missing
		c.put(0, "", false)
		return nil
	}
	return c.kindError(row, text)
}

// kindError returns the error of a cell that does not have its column's kind.
func (c *cells) kindError(row int, text string) error {
	const limit = 40
	if len(text) > limit {
		text = text[:limit] + "…"
	}
	return wrong(row, c.Name, "send a "+c.Kind.String()+", or null if it is not known", "%q is not a %s", text, c.Kind)
}
