package explain

import (
	"fmt"
	"math"
	"strconv"

	"github.com/psi-shapley/psi/table"
)

// Minus explains why the rows are predicted differently from one row of another explanation. The attributions are the
// differences. They add up to the difference of the predictions, from a base of 0. Contributions to different rows vary
// independently, so their variances add up, as do those of sampling. ModelStd is that of the difference, bag by bag.
// Values have the form "39, not 25". Probability is nil.
func (e *Explanation) Minus(other *Explanation, row int) (*Explanation, error) {
	if difference := difference(e, other); difference != "" {
		return nil, fmt.Errorf("explain: the row to compare with is explained otherwise: %s", difference)
	}
	if row < 0 || row >= other.Rows {
		return nil, fmt.Errorf("explain: there is no row %d to compare with", other.FirstRow+row)
	}
	c := *e
	c.Probability, c.Slope, c.Other = nil, nil, nil
	c.NonNegative = false // does not apply to a difference
	c.Against = fmt.Sprintf("row %d", other.FirstRow+row)
	players := len(e.Players)
	minus := func(x, y float64) float64 { return x - y }
	each := [...]func(x, y float64) float64{minus, minus, math.Hypot, math.Hypot, minus, minus, minus, math.Hypot, math.Hypot, math.Hypot, minus, math.Hypot, minus, math.Hypot}
	of := other.lists()
	for k, list := range c.lists() {
		if *list == nil || *of[k] == nil {
			*list = nil
			continue
		}
		width := len(*of[k]) / other.Rows
		theirs := (*of[k])[row*width : (row+1)*width]
		result := make([]float64, len(*list))
		for i, x := range *list {
			result[i] = each[k](x, theirs[i%width])
		}
		*list = result
	}
	c.Doubt()
	c.Outputs = make([]string, len(e.Outputs))
	for k, name := range e.Outputs {
		c.Outputs[k] = fmt.Sprintf("%s − that of %s", name, c.Against)
	}
	c.Observed = make([]bool, len(e.Observed))
	for i, here := range e.Observed {
		c.Observed[i] = here || other.observed(row)[i%players]
	}
	c.Values = make([]*table.Column, players)
	for d, column := range e.Values {
		if column != nil && other.Values[d] != nil {
			c.Values[d] = against(column, other.Values[d], row)
		}
	}
	return &c, nil
}

// against returns a column of texts with both cells.
func against(here, there *table.Column, row int) *table.Column {
	text := func(c *table.Column, row int) string {
		if !c.Observed[row] {
			return "missing"
		}
		if c.Kind == table.Number {
			return strconv.FormatFloat(c.Numbers[row], 'g', 4, 64)
		}
		return c.Text(row)
	}
	labels := make([]string, here.Len())
	for i := range labels {
		if labels[i] = text(here, i); labels[i] == text(there, row) {
			labels[i] += ", both"
			continue
		}
		labels[i] += ", not " + text(there, row)
	}
	return table.CategoryColumn(here.Name, labels, nil)
}
