package table

import (
	"fmt"

	"github.com/psi-shapley/psi/internal/prose"
)

// Field describes one column.
type Field struct {
	Name   string   `json:"name"`
	Kind   Kind     `json:"kind"`
	Reason string   `json:"reason"`          // why the column has this kind, for users
	Notes  []string `json:"notes,omitempty"` // remarks for users before they train on the column

	Reading *Reading `json:"reading,omitempty"` // nil for text in plain notation
}

// Notes on the cells of a column. A stream has examined only its first rows.
const (
	NoteEmpty      = "every cell is missing: the column can say nothing"
	NoteConstant   = "every observed cell is the same: the column can say nothing but whether it is missing"
	NoteIdentifies = "every label is different: the column seems to identify rows rather than to describe them"
	NoteCounts     = "the numbers count up by one from row to row: the column seems to be a row number"
)

// Schema describes the columns of a table or source, in order.
type Schema struct {
	Fields []Field `json:"fields"`
}

// Field returns the field with the given name, or nil if there is none.
func (s *Schema) Field(name string) *Field {
	for i := range s.Fields {
		if s.Fields[i].Name == name {
			return &s.Fields[i]
		}
	}
	return nil
}

// Schema describes the table's columns. It examines every cell.
func (t *Table) Schema() *Schema { return schemaOf(t) }

// schemaOf describes the columns of a table given in parts.
func schemaOf(parts ...*Table) *Schema {
	schema := &Schema{Fields: make([]Field, len(parts[0].Columns))}
	column := make([]*Column, len(parts))
	for i := range schema.Fields {
		for k, part := range parts {
			column[k] = part.Columns[i]
		}
		schema.Fields[i] = describe(column...)
	}
	return schema
}

// empty returns a table without rows that has the schema's columns.
func (s *Schema) empty() *Table {
	t := &Table{}
	for _, f := range s.Fields {
		c := &Column{Name: f.Name, Kind: f.Kind, Reason: f.Reason, Observed: []bool{}}
		if f.Kind == Category {
			c.Codes = []int32{}
		} else {
			c.Numbers = []float64{}
		}
		t.Columns = append(t.Columns, c)
	}
	return t
}

// describe combines the reader's notes on a column with what its cells show. The column is given in parts; the last
// part has all its levels.
func describe(parts ...*Column) Field {
	c := parts[len(parts)-1]
	field := Field{Name: c.Name, Kind: c.Kind, Reason: c.Reason, Notes: append([]string(nil), c.remarks...), Reading: c.reading}
	if field.Reason == "" {
		field.Reason = "given as " + c.Kind.String()
	}
	rows, observed := 0, 0
	for _, part := range parts {
		rows += part.Len()
		for _, o := range part.Observed {
			if o {
				observed++
			}
		}
	}
	note := func(text string) { field.Notes = append(field.Notes, text) }
	if observed == 0 {
		if rows > 0 {
			note(NoteEmpty)
		}
		return field
	}

	distinct := distinctCells(parts)
	what := "values"
	if c.Kind == Category {
		what = "labels"
	}
	switch {
	case distinct == 1:
		field.Reason += fmt.Sprintf("; 1 distinct %s", what[:len(what)-1])
		note(NoteConstant)
	case distinct > maxCounted && c.Kind != Category:
		field.Reason += fmt.Sprintf("; more than %s distinct %s", prose.Thousands(maxCounted), what)
	default:
		field.Reason += fmt.Sprintf("; %s distinct %s", prose.Thousands(distinct), what)
	}

	const enough = 20 // with fewer rows, distinct cells mean little
	if observed >= enough {
		switch {
		case c.Kind == Category && distinct == observed:
			note(NoteIdentifies)
		case c.Kind == Number && countsUp(parts):
			note(NoteCounts)
		case c.Kind == Number && distinct <= maxCodes && likelyCodes(parts, observed):
			note(fmt.Sprintf("its %d different whole numbers may be codes: if they name things rather than measure them, table.Options.Categorical makes them labels", distinct))
		}
	}
	return field
}

// maxCounted is where counting distinct numbers stops, because a larger exact count does not help users.
const maxCounted = 1000

// distinctCells counts the distinct observed cells; for numbers, up to maxCounted+1.
func distinctCells(parts []*Column) int {
	last := parts[len(parts)-1]
	if last.Kind == Category {
		seen, distinct := make([]bool, len(last.Levels)), 0
		for _, c := range parts {
			for row, code := range c.Codes {
				if c.Observed[row] && !seen[code] {
					seen[code] = true
					distinct++
				}
			}
		}
		return distinct
	}
	seen := make(map[float64]struct{})
	for _, c := range parts {
		for row, v := range c.Numbers {
			if !c.Observed[row] {
				continue
			}
			if seen[v] = struct{}{}; len(seen) > maxCounted {
				return len(seen)
			}
		}
	}
	return len(seen)
}

func countsUp(parts []*Column) bool {
	first, before := true, 0.0
	for _, c := range parts {
		for row, v := range c.Numbers {
			if !c.Observed[row] || !first && v != before+1 {
				return false
			}
			first, before = false, v
		}
	}
	return true
}
