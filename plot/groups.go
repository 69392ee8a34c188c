package plot

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

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
	groups, names, err := v.groups(by)
	if err != nil {
		return nil, err
	}
	t, all := themeOf(o), v.importances()
	shown := all[:min(len(all), o.most())]
	p := t.newPlot("Importance by "+v.name(by), "mean size of the attribution to "+v.unit, "")
	players := make([]string, len(shown))
	var player, group []string
	var size, count []float64
	high := .8 / float64(len(groups))
	for i, im := range shown {
		players[i] = v.name(im.player)
		for g, rows := range groups {
			mean := 0.0
			for _, r := range rows {
				mean += math.Abs(v.mean(r, im.player)) / float64(len(rows))
			}
			y := float64(len(shown)-1-i) + .4 - high*float64(g)
			box(p, 0, y-high, mean, y, t.series(g))
			player, group = append(player, v.Players[im.player]), append(group, names[g])
			size, count = append(size, mean), append(count, float64(len(rows)))
		}
	}
	for g, name := range names {
		p.Legend.Add(fmt.Sprintf("%s (%d)", shorten(name, 20), len(groups[g])), &plotter.Polygon{Color: t.series(g)})
	}
	p.Legend.Top = false
	namesDown(p, players)
	p.X.Min = 0
	data, err := table.New(table.CategoryColumn("player", player, nil), table.CategoryColumn("group", group, nil), table.NumberColumn("mean_size", size, nil), table.NumberColumn("rows", count, nil))
	return &Picture{
		Title: p.Title.Text, Read: "Bars of one column beside each other: in which group of rows it moves predictions more.",
		Data: data, plot: p, theme: t, width: wide, height: vg.Points(90 + float64(len(shown))*(14+8*float64(len(groups)))),
	}, err
}

// groups are the rows by a column's labels, or by the halves of its numbers.
func (v view) groups(by int) (rows [][]int, names []string, err error) {
	const most = 6
	c := v.Values[by]
	if c == nil {
		return nil, nil, fmt.Errorf("plot: %q is a group of columns: name a column with values", v.Players[by])
	}
	of := map[string][]int{}
	for r := range v.Rows {
		if name := c.Text(r); c.Observed[r] {
			of[name] = append(of[name], r)
		}
	}
	if len(of) > most && c.Kind != table.Category {
		return v.halves(c)
	}
	for name := range of {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(of[b]), len(of[a])), cmp.Compare(a, b))
	})
	names = names[:min(len(names), most)]
	for _, name := range names {
		rows = append(rows, of[name])
	}
	if len(rows) == 0 {
		return nil, nil, fmt.Errorf("plot: %q is missing in every row", v.Players[by])
	}
	return rows, names, nil
}

func (v view) halves(c *table.Column) (rows [][]int, names []string, err error) {
	var sorted []float64
	for r := range v.Rows {
		if c.Observed[r] {
			sorted = append(sorted, c.Numbers[r])
		}
	}
	slices.Sort(sorted)
	middle := quantile(sorted, .5)
	rows = make([][]int, 2)
	for r := range v.Rows {
		if c.Observed[r] {
			half := 0
			if c.Numbers[r] > middle {
				half = 1
			}
			rows[half] = append(rows[half], r)
		}
	}
	return rows, []string{fmt.Sprintf("up to %.4g", middle), fmt.Sprintf("above %.4g", middle)}, nil
}
