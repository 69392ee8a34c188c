package plot

import (
	"errors"
	"fmt"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// Groups compares the importance of players between groups of rows, by the values of a column.
func Groups(e *explain.Explanation, o Options) (*Picture, error) {
	v, err := viewOf(e, o)
	if err != nil {
		return nil, err
	}
	if len(o.Columns) == 0 {
		return nil, errors.New("plot: groups need a column that says which row belongs to which")
	}
	by, err := v.player(o.Columns[0])
	if err != nil {
		return nil, err
	}
	if v.Values[by] == nil {
		return nil, fmt.Errorf("plot: %q is a group of columns: name a column with values", v.Players[by])
	}
	groups := explain.Cohorts(v.Values[by])
	if len(groups) == 0 {
		return nil, fmt.Errorf("plot: %q is missing in every row", v.Players[by])
	}
	t, all := themeOf(o), v.importances()
	shown := all[:min(len(all), o.most())]
	p := t.newPlot("Importance by "+v.name(by), "mean size of the attribution to "+v.unit, "")
	players := make([]string, len(shown))
	var player, group []string
	var size, count, size10, size90 []float64
	var known []bool
	within := make([]map[int]explain.Importance, len(groups)) // by player
	for g, cohort := range groups {
		within[g] = map[int]explain.Importance{}
		for _, im := range v.Importances(0, cohort.Rows) {
			within[g][im.Player] = im
		}
	}
	high := .8 / float64(len(groups))
	for i, im := range shown {
		players[i] = v.named(im)
		for g, cohort := range groups {
			of := within[g][im.Player]
			y := float64(len(shown)-1-i) + .4 - high*float64(g)
			box(p, 0, y-high, of.Mean, y, t.series(g))
			if of.Observed > 0 {
				line(p, t.ink, 1, plotter.XYs{{X: of.Low, Y: y - high/2}, {X: of.High, Y: y - high/2}})
			}
			player, group = append(player, v.Players[im.Player]), append(group, cohort.Name)
			size, count = append(size, of.Mean), append(count, float64(len(cohort.Rows)))
			size10, size90, known = append(size10, of.Low), append(size90, of.High), append(known, of.Observed > 0)
		}
	}
	for g, cohort := range groups {
		p.Legend.Add(fmt.Sprintf("%s (%d)", shorten(cohort.Name, 20), len(cohort.Rows)), &plotter.Polygon{Color: t.series(g)})
	}
	p.Legend.Top = false
	namesDown(p, players)
	p.X.Min = 0
	data, err := table.New(table.CategoryColumn("player", player, nil), table.CategoryColumn("group", group, nil), table.NumberColumn("mean_size", size, nil),
		table.NumberColumn("size_10", size10, known), table.NumberColumn("size_90", size90, known), table.NumberColumn("rows", count, nil))
	return &Picture{
		Title: p.Title.Text, Exact: v.Exactness(),
		Read: "Bars of one column beside each other: in which group of rows it moves predictions more. Thin lines hold the middle 80 % of a group's rows." + beyond(len(shown), len(all)),
		Data: data, plot: p, theme: t, width: wide, height: vg.Points(90 + float64(len(shown))*(14+8*float64(len(groups)))),
	}, err
}
