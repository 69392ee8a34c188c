package plot

import (
	"errors"
	"fmt"
	"image/color"
	"math"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// Groups compares the importance of players between groups of rows, by the values of the first column of
// Options.Columns. Further columns select the players shown.
func Groups(e *explain.Explanation, o Options) (*Picture, error) {
	v, err := viewOf(e, o)
	if err != nil {
		return nil, err
	}
	if len(o.Columns) == 0 {
		return nil, errors.New("plot: groups need a column to group the rows by")
	}
	by, err := v.player(o.Columns[0])
	if err != nil {
		return nil, err
	}
	if v.Values[by] == nil {
		return nil, fmt.Errorf("plot: %q is a group of columns: choose a single column", v.Players[by])
	}
	groups := explain.Cohorts(v.Values[by])
	if len(groups) == 0 {
		return nil, fmt.Errorf("plot: %q is missing in every row", v.Players[by])
	}
	o.Columns = o.Columns[1:]
	shown, err := v.choose(o)
	if err != nil {
		return nil, err
	}
	g := &grouped{view: v, theme: themeOf(o), name: v.name(by), groups: groups, shown: shown}
	g.within = make([]map[int]explain.Importance, len(groups))
	for k, group := range groups {
		g.within[k] = map[int]explain.Importance{}
		for _, im := range v.Importances(0, group.Rows) {
			g.within[k][im.Player] = im
		}
	}
	p := g.bars()
	if len(groups) > maxNamed {
		p = g.matrix(o.width(wide))
	}
	p.Read += omittedNote(len(shown), len(v.Players), o.Columns)
	p.Title, p.Exact, p.theme, p.width = p.plot.Title.Text, v.Exactness(), g.theme, wide
	p.Data, err = g.table()
	return o.settle(p), err
}

// grouped holds the importance of players in each group.
type grouped struct {
	view
	theme  theme
	name   string // column that defines the groups
	groups []explain.Cohort
	within []map[int]explain.Importance // per group, by player
	shown  []explain.Importance
}

func (g *grouped) names() []string {
	names := make([]string, len(g.shown))
	for i, im := range g.shown {
		names[i] = g.named(im)
	}
	return names
}

// bars draws the groups of a player side by side.
func (g *grouped) bars() *Picture {
	p := g.theme.newPlot("Importance by "+g.name, "mean size of the attribution to "+g.unit, "")
	high := .8 / float64(len(g.groups))
	legend := &key{title: g.name}
	for k, group := range g.groups {
		legend.add(fmt.Sprintf("%s (%s)", shorten(group.Name, 20), rowsWord(len(group.Rows))), g.theme.series(k))
		for i, im := range g.shown {
			of, y := g.within[k][im.Player], float64(len(g.shown)-1-i)+.4-high*float64(k)
			box(p, 0, y-high, of.Mean, y, g.theme.series(k))
			if of.Observed > 0 {
				line(p, g.theme.ink, 1, plotter.XYs{{X: of.Low, Y: y - high/2}, {X: of.High, Y: y - high/2}})
			}
		}
	}
	namesDown(p, g.names())
	p.X.Min = 0
	return &Picture{
		Read: "Compare the bars of one column: they show in which group of rows it moves predictions more. Thin lines cover the middle 80 % of a group's rows.",
		plot: p, side: legend, height: max(vg.Points(90+float64(len(g.shown))*(14+8*float64(len(g.groups)))), vg.Points(60)+legend.height()),
	}
}

// matrix draws a cell for each player and group if there are too many groups for bars.
func (g *grouped) matrix(width vg.Length) *Picture {
	p := g.theme.newPlot("Importance by "+g.name, g.name, "")
	largest := 0.0
	for _, of := range g.within {
		for _, im := range g.shown {
			largest = max(largest, of[im.Player].Mean)
		}
	}
	strong := func(share float64) color.NRGBA { return mix(g.theme.background, g.theme.up, share) }
	grid := &cells{}
	for i, im := range g.shown {
		for k := range g.groups {
			share := g.within[k][im.Player].Mean / math.Max(largest, math.SmallestNonzeroFloat64)
			grid.add(float64(k), float64(len(g.shown)-1-i), .48, strong(math.Round(100*share)/100))
		}
	}
	p.Add(grid)
	namesDown(p, g.names())
	var ticks gonum.ConstantTicks
	room, widest := max(width-vg.Points(250), vg.Points(60)), vg.Length(0) // names and colour bar are beside the cells
	for _, group := range g.groups {
		widest = max(widest, p.X.Tick.Label.Width(group.Name)+vg.Points(5))
	}
	every := max(1, int(math.Ceil(float64(len(g.groups))*float64(widest/room))))
	for k, group := range g.groups {
		if k%every == 0 {
			ticks = append(ticks, gonum.Tick{Value: float64(k) + .5, Label: group.Name})
		}
	}
	p.X.Min, p.X.Max = 0, float64(len(g.groups))
	p.X.Tick.Marker = ticks
	return &Picture{
		Read: "The stronger the colour, the more the column moves predictions of the rows with that value: the mean size of its attribution.",
		plot: p, height: tall(len(g.shown)), side: colourBar{title: "mean size of the attribution", low: "0", high: digits(largest), colour: strong},
	}
}

func (g *grouped) table() (*table.Table, error) {
	n := len(g.groups) * len(g.shown)
	player, group, known := make([]string, n), make([]string, n), make([]bool, n)
	size, count, size10, size90 := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for i, im := range g.shown {
		for k, rows := range g.groups {
			of, at := g.within[k][im.Player], i*len(g.groups)+k
			player[at], group[at], known[at] = g.Players[im.Player], rows.Name, of.Observed > 0
			size[at], count[at], size10[at], size90[at] = of.Mean, float64(len(rows.Rows)), of.Low, of.High
		}
	}
	return table.New(table.CategoryColumn("player", player, nil), table.CategoryColumn("group", group, nil), table.NumberColumn("mean_size", size, nil),
		table.NumberColumn("size_10", size10, known), table.NumberColumn("size_90", size90, known), table.NumberColumn("rows", count, nil))
}
