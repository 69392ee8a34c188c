package plot

import (
	"image/color"
	"math"
	"slices"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// maxNamed is the maximum number of values in a key; numbers with more values have a colour bar.
const maxNamed = 6

// colours returns the colours of rows by the value of a column, and their legend. Numbers range from low to high;
// categories have a colour each, as far as the colours go.
func (v view) colours(t theme, player int, c *table.Column) (of func(row int) color.NRGBA, beside side) {
	if c.Kind == table.Category || c.Kind == table.Boolean {
		return labelColours(t, v.name(player), c)
	}
	place := v.place(player)
	of = func(row int) color.NRGBA {
		if share, ok := place(row); ok {
			return t.ramp(math.Round(share*rampSteps) / rampSteps)
		}
		return t.missing
	}
	values := slices.Compact(sortedNumbers(c))
	if len(values) > maxNamed || c.Kind == table.Time {
		ends := scaleOf(c)
		return of, colourBar{title: v.name(player), low: textOf(c, ends.low), high: textOf(c, ends.high), colour: t.ramp}
	}
	legend, s := &key{title: v.name(player)}, scaleOf(c)
	for _, x := range values {
		legend.add(textOf(c, x), t.ramp(math.Round(s.share(x)*rampSteps)/rampSteps))
	}
	if slices.Contains(c.Observed, false) {
		legend.add("missing", t.missing)
	}
	return of, legend
}

// labelColours gives each of the most frequent labels a colour.
func labelColours(t theme, name string, c *table.Column) (func(row int) color.NRGBA, side) {
	legend, colours, named := &key{title: name}, map[string]color.NRGBA{}, 0
	commonest := explain.Cohorts(c)
	for i, cohort := range commonest[:min(len(commonest), maxNamed)] {
		colours[cohort.Name], named = t.series(i), named+len(cohort.Rows)
		legend.add(shorten(cohort.Name, 20), t.series(i))
	}
	if named < len(c.Observed) {
		legend.add("other or missing", t.missing)
	}
	return func(row int) color.NRGBA {
		if found, ok := colours[c.Text(row)]; ok && c.Observed[row] {
			return found
		}
		return t.missing
	}, legend
}

// textOf writes a number of a column, or a time.
func textOf(c *table.Column, x float64) string {
	if c.Kind != table.Time {
		return digits(x)
	}
	one := *c
	one.Observed, one.Numbers = []bool{true}, []float64{x}
	return one.Text(0)
}
