package explain

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/psi-shapley/psi/table"
)

// Cohort is the rows that have something in common.
type Cohort struct {
	Name string
	Rows []int
}

// mostCohorts can be told apart in a picture.
const mostCohorts = 6

// Cohorts are the rows by the labels of a column, the commonest first, six of them at most; or by the halves of its
// numbers if these have more values than that. Rows without a value are in none, so there may be none at all.
func Cohorts(c *table.Column) []Cohort {
	of := map[string][]int{}
	for row, observed := range c.Observed {
		if observed {
			of[c.Text(row)] = append(of[c.Text(row)], row)
		}
	}
	if len(of) > mostCohorts && c.Kind != table.Category {
		return halves(c)
	}
	list := make([]Cohort, 0, len(of))
	for name, rows := range of {
		list = append(list, Cohort{name, rows})
	}
	slices.SortFunc(list, func(a, b Cohort) int {
		return cmp.Or(cmp.Compare(len(b.Rows), len(a.Rows)), cmp.Compare(a.Name, b.Name))
	})
	return list[:min(len(list), mostCohorts)]
}

// halves are the rows up to the median and those above it.
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
