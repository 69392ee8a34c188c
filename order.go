package psi

import (
	"fmt"

	"github.com/psi-shapley/psi/table"
)

// checkOrder rejects options that cannot be combined with OrderBy.
func (t *training) checkOrder() error {
	switch {
	case t.OrderBy == "" && t.ValidationAfter != "":
		return wrongSetting("Config.ValidationAfter is given without a column", "name it in Config.OrderBy")
	case t.OrderBy == "":
		return nil
	case t.OrderBy == t.Target:
		return wrongSetting("the target is to order the rows", "name another column in Config.OrderBy")
	case t.Validation != nil:
		return wrongSetting("Config.Validation and Config.OrderBy cannot be combined", "leave one of them out")
	case t.ValidationBy != "":
		return wrongSetting("Config.ValidationBy and Config.OrderBy cannot be combined", "leave one of them out")
	}
	return nil
}

// after parses ValidationAfter as a cell of the order column and rewrites it in psi's notation; nil if it is empty.
func (t *training) after(schema *table.Schema) (*float64, error) {
	if t.ValidationAfter == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	f := schema.Field(t.OrderBy)
	example := "42"
	switch f.Kind {
	case table.Number:
	case table.Time:
		example = "2024-03-01"
	default: // dataset reports the error of the column
		return nil, nil //nolint:nilnil // there is none
	}
	v, ok := f.Reading.Parse(f.Kind, []byte(t.ValidationAfter))
	if !ok || !f.Kind.Holds(v) {
		return nil, &table.Error{
			Row: -1, Column: f.Name, Message: fmt.Sprintf("the column holds a %v in each row, but rows after %q are to validate", f.Kind, t.ValidationAfter),
			Remedy: "write it as in the table, such as " + example,
		}
	}
	t.ValidationAfter = (&table.Column{Kind: f.Kind, Numbers: []float64{v}, Observed: []bool{true}}).Text(0)
	return &v, nil
}
