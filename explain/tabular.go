package explain

import "github.com/psi-shapley/psi/table"

// ofFile returns the table, with the name of the file as the first column if the rows have one.
func (e *Explanation) ofFile(columns []*table.Column, lines int) (*table.Table, error) {
	if e.File != "" {
		columns = append([]*table.Column{levelColumn("file", []string{e.File}, lines, func(int) int { return 0 })}, columns...)
	}
	return table.New(columns...)
}

// numberColumn returns a column whose cells are missing where the value is not finite.
func numberColumn(name string, lines int, value func(line int) float64) *table.Column {
	c := &table.Column{Name: name, Kind: table.Number, Numbers: make([]float64, lines), Observed: make([]bool, lines)}
	for line := range lines {
		if v := value(line); finite(v) {
			c.Numbers[line], c.Observed[line] = v, true
		}
	}
	return c
}

// levelColumn returns a column with one of the levels in every line.
func levelColumn(name string, levels []string, lines int, level func(line int) int) *table.Column {
	c := &table.Column{Name: name, Kind: table.Category, Levels: levels, Codes: make([]int32, lines), Observed: make([]bool, lines)}
	for line := range lines {
		c.Codes[line], c.Observed[line] = int32(level(line)), true
	}
	return c
}
