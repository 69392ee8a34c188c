package plot

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

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
		Read: "The longer a bar, the more the column moves predictions, up or down; the thin line covers the middle 80 % of rows." + omittedNote(len(shown), len(all), o.Columns),
		Data: data, plot: p, theme: t, width: wide, height: tall(len(shown)),
	}), err
}

func importanceTable(v view, all []explain.Importance) (*table.Table, error) {
	names := make([]string, len(all))
	columns := make([][]float64, 5)
	var spread []bool // nil means that all are known
	if v.Std == nil {
		spread = make([]bool, len(all))
	}
	for i, im := range all {
		names[i] = v.Players[im.Player]
		for k, x := range []float64{im.Mean, im.Low, im.High, im.Spread, float64(im.Observed)} {
			columns[k] = append(columns[k], x)
		}
	}
	return table.New(
		table.CategoryColumn("player", names, nil), table.NumberColumn("mean_size", columns[0], nil), table.NumberColumn("size_10", columns[1], nil),
		table.NumberColumn("size_90", columns[2], nil), table.NumberColumn("share_of_variance", columns[3], spread), table.NumberColumn("observed", columns[4], nil))
}

// classBar stacks the importance of players for each class, in descending order of the sum.
func classBar(e *explain.Explanation, o Options) (*Picture, error) {
	score, scores := scoreWords(e.Scale)
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
	shown, err := v.choose(Options{MaxPlayers: len(e.Players), Columns: o.Columns})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(shown, func(a, b explain.Importance) int { return cmp.Compare(sums[b.Player], sums[a.Player]) })
	shown = shown[:min(len(shown), o.maxPlayers())]
	t := themeOf(o)
	p := t.newPlot(fmt.Sprintf("Column importance for %d classes, %s", len(e.Outputs), rowsWord(v.Rows)), "mean size of the attributions to the "+scores+" of the classes", "")
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
		Read: "The longer a part of a bar, the more the column moves the " + score + " of that class, up or down." + omittedNote(len(shown), len(e.Players), o.Columns),
		Data: data, plot: p, side: legend, theme: t, width: wide, height: max(tall(len(shown)), vg.Points(60)+legend.height()),
	}), err
}

// Ranking shows how the order of a row's players depends on the number z of standard deviations added to each: att_d(z)
// = mean + z·std of the paper.
func Ranking(e *explain.Explanation, o Options) (*Picture, error) {
	const maxZ, steps = 3.0, 60
	v, row, err := rowView(e, o)
	if err != nil {
		return nil, err
	}
	t := themeOf(o)
	if v.Std == nil {
		return nil, errNoSpread
	}
	_, _, words := v.ends(row)
	p := t.newPlot(capital(words), "z, standard deviations added", "")
	if err := v.check(o.Columns); err != nil {
		return nil, err
	}
	var players []int
	var missing []string
	for d, name := range v.Players {
		if !o.includes(part{player: name}) {
			continue
		}
		if v.there(row, d) {
			players = append(players, d)
		} else {
			missing = append(missing, v.name(d))
		}
	}
	rank := func(z float64) []int {
		order := slices.Clone(players)
		slices.SortStableFunc(order, func(a, b int) int {
			return cmp.Compare(v.mean(row, b)+z*v.std(row, b), v.mean(row, a)+z*v.std(row, a))
		})
		return order
	}
	lines := map[int]plotter.XYs{}
	var name []string
	var at, place, value []float64
	for i := range steps + 1 {
		z := maxZ * float64(i) / steps
		for k, d := range rank(z) {
			lines[d] = append(lines[d], plotter.XY{X: z, Y: -float64(k + 1)})
			name, at = append(name, v.Players[d]), append(at, z)
			place, value = append(place, float64(k+1)), append(value, v.mean(row, d)+z*v.std(row, d))
		}
	}
	if len(players) == 0 {
		return nil, fmt.Errorf("plot: every cell of row %d is missing", v.number(row))
	}
	shown := min(o.maxPlayers(), len(players))
	names := make([]string, shown)
	for _, d := range players {
		xy := lines[d]
		if min(-xy[0].Y, -xy[len(xy)-1].Y) > float64(shown) {
			continue
		}
		line(p, t.sign(v.mean(row, d)), 1.8, xy)
		if place := int(-xy[0].Y); place <= shown {
			names[place-1] = v.cell(row, d)
		}
		if end := xy[len(xy)-1]; -end.Y <= float64(shown) {
			t.text(p, maxZ, end.Y, v.name(d), t.ink, draw.XLeft)
		}
	}
	ticks := make(gonum.ConstantTicks, shown)
	for i, name := range names {
		ticks[i] = gonum.Tick{Value: -float64(i + 1), Label: name}
	}
	p.Y.Tick.Marker, p.Y.Tick.Length, p.Y.Width = ticks, 0, 0
	p.X.Min, p.X.Max = 0, maxZ
	p.Y.Min, p.Y.Max = -float64(shown)-.5, -.5
	read := "On the left, columns are ranked by what they add to the prediction. Further right, they are ranked by mean + z standard deviations: a column rises if it may add much more than its mean. " +
		"Orange adds, blue subtracts."
	if shown < len(players) {
		read += fmt.Sprintf(" The first %d of %d are shown.", shown, len(players))
	}
	if len(missing) > 0 {
		read += missingWords(missing)
	}
	data, err := table.New(table.CategoryColumn("player", name, nil), table.NumberColumn("z", at, nil), table.NumberColumn("rank", place, nil), table.NumberColumn("attribution", value, nil))
	return o.settle(&Picture{
		Title: p.Title.Text, Read: read, Exact: v.Exactness(), Data: data, plot: p, theme: t, width: wide, height: tall(shown),
	}), err
}

// scoreWords names what the attributions of a class add up to, and of several.
func scoreWords(s explain.Scale) (one, many string) {
	if s == explain.Share {
		return "probability", "probabilities"
	}
	return "score", "scores"
}

// errNoSpread reports an explanation whose standard deviations are unknown.
var errNoSpread = errors.New("plot: the uncertainty of these attributions is not known, so their order does not depend on z: draw a waterfall instead")

// LossDrop is the mean decrease of the loss of a row when a player becomes known.
type LossDrop struct {
	Player        string
	Mean          float64
	StandardError float64
	P             float64 // p-value of the test that the mean is above 0
	Found         bool    // the mean is above 0 after correction for the number of players
	Rows          int
}

// LossBar draws LossDrops as bars in the given order. loss names the loss, such as "squared error".
func LossBar(all []LossDrop, loss string, o Options) (*Picture, error) {
	if len(all) == 0 {
		return nil, errors.New("plot: the model has no loss importance to draw")
	}
	t := themeOf(o)
	shown, err := selectPlayers(all, o, func(d LossDrop) string { return d.Player })
	if err != nil {
		return nil, err
	}
	found := 0
	for _, d := range all {
		if d.Found {
			found++
		}
	}
	p := t.newPlot(fmt.Sprintf("Loss importance: %d of %d columns above chance", found, len(all)), "how much a column lowers the "+loss+" of a row", "")
	names := make([]string, len(shown))
	for i, d := range shown {
		names[i] = shorten(d.Player, 28)
		y, colour := float64(len(shown)-1-i), t.down
		if !d.Found {
			colour = mix(t.background, t.down, .35)
		}
		box(p, 0, y-.32, d.Mean, y+.32, colour)
		whisker(p, t.ink, d.Mean-d.StandardError, d.Mean+d.StandardError, y)
	}
	namesDown(p, names)
	p.X.Min = min(p.X.Min, 0)
	data, err := lossTable(all)
	return o.settle(&Picture{
		Title: p.Title.Text,
		Read: fmt.Sprintf("A bar is how much lower the %s of a validation row is, on average, once the column is known. Columns become known one by one in a random order. "+
			"Thin lines are ± one standard error. Pale columns may have no benefit: they fail a one-sided test with at most 5 %% false discoveries. "+
			"It shows what the model gains from a column, not what would happen if somebody changed it.", loss) + omittedNote(len(shown), len(all), o.Columns),
		Data: data, plot: p, theme: t, width: wide, height: tall(len(shown)),
	}), err
}

func lossTable(list []LossDrop) (*table.Table, error) {
	n := len(list)
	names, mean, std, p, rows, found := make([]string, n), make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n), make([]bool, n)
	for i, d := range list {
		names[i], mean[i], std[i], p[i], rows[i], found[i] = d.Player, d.Mean, d.StandardError, d.P, float64(d.Rows), d.Found
	}
	return table.New(table.CategoryColumn("player", names, nil), table.NumberColumn("mean", mean, nil), table.NumberColumn("standard_error", std, nil),
		table.NumberColumn("p", p, nil), table.BooleanColumn("found", found, nil), table.NumberColumn("rows", rows, nil))
}
