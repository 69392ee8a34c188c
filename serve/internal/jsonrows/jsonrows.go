// Package jsonrows makes tables of rows that come as JSON: as lists of cells or as objects, row by row or column by column.
package jsonrows

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/psi-shapley/psi/table"
)

// Shape is what rows must be like.
type Shape struct {
	Columns []Column // in the model's order
	Unknown []string // columns that rows may lack
	Most    int      // rows
}

// Column is an input of a model.
type Column struct {
	Name    string
	Kind    table.Kind
	Labels  []string // of a category, those that the model knows
	Missing []string // texts that mean missing, beside the usual ones
}

// cells of a column, gathered row by row.
type cells struct {
	Column
	numbers  []float64
	labels   []string
	observed []bool
}

// builder gathers rows.
type builder struct {
	Shape
	cells []cells
	at    map[string]int
	rows  int
}

func (s Shape) builder() *builder {
	b := &builder{Shape: s, at: map[string]int{}}
	for i, c := range s.Columns {
		b.cells = append(b.cells, cells{Column: c})
		b.at[c.Name] = i
	}
	return b
}

// wrong is an error of a cell; a row of −1 is that of none, and a column may be "".
func wrong(row int, column, remedy, format string, values ...any) error {
	return &table.Error{Row: row, Column: column, Message: fmt.Sprintf(format, values...), Remedy: remedy}
}

// TooManyError is more rows than a request may have.
type TooManyError struct{ Most int }

func (e *TooManyError) Error() string {
	return fmt.Sprintf("the request has more than %d rows: send them in several", e.Most)
}

// Rows reads a list of rows: each a list of cells in the order of the columns, or an object by their names.
func (s Shape) Rows(list json.RawMessage) (*table.Table, error) {
	b := s.builder()
	err := each(list, "rows", s.Most, func(i int, row json.RawMessage) error {
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

// Split reads rows that are lists of cells in the order of names, which come with them.
func (s Shape) Split(names []string, list json.RawMessage) (*table.Table, error) {
	b := s.builder()
	places, err := b.places(names)
	if err != nil {
		return nil, err
	}
	err = each(list, "rows", s.Most, func(i int, row json.RawMessage) error {
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

// places are those of names among the columns, −1 for what is no input of the model.
func (b *builder) places(names []string) ([]int, error) {
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
	return wrong(row, column, `send it, null if its value is not known, or name it in "unknown"`, "the column is not there")
}

// ByColumn reads an object of lists of cells by the names of the columns.
func (s Shape) ByColumn(object json.RawMessage) (*table.Table, error) {
	b := s.builder()
	rows := -1
	seen := map[string]bool{}
	err := fields(object, len(s.Columns)+maxExtra, func(name string, list json.RawMessage) error {
		at, is := b.at[name]
		if !is {
			return nil
		}
		seen[name] = true
		if len(list) == 0 || list[0] != '[' {
			list = slices.Concat([]byte{'['}, list, []byte{']'}) // one row
		}
		n := 0
		err := each(list, name, s.Most, func(i int, cell json.RawMessage) error {
			n++
			if len(cell) > 0 && cell[0] == '[' { // [n, 1]
				inner, err := only(cell)
				if err != nil {
					return wrong(i, name, "send one cell for each row", "there are several cells")
				}
				cell = inner
			}
			return b.cells[at].add(i, cell)
		})
		if err == nil && rows >= 0 && n != rows {
			err = wrong(-1, name, "send as many cells for each column", "the column has %d cells, others have %d", n, rows)
		}
		rows = n
		return err
	})
	if err != nil {
		return nil, err
	}
	b.rows = max(rows, 0)
	for _, c := range s.Columns {
		if !seen[c.Name] && !slices.Contains(s.Unknown, c.Name) {
			return nil, b.absent(-1, c.Name)
		}
	}
	return b.table()
}

// only is the single element of a list.
func only(list json.RawMessage) (json.RawMessage, error) {
	var one []json.RawMessage
	if err := json.Unmarshal(list, &one); err != nil || len(one) != 1 {
		return nil, errors.New("not one")
	}
	return one[0], nil
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

// maxExtra fields of a row may be no inputs of the model.
const maxExtra = 1000

func (b *builder) object(row int, object json.RawMessage) error {
	err := fields(object, len(b.cells)+maxExtra, func(name string, cell json.RawMessage) error {
		at, is := b.at[name]
		if !is {
			return nil
		}
		if len(b.cells[at].observed) == b.rows {
			return wrong(row, name, "send each column once", "the column is there twice")
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

// table is the rows so far.
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

// add takes a cell: null is missing.
func (c *cells) add(row int, cell json.RawMessage) error {
	switch cell[0] {
	case 'n':
		c.put(0, "", false)
		return nil
	case '[', '{':
		return wrong(row, c.Name, "send a number, a text, true, false or null", "the cell is a list or an object")
	case '"':
		var text string
		if err := json.Unmarshal(cell, &text); err != nil {
			return err
		}
		return c.text(row, text)
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
	return c.misfit(row, text)
}

// text takes a cell of text.
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
	if value, ok := c.Kind.Parse([]byte(text)); ok && !math.IsInf(value, 0) {
		c.put(value, "", true)
		return nil
	}
	return c.misfit(row, text)
}

// misfit is the error of a cell that is not of its column's kind.
func (c *cells) misfit(row int, text string) error {
	const most = 40
	if len(text) > most {
		text = text[:most] + "…"
	}
	return wrong(row, c.Name, "send a "+c.Kind.String()+", or null if it is not known", "%q is not a %s", text, c.Kind)
}

// each calls f with the elements of a list, at most so many.
func each(list json.RawMessage, what string, most int, f func(i int, element json.RawMessage) error) error {
	d, err := decoder(list, '[', what+" is not a list")
	if err != nil {
		return err
	}
	for i := 0; d.More(); i++ {
		if i == most {
			return &TooManyError{most}
		}
		var element json.RawMessage
		if err := d.Decode(&element); err != nil {
			return Syntax(err)
		}
		if err := f(i, element); err != nil {
			return err
		}
	}
	return nil
}

// fields calls f with the fields of an object, at most so many.
func fields(object json.RawMessage, most int, f func(name string, value json.RawMessage) error) error {
	d, err := decoder(object, '{', "it is not an object")
	if err != nil {
		return err
	}
	for i := 0; d.More(); i++ {
		if i == most {
			return wrong(-1, "", "send the model's columns alone", "an object has more than %d fields", most)
		}
		name, err := d.Token()
		if err != nil {
			return Syntax(err)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return Syntax(err)
		}
		if err := f(name.(string), value); err != nil { // a field's name is a string, or Token had failed
			return err
		}
	}
	return nil
}

func decoder(of json.RawMessage, opening json.Delim, otherwise string) (*json.Decoder, error) {
	d := json.NewDecoder(bytes.NewReader(of))
	first, err := d.Token()
	if errors.Is(err, io.EOF) || err == nil && first != opening {
		return nil, wrong(-1, "", "see /openapi.json for what a request looks like", "%s", otherwise)
	}
	return d, Syntax(err)
}

// Syntax turns an error of the JSON reader into one for the caller; nil stays nil.
func Syntax(err error) error {
	if err == nil {
		return nil
	}
	return wrong(-1, "", "send JSON in UTF-8; a missing cell is null, for JSON has no NaN", "the body is not JSON: %s", err)
}

// Check refuses what is not JSON in UTF-8.
func Check(body []byte) error {
	if !utf8.Valid(body) {
		return wrong(-1, "", "send JSON in UTF-8", "the body is not UTF-8")
	}
	if !json.Valid(body) {
		var v json.RawMessage
		return Syntax(json.Unmarshal(body, &v))
	}
	return nil
}
