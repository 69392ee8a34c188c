package explain

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/psi-shapley/psi/table"
)

// Cohort is a set of rows with a common property.
type Cohort struct {
	Name string
	Rows []int
}

// Limits of a picture: bars for so many cohorts side by side, or a matrix of so many. The days of a month and the hours
// of a day fit. In a matrix, most values need several rows, otherwise it would show single rows.
const (
	maxBars   = 6
	maxValues = 31
	minRows   = 3
)

// Cohorts divides the rows by the values of a column: numbers and times in order, labels by descending frequency. Each
// value is a cohort if there are at most six values, or at most 31 of which half or more have three rows. Otherwise the
// six most frequent labels remain, and numbers are divided at the median. Rows without a value belong to no cohort, so
// the result may be empty.
func Cohorts(c *table.Column) []Cohort {
	list := byValue(c)
	common := 0
	for _, cohort := range list {
		if len(cohort.Rows) >= minRows {
			common++
		}
	}
	switch {
	case len(list) <= maxBars || len(list) <= maxValues && 2*common >= len(list):
		return list
	case ordered(c):
		return halves(c)
	}
	return list[:maxBars]
}

func ordered(c *table.Column) bool { return c.Kind == table.Number || c.Kind == table.Time }

// byValue returns the rows of each value.
func byValue(c *table.Column) []Cohort {
	of := map[string][]int{}
	for row, observed := range c.Observed {
		if observed {
			of[c.Text(row)] = append(of[c.Text(row)], row)
		}
	}
	list := make([]Cohort, 0, len(of))
	for name, rows := range of {
		list = append(list, Cohort{name, rows})
	}
	slices.SortFunc(list, func(a, b Cohort) int {
		if ordered(c) {
			return cmp.Compare(c.Numbers[a.Rows[0]], c.Numbers[b.Rows[0]])
		}
		return cmp.Or(cmp.Compare(len(b.Rows), len(a.Rows)), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// halves returns the rows up to the median and the rows above it.
func halves(c *table.Column) []Cohort {
	var sorted []float64
	for row, observed := range c.Observed {
		if observed {
			sorted = append(sorted, c.Numbers[row])
		}
	}
	slices.Sort(sorted)
	middle := Quantile(sorted, .5)
	words := fmt.Sprintf("%.4g", middle)
	if c.Kind == table.Time {
		at := *c
		at.Observed, at.Numbers = []bool{true}, []float64{middle}
		words = at.Text(0)
	}
	list := []Cohort{{Name: "up to " + words}, {Name: "above " + words}}
	for row, observed := range c.Observed {
		if observed {
			half := 0
			if c.Numbers[row] > middle {
				half = 1
			}
			list[half].Rows = append(list[half].Rows, row)
		}
	}
	return list
}
