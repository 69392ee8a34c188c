package plot

import (
	"cmp"
	"fmt"
	"slices"

	"gonum.org/v1/plot/vg"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// Bar draws a bar chart of feature importance: the mean |attribution| of each player and the middle 80 % of it. For
// more than two classes it stacks all classes, unless Options.Output names one.
func Bar(e *explain.Explanation, o Options) (*Picture, error) {
	if o.Output == "" && len(e.Outputs) > 1 {
		return classBar(e, o)
	}
	v, err := viewOf(e, o)
	if err != nil {
		return nil, err
	}
	shown, err := v.choose(o)
	if err != nil {
		return nil, err
	}
	t, all := themeOf(o), v.importances()
	p := t.newPlot(fmt.Sprintf("Column importance, %s", rowsWord(v.Rows)), "mean size of the attribution to "+v.unit, "")
	names := make([]string, len(shown))
	for i, im := range shown {
		y := float64(len(shown) - 1 - i)
		names[i] = v.named(im)
		box(p, 0, y-.32, im.Mean, y+.32, t.down)
		if im.Observed > 0 {
			whisker(p, t.ink, im.Low, im.High, y)
		}
	}
	namesDown(p, names)
	p.X.Min = 0
	data, err := importanceTable(v, all)
	return o.settle(&Picture{
		Title: p.Title.Text, Exact: v.Exactness(),
		Read: "The longer a bar, the more the column moves predictions, up or down; the thin line covers the middle 80 % of rows." + beyond(len(shown), len(all), o.Columns),
		Data: data, plot: p, theme: t, width: wide, height: tall(len(shown)),
	}), err
}

func importanceTable(v view, all []explain.Importance) (*table.Table, error) {
	names := make([]string, len(all))
	columns := make([][]float64, 5)
	for i, im := range all {
		names[i] = v.Players[im.Player]
		for k, x := range []float64{im.Mean, im.Low, im.High, im.Spread, float64(im.Observed)} {
			columns[k] = append(columns[k], x)
		}
	}
	return table.New(
		table.CategoryColumn("player", names, nil), table.NumberColumn("mean_size", columns[0], nil), table.NumberColumn("size_10", columns[1], nil),
		table.NumberColumn("size_90", columns[2], nil), table.NumberColumn("share_of_variance", columns[3], nil), table.NumberColumn("observed", columns[4], nil))
}

// classBar stacks the importance of players for each class, in descending order of the sum.
func classBar(e *explain.Explanation, o Options) (*Picture, error) {
	const maxClasses = 6 // classes with a colour of their own; the rest are combined
	views := make([]view, len(e.Outputs))
	sizes := make([][]float64, len(e.Outputs)) // mean |attribution| by class and player
	sums := make([]float64, len(e.Players))
	for k, output := range e.Outputs {
		class := o
		class.Output = output
		v, err := viewOf(e, class)
		if err != nil {
			return nil, err
		}
		views[k], sizes[k] = v, make([]float64, len(e.Players))
		for _, im := range v.importances() {
			sizes[k][im.Player] = im.Mean
			sums[im.Player] += im.Mean
		}
	}
	v := views[0]
	shown, err := v.choose(Options{Most: len(e.Players), Columns: o.Columns})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(shown, func(a, b explain.Importance) int { return cmp.Compare(sums[b.Player], sums[a.Player]) })
	shown = shown[:min(len(shown), o.most())]
	t := themeOf(o)
	p := t.newPlot(fmt.Sprintf("Column importance for %d classes, %s", len(e.Outputs), rowsWord(v.Rows)), "mean size of the attributions to the scores of the classes", "")
	names := make([]string, len(shown))
	var player, class []string
	var size []float64
	for i, im := range shown {
		y, at := float64(len(shown)-1-i), 0.0
		names[i] = v.named(im)
		for k, of := range sizes {
			box(p, at, y-.32, at+of[im.Player], y+.32, t.series(min(k, maxClasses-1)))
			at += of[im.Player]
			player, class, size = append(player, v.Players[im.Player]), append(class, e.Outputs[k]), append(size, of[im.Player])
		}
	}
	legend := &key{title: "class"}
	for k, output := range e.Outputs[:min(len(e.Outputs), maxClasses)] {
		if k == maxClasses-1 && len(e.Outputs) > maxClasses {
			output = fmt.Sprintf("%d others", len(e.Outputs)-k)
		}
		legend.add(shorten(output, 20), t.series(k))
	}
	namesDown(p, names)
	p.X.Min = 0
	data, err := table.New(table.CategoryColumn("player", player, nil), table.CategoryColumn("class", class, nil), table.NumberColumn("mean_size", size, nil))
	return o.settle(&Picture{
		Title: p.Title.Text, Exact: e.Exactness(),
		Read: "The longer a part of a bar, the more the column moves the score of that class, up or down." + beyond(len(shown), len(e.Players), o.Columns),
		Data: data, plot: p, side: legend, theme: t, width: wide, height: max(tall(len(shown)), vg.Points(60)+legend.height()),
	}), err
}
