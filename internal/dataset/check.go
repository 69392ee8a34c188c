package dataset

import (
	"fmt"
	"slices"

	"github.com/psi-shapley/psi/table"
)

// suit returns an error, before any row is read, if a table lacks columns that the options name.
func (o Options) suit(schema *table.Schema) error {
	wrong := func(column, message, remedy string) error {
		return &table.Error{Row: -1, Column: column, Message: message, Remedy: remedy}
	}
	names := append([]string{o.Target}, o.Inputs...)
	if o.Weight != "" {
		names = append(names, o.Weight)
	}
	for _, name := range names {
		if schema.Field(name) == nil {
			return wrong(name, "the table has no such column", "check the spelling, or give a table that has it")
		}
	}
	for _, name := range o.MissingAsLevel {
		if !slices.Contains(o.Inputs, name) {
			return wrong(name, "missing cells of this column are to be a level, but it is not a feature", "check the spelling, or leave it out of Config.MissingAsLevel")
		}
	}
	if o.Weight != "" {
		if o.Weight == o.Target {
			return wrong(o.Weight, "the target is also to be the weight of the rows", "name another column in Config.Weight")
		}
		if kind := schema.Field(o.Weight).Kind; kind != table.Number {
			return wrong(o.Weight, fmt.Sprintf("the weights are a %v, not numbers", kind), "name another column in Config.Weight")
		}
	}
	if o.OrderBy != "" {
		switch field := schema.Field(o.OrderBy); {
		case field == nil:
			return wrong(o.OrderBy, "the table has no such column", "check the spelling, or give a table that has it")
		case field.Kind != table.Number && field.Kind != table.Time:
			return wrong(o.OrderBy, fmt.Sprintf("the column is a %v, so it does not order the rows", field.Kind), "name a column of numbers or times in Config.OrderBy")
		}
	}
	return o.Task.Check(o.Target, schema.Field(o.Target).Kind)
}

// minRows is the minimum number of rows to train on.
const minRows = 10

// check returns an error if the rows cannot be trained on.
func check(rows, held *gathered, o Options) error {
	counted := fmt.Sprintf("with a value in the target column %q", o.Target)
	if o.Weight != "" {
		counted += fmt.Sprintf(" and a weight in %q that is not 0", o.Weight)
	}
	if rows.labelled < minRows {
		return &table.Error{
			Row:     -1,
			Message: fmt.Sprintf("%s %s: training needs at least %d", countRows(rows.labelled), counted, minRows),
			Remedy:  "give more rows",
		}
	}
	if o.Validation != nil && held.labelled == 0 {
		return &table.Error{Row: -1, Column: o.Target, Message: "there is no validation row " + counted, Remedy: "check the validation table"}
	}
	if o.By != "" && o.Validation == nil && len(rows.units) < 2 {
		return &table.Error{
			Row: -1, Column: o.By,
			Message: "all rows have the same value, so they cannot be divided by it", Remedy: "name another column in Config.ValidationBy",
		}
	}
	return nil
}

func countRows(n int) string {
	switch n {
	case 0:
		return "no row"
	case 1:
		return "only 1 row"
	}
	return fmt.Sprintf("only %d rows", n)
}
