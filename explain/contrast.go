package explain

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/psi-shapley/psi/table"
)

// Only returns the explanation of one output. It returns an error if there is no such output.
func (e *Explanation) Only(output string) (*Explanation, error) {
	at, err := e.outputAt(output)
	if err != nil {
		return nil, err
	}
	return e.combine(output, func(values []float64, width int) []float64 { return e.ofOutput(values, at, width) }), nil
}

// Contrast explains why the model scores class a differently from class b. It has one output, "a − b", whose
// attributions are the differences between the classes. By linearity they are the Shapley values of the difference.
// Contributions to different classes vary independently, so their variances add up. ModelStd is that of the difference,
// bag by bag. Probability is nil.
func (e *Explanation) Contrast(a, b string) (*Explanation, error) {
	first, err := e.outputAt(a)
	if err != nil {
		return nil, err
	}
	second, err := e.outputAt(b)
	switch {
	case err != nil:
		return nil, err
	case a == b:
		return nil, fmt.Errorf("explain: class %q against itself: name two different ones", a)
	case e.Scale != Score && e.Scale != Share:
		return nil, fmt.Errorf("explain: outputs on the scale %q are no scores of classes, to be held against each other", e.Scale)
	}
	join := func(of func(x, y float64) float64) func(values []float64, width int) []float64 {
		return func(values []float64, width int) []float64 {
			list := e.ofOutput(values, first, width)
			for i, y := range e.ofOutput(values, second, width) {
				list[i] = of(list[i], y)
			}
			return list
		}
	}
	minus := join(func(x, y float64) float64 { return x - y })
	c := e.combine(a+" − "+b, minus)
	c.Probability, c.Slope = nil, nil
	n := len(e.Players)
	for _, std := range []struct {
		to   *[]float64
		from []float64
		each int
	}{{&c.PredictionStd, e.PredictionStd, 1}, {&c.HiddenStd, e.HiddenStd, 1}, {&c.Std, e.Std, n}, {&c.ModelStd, e.ModelStd, n}} {
		*std.to = join(math.Hypot)(std.from, std.each)
	}
	// Classes are computed from the same samples, so their errors are correlated in an unknown way. The sum is an upper
	// bound of the error of a difference.
	plus := join(func(x, y float64) float64 { return x + y })
	c.StandardError = plus(e.StandardError, n)
	c.InteractionError = plus(e.InteractionError, n*n)
	c.Doubt()
	return c, nil
}

func (e *Explanation) outputAt(name string) (int, error) {
	at := slices.Index(e.Outputs, name)
	if at < 0 {
		return 0, fmt.Errorf("explain: there is no output %q: choose %s", name, strings.Join(e.Outputs, " or "))
	}
	return at, nil
}

// ofOutput copies the part of an array [rows, outputs, width] for one output. It returns nil for a nil array.
func (e *Explanation) ofOutput(values []float64, output, width int) []float64 {
	if values == nil {
		return nil
	}
	list := make([]float64, 0, e.Rows*width)
	for row := range e.Rows {
		list = append(list, e.of(values, row, output, width)...)
	}
	return list
}

// combine returns an explanation of one output, whose arrays are computed by of.
func (e *Explanation) combine(name string, of func(values []float64, width int) []float64) *Explanation {
	c := *e
	c.Outputs = []string{name}
	n := len(e.Players)
	for i, list := range c.lists() {
		*list = of(*list, [...]int{1, 1, 1, 1, 1, 1, n, n, n, n, n * n, n * n, n * e.Bags, 1}[i])
	}
	return &c
}

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
