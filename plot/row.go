package plot

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// part is one player's share of a prediction, or that of all the small ones together.
type part struct {
	name      string // with the value of the cell
	player    string
	mean, std float64
	missing   bool
}

// row checks that the row is there.
func (v view) row(o Options) (int, error) {
	if o.Row < 0 || o.Row >= v.Rows {
		return 0, fmt.Errorf("plot: there is no row %d: the table has %s, counted from 0", o.Row, rowsWord(v.Rows))
	}
	return o.Row, nil
}

// rowView is the output of one row: the one asked for, or its likeliest.
func rowView(e *explain.Explanation, o Options) (view, int, error) {
	if o.Output == "" && len(e.Outputs) > 1 && o.Row >= 0 && o.Row < e.Rows {
		o.Output = e.Outputs[likeliest(e, o.Row)]
	}
	v, err := viewOf(e, o)
	if err != nil {
		return v, 0, err
	}
	row, err := v.row(o)
	return v, row, err
}

func likeliest(e *explain.Explanation, row int) int {
	best, n := 0, len(e.Outputs)
	heights := e.Prediction
	if e.Probability != nil {
		heights = e.Probability
	}
	for k := range n {
		if heights[row*n+k] > heights[row*n+best] {
			best = k
		}
	}
	return best
}

// parts are those of a row, the largest first, what is left of them as one, the missing last. Independent players'
// variances add up.
func (v view) parts(row, most int) []part {
	var shown, missing []part
	for d := range v.Players {
		p := part{name: v.cell(row, d), player: v.Players[d], mean: v.mean(row, d), std: v.std(row, d), missing: !v.there(row, d)}
		if p.missing {
			missing = append(missing, p)
		} else {
			shown = append(shown, p)
		}
	}
	slices.SortStableFunc(shown, func(a, b part) int { return cmp.Compare(math.Abs(b.mean), math.Abs(a.mean)) })
	if len(shown) > most {
		rest := part{name: fmt.Sprintf("%d others", len(shown)-most+1), player: "others"}
		for _, p := range shown[most-1:] {
			rest.mean, rest.std = rest.mean+p.mean, math.Hypot(rest.std, p.std)
		}
		shown = append(shown[:most-1], rest)
	}
	return append(shown, missing[:min(len(missing), max(0, most-len(shown)))]...)
}

// cell is a player with the value it has in a row.
func (v view) cell(row, d int) string {
	c := v.Values[d]
	switch {
	case !v.there(row, d):
		return v.name(d) + ": missing"
	case c == nil:
		return v.name(d)
	case c.Kind == table.Number:
		return fmt.Sprintf("%s = %s", v.name(d), strconv.FormatFloat(c.Numbers[row], 'g', 4, 64))
	}
	return fmt.Sprintf("%s = %s", v.name(d), shorten(c.Text(row), 18))
}

func partsTable(parts []part) (*table.Table, error) {
	names, mean, std, missing := make([]string, len(parts)), make([]float64, len(parts)), make([]float64, len(parts)), make([]bool, len(parts))
	for i, p := range parts {
		names[i], mean[i], std[i], missing[i] = p.player, p.mean, p.std, p.missing
	}
	return table.New(table.CategoryColumn("player", names, nil), table.NumberColumn("mean", mean, nil), table.NumberColumn("std", std, nil), table.BooleanColumn("missing", missing, nil))
}

// ends of a row: where attributions start and end.
func (v view) ends(row int) (base, prediction float64, words string) {
	base, prediction = v.Base[row], v.Prediction[row]
	words = fmt.Sprintf("row %d: %s is %.4g, from a base of %.4g", v.FirstRow+row, v.unit, prediction, base)
	if v.Probability != nil {
		words += fmt.Sprintf("; probability %.3g", v.Probability[row])
	}
	return base, prediction, words
}

// Waterfall goes from the base to a row's prediction, one player a step, the largest first.
func Waterfall(e *explain.Explanation, o Options) (*Picture, error) {
	v, row, err := rowView(e, o)
	if err != nil {
		return nil, err
	}
	t, parts := themeOf(o), v.parts(row, o.most())
	base, prediction, words := v.ends(row)
	p := t.newPlot(capital(words), v.unit, "")
	n := len(parts) + 2
	names := make([]string, n)
	names[0], names[n-1] = "base", "prediction"
	at, top := base, float64(n-1)
	line(p, t.ink, 1.5, plotter.XYs{{X: base, Y: top - .4}, {X: base, Y: top + .4}})
	for i, part := range parts {
		y := float64(n - 2 - i)
		names[i+1] = part.name
		if part.missing {
			line(p, t.missing, 1, plotter.XYs{{X: at, Y: y - .32}, {X: at, Y: y + .32}}, 2, 2)
			continue
		}
		line(p, t.faint, .7, plotter.XYs{{X: at, Y: y + 1}, {X: at, Y: y}})
		box(p, at, y-.32, at+part.mean, y+.32, t.sign(part.mean))
		whisker(p, t.ink, at+part.mean-v.Z*part.std, at+part.mean+v.Z*part.std, y)
		at += part.mean
		side, align := at+v.Z*part.std, draw.XLeft
		if part.mean < 0 {
			side, align = at-v.Z*part.std, draw.XRight
		}
		t.text(p, side, y, fmt.Sprintf(" %+.3g ", part.mean), t.ink, align)
	}
	line(p, t.ink, 1.5, plotter.XYs{{X: prediction, Y: -.4}, {X: prediction, Y: .4}})
	namesDown(p, names)
	widen(p, .12)
	data, err := partsTable(parts)
	return &Picture{
		Title: p.Title.Text, Read: fmt.Sprintf("From the base at the top, each column moves the prediction right (orange) or left (blue); thin lines are ± %.3g standard deviations.", v.Z),
		Data: data, plot: p, theme: t, width: wide, height: tall(n),
	}, err
}

func capital(s string) string { return string(s[0]-'a'+'A') + s[1:] }

// forceLabel is the name of a part, and where it goes.
type forceLabel struct {
	at   float64
	part part
}

// Force shows what pushes a row's prediction up, against what pushes it down, on one line.
func Force(e *explain.Explanation, o Options) (*Picture, error) {
	v, row, err := rowView(e, o)
	if err != nil {
		return nil, err
	}
	t, parts := themeOf(o), v.parts(row, o.most())
	base, prediction, words := v.ends(row)
	p := t.newPlot(capital(words), v.unit, "")
	up, down := prediction, prediction
	span := 0.0
	for _, part := range parts {
		span += math.Abs(part.mean)
	}
	var labels []forceLabel
	for _, part := range parts {
		if part.missing || part.mean == 0 {
			continue
		}
		size := math.Abs(part.mean)
		x0 := up - size
		if part.mean < 0 {
			x0 = down
		}
		box(p, x0, 0, x0+size, 1, t.sign(part.mean))
		line(p, t.background, 1.5, plotter.XYs{{X: x0, Y: 0}, {X: x0, Y: 1}})
		if size > .06*span {
			labels = append(labels, forceLabel{x0 + size/2, part})
		}
		if part.mean < 0 {
			down += size
		} else {
			up -= size
		}
	}
	slices.SortFunc(labels, func(a, b forceLabel) int { return cmp.Compare(a.at, b.at) })
	for i, l := range labels { // names of neighbours on different lines
		t.text(p, l.at, -.35-.35*float64(i%3), l.part.name, t.sign(l.part.mean), draw.XCenter)
	}
	line(p, t.ink, 1.5, plotter.XYs{{X: prediction, Y: -.15}, {X: prediction, Y: 1.35}})
	t.text(p, prediction, 1.55, fmt.Sprintf("prediction %.4g", prediction), t.ink, draw.XCenter)
	line(p, t.missing, 1, plotter.XYs{{X: base, Y: -.15}, {X: base, Y: 1.35}}, 3, 2)
	t.text(p, base, 1.95, fmt.Sprintf("base %.4g", base), t.missing, draw.XCenter)
	p.HideY()
	p.Y.Min, p.Y.Max = -1.4, 2.2
	widen(p, .1)
	data, err := partsTable(parts)
	return &Picture{
		Title: p.Title.Text, Read: "Orange columns push the prediction up from the left, blue ones push it down from the right; where they meet is the prediction.",
		Data: data, plot: p, theme: t, width: 9 * vg.Inch, height: 2.6 * vg.Inch,
	}, err
}

// Ranking shows how the order of a row's players changes with the standard deviations that are granted to each, as
// att_d(z) = mean + z·std of the paper.
func Ranking(e *explain.Explanation, o Options) (*Picture, error) {
	const mostZ, steps = 3.0, 60
	v, row, err := rowView(e, o)
	if err != nil {
		return nil, err
	}
	t := themeOf(o)
	_, _, words := v.ends(row)
	p := t.newPlot(capital(words), "z, standard deviations granted", "rank by mean + z·std")
	var players []int
	for d := range v.Players {
		if v.there(row, d) {
			players = append(players, d)
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
		z := mostZ * float64(i) / steps
		for k, d := range rank(z) {
			lines[d] = append(lines[d], plotter.XY{X: z, Y: -float64(k + 1)})
			name, at = append(name, v.Players[d]), append(at, z)
			place, value = append(place, float64(k+1)), append(value, v.mean(row, d)+z*v.std(row, d))
		}
	}
	shown := min(o.most(), len(players))
	for _, d := range players {
		xy := lines[d]
		if min(-xy[0].Y, -xy[len(xy)-1].Y) > float64(shown) {
			continue
		}
		line(p, t.sign(v.mean(row, d)), 1.8, xy)
		if -xy[0].Y <= float64(shown) {
			t.text(p, 0, xy[0].Y, v.cell(row, d)+"  ", t.ink, draw.XRight)
		}
		if end := xy[len(xy)-1]; -end.Y <= float64(shown) {
			t.text(p, mostZ, end.Y, "  "+v.name(d), t.ink, draw.XLeft)
		}
	}
	p.HideY()
	p.X.Min, p.X.Max = -1.9, mostZ+1.2
	p.X.Tick.Marker = gonum.ConstantTicks{{Value: 0, Label: "0"}, {Value: 1, Label: "1"}, {Value: 2, Label: "2"}, {Value: 3, Label: "3"}}
	p.Y.Min, p.Y.Max = -float64(shown)-.5, -.5
	data, err := table.New(table.CategoryColumn("player", name, nil), table.NumberColumn("z", at, nil), table.NumberColumn("rank", place, nil), table.NumberColumn("attribution", value, nil))
	return &Picture{
		Title: p.Title.Text, Read: "On the left the columns by what they add to the prediction; going right, a column rises that may add much more than it does in the mean.",
		Data: data, plot: p, theme: t, width: wide, height: tall(shown),
	}, err
}
