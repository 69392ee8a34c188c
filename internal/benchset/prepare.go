package benchset

import (
	"fmt"
	"slices"

	"github.com/psi-shapley/psi/table"
)

// load reads the set and prepares it: rows that do not count leave, numbers that mean missing become missing, the target
// goes last in its own units or classes.
func (r recipe) load(dir string) (*table.Table, error) {
	raw, err := r.read(dir)
	if err != nil {
		return nil, err
	}
	if err := r.check(raw); err != nil {
		return nil, err
	}
	inputs, target := r.divide(raw)
	if r.keep != nil {
		inputs, target = r.divide(raw.Select(r.keptRows(inputs)))
	}
	inputs = slices.DeleteFunc(inputs, func(c *table.Column) bool { return slices.Contains(r.leave, c.Name) })
	for i, c := range inputs {
		inputs[i] = r.withoutCodes(c)
		if r.fill {
			inputs[i] = filled(inputs[i])
		}
	}
	if r.task == Regression {
		target = r.scaled(target)
	} else if target, err = r.classed(target); err != nil {
		return nil, err
	}
	return table.New(append(inputs, target)...)
}

// check reports a file that is not the one the recipe was written for.
func (r recipe) check(raw *table.Table) error {
	target := raw.Column(r.target)
	if target == nil {
		return fmt.Errorf("no column %q", r.target)
	}
	if row := slices.Index(target.Observed, false); row >= 0 {
		return fmt.Errorf("row %d: the target %q is missing", row, r.target)
	}
	for _, c := range raw.Columns {
		labels := slices.Contains(r.categories, c.Name) || c.Name == r.target && r.classes != nil
		if !labels && c.Kind != table.Number {
			return fmt.Errorf("column %q should hold numbers: %s", c.Name, c.Reason)
		}
	}
	return nil
}

// divide returns the inputs in file order, and the target.
func (r recipe) divide(t *table.Table) (inputs []*table.Column, target *table.Column) {
	for _, c := range t.Columns {
		if c.Name == r.target {
			target = c
		} else {
			inputs = append(inputs, c)
		}
	}
	return inputs, target
}

func (r recipe) keptRows(inputs []*table.Column) []int {
	var rows []int
	for row := range inputs[0].Len() {
		if r.keep(inputs, row) {
			rows = append(rows, row)
		}
	}
	return rows
}

// withoutCodes returns the input with the numbers that mean missing missing.
func (r recipe) withoutCodes(c *table.Column) *table.Column {
	if r.missing == nil || c.Kind != table.Number {
		return c
	}
	observed := slices.Clone(c.Observed)
	for row, value := range c.Numbers {
		observed[row] = observed[row] && !r.missing(c.Name, value)
	}
	return table.NumberColumn(c.Name, c.Numbers, observed)
}

// scaled returns a regression target divided by the recipe's divisor.
func (r recipe) scaled(c *table.Column) *table.Column {
	values := slices.Clone(c.Numbers)
	if r.divisor != 0 {
		for row := range values {
			values[row] /= r.divisor
		}
	}
	return table.NumberColumn(Target, values, nil)
}

// classed returns a class target with the file's labels replaced by c0, c1, ….
func (r recipe) classed(c *table.Column) (*table.Column, error) {
	classes := make([]string, c.Len())
	for row := range classes {
		label := c.Text(row)
		class, known := r.classes[label]
		if !known {
			return nil, fmt.Errorf("row %d: no class for %q in the target %q", row, label, c.Name)
		}
		classes[row] = class
	}
	return table.CategoryColumn(Target, classes, nil), nil
}
