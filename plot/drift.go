package plot

import (
	"fmt"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// Drift compares the attributions of two tables explained by one model, to show how the influence of columns has
// changed. It assumes independent rows.
func Drift(before, after *explain.Explanation, o Options) (*Picture, error) {
	return DriftBy(before, after, "", explain.Units{}, o)
}

// DriftBy is Drift for rows that may depend on other rows of the same unit; column is the name of the column of units.
func DriftBy(before, after *explain.Explanation, column string, units explain.Units, o Options) (*Picture, error) {
	first, err := viewOf(before, o)
	if err != nil {
		return nil, err
	}
	second, err := viewOf(after, o)
	if err != nil {
		return nil, err
	}
	all, err := explain.DriftsBy(first.Explanation, second.Explanation, 0, units)
	if err != nil {
		return nil, err
	}
	t := themeOf(o)
	shown, err := selectPlayers(all, o, func(d explain.Drift) string { return d.Player })
	if err != nil {
		return nil, err
	}
	moved := 0
	for _, d := range all {
		if d.Drifted() {
			moved++
		}
	}
	p := t.newPlot(fmt.Sprintf("%d of %d columns act differently than before", moved, len(all)),
		"distance between the attributions to "+first.unit, "")
	names := make([]string, len(shown))
	for i, d := range shown {
		names[i] = shorten(d.Player, 28)
		y, colour := float64(len(shown)-1-i), t.missing
		if d.Drifted() {
			colour = t.up
		}
		box(p, 0, y-.35, d.Distance, y+.35, colour)
		line(p, t.ink, 1.5, plotter.XYs{{X: d.Chance, Y: y - .42}, {X: d.Chance, Y: y + .42}})
	}
	namesDown(p, names)
	p.X.Min = 0
	data, err := driftTable(all)
	return o.settle(&Picture{
		Title: p.Title.Text, Exact: after.Exactness(),
		Read: fmt.Sprintf("%s, compared with %s before. ", rowsWord(after.Rows), rowsWord(before.Rows)) +
			"A bar is how far attributions of a column have moved on average. In 19 of 20 pairs of tables without any change, no bar crosses its vertical line; " +
			"coloured bars do. It shows that the column acts differently on these rows, not why." + together(column, units) + omittedNote(len(shown), len(all), o.Columns),
		Data: data, plot: p, theme: t, width: wide, height: vg.Points(80 + 20*float64(len(shown))),
	}), err
}

// together describes the rows that chance is estimated from.
func together(column string, units explain.Units) string {
	if column == "" {
		return ""
	}
	text := fmt.Sprintf(" Rows with the same %s may be alike, so chance is estimated from %d such groups, not from rows.", shorten(column, 28), units.Count())
	if !units.Enough() {
		text += " They are too few to mark any column."
	}
	return text
}

func driftTable(list []explain.Drift) (*table.Table, error) {
	names := make([]string, len(list))
	for i, d := range list {
		names[i] = d.Player
	}
	numbers := []struct {
		name string
		of   func(explain.Drift) float64
	}{
		{"distance", func(d explain.Drift) float64 { return d.Distance }},
		{"chance", func(d explain.Drift) float64 { return d.Chance }},
		{"p", func(d explain.Drift) float64 { return d.P }},
		{"mean_size_before", func(d explain.Drift) float64 { return d.Before }},
		{"mean_size_after", func(d explain.Drift) float64 { return d.After }},
		{"change_error", func(d explain.Drift) float64 { return d.ChangeError }},
		{"missing_before", func(d explain.Drift) float64 { return d.MissingBefore }},
		{"missing_after", func(d explain.Drift) float64 { return d.MissingAfter }},
	}
	columns := append(make([]*table.Column, 0, 1+len(numbers)), table.CategoryColumn("player", names, nil))
	for _, c := range numbers {
		values := make([]float64, len(list))
		for i, d := range list {
			values[i] = c.of(d)
		}
		columns = append(columns, table.NumberColumn(c.name, values, nil))
	}
	return table.New(columns...)
}
