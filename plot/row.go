package plot

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

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
	with      string // the other player of a pair
	mean, std float64
	bar       float64 // half its interval
	missing   bool
}

// doubted is false of what has no standard deviation of its own.
func (p part) doubted() bool { return !math.IsNaN(p.std) }

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
	var there []part
	for d := range v.Players {
		if v.there(row, d) {
			there = append(there, part{name: v.cell(row, d), player: v.Players[d], mean: v.mean(row, d), std: v.std(row, d), bar: v.bar(row, d)})
		}
	}
	return v.withMissing(row, most, largest(there, most))
}

// effects are those of a row as parts: main effects and interactions of pairs. σ_d is the doubt of a player's whole
// attribution; its pieces have none of their own.
func (v view) effects(row, most int) []part {
	var all []part
	for _, x := range v.Effects(row, 0) {
		if x.Value == 0 {
			continue
		}
		one := part{name: v.cell(row, x.A) + ", alone", player: v.Players[x.A], mean: x.Value, std: math.NaN()}
		if x.B >= 0 {
			one.name, one.with = shorten(v.Players[x.A], 20)+" × "+shorten(v.Players[x.B], 20), v.Players[x.B]
		}
		all = append(all, one)
	}
	return v.withMissing(row, most, largest(all, most))
}

// largest sorts parts by size and joins those beyond a number to one.
func largest(parts []part, most int) []part {
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(math.Abs(b.mean), math.Abs(a.mean)) })
	if len(parts) <= most {
		return parts
	}
	rest := part{name: fmt.Sprintf("%d others", len(parts)-most+1), player: "others"}
	for _, p := range parts[most-1:] {
		rest.mean, rest.std, rest.bar = rest.mean+p.mean, math.Hypot(rest.std, p.std), math.Hypot(rest.bar, p.bar)
	}
	return append(parts[:most-1], rest)
}

// withMissing adds the players that a row lacks, as far as there is room; the last of them stands for the rest.
func (v view) withMissing(row, most int, parts []part) []part {
	var missing []part
	for d := range v.Players {
		if !v.there(row, d) {
			missing = append(missing, part{name: v.cell(row, d), player: v.Players[d], missing: true})
		}
	}
	room := max(1, most-len(parts))
	if len(missing) > room {
		missing = append(missing[:room-1], part{name: fmt.Sprintf("%d columns: missing", len(missing)-room+1), player: "others", missing: true})
	}
	return append(parts, missing...)
}

// cell is a player with the value it has in a row.
func (v view) cell(row, d int) string {
	c := v.Values[d]
	switch {
	case !v.there(row, d):
		return v.name(d) + ": missing"
	case c == nil:
		return v.name(d)
	case !c.Observed[row]:
		return v.name(d) + " = (missing)" // which can have an attribution where training took gaps for values
	case c.Kind == table.Number:
		return fmt.Sprintf("%s = %s", v.name(d), strconv.FormatFloat(c.Numbers[row], 'g', 4, 64))
	}
	return fmt.Sprintf("%s = %s", v.name(d), shorten(c.Text(row), 18))
}

func partsTable(parts []part) (*table.Table, error) {
	names, with, mean, std, missing := make([]string, len(parts)), make([]string, len(parts)), make([]float64, len(parts)), make([]float64, len(parts)), make([]bool, len(parts))
	known, spread, pairs, paired := make([]bool, len(parts)), make([]bool, len(parts)), false, make([]bool, len(parts))
	for i, p := range parts {
		names[i], with[i], mean[i], std[i], missing[i] = p.player, p.with, p.mean, p.std, p.missing
		known[i], spread[i], paired[i] = !p.missing, !p.missing && p.doubted(), p.with != ""
		pairs = pairs || paired[i]
	}
	columns := []*table.Column{table.CategoryColumn("player", names, nil)}
	if pairs {
		columns = append(columns, table.CategoryColumn("with", with, paired))
	}
	return table.New(append(columns, table.NumberColumn("mean", mean, known), table.NumberColumn("std", std, spread), table.BooleanColumn("missing", missing, nil))...)
}

// ends of a row: where attributions start and end.
func (v view) ends(row int) (base, prediction float64, words string) {
	base, prediction = v.Base[row], v.Prediction[row]
	words = fmt.Sprintf("row %d: %s is %.4g ± %.2g, from a base of %.4g", v.FirstRow+row, v.unit, prediction, v.Z*v.PredictionStd[row], base)
	if v.Probability != nil {
		words += fmt.Sprintf("; probability %.3g", v.Probability[row])
	}
	return base, prediction, words
}

// Waterfall goes from the base to a row's prediction, one player a step, the largest first; or one main effect or pair a
// step, which adds up to the same.
func Waterfall(e *explain.Explanation, o Options) (*Picture, error) {
	v, row, err := rowView(e, o)
	if err != nil {
		return nil, err
	}
	t := themeOf(o)
	read := fmt.Sprintf("From the base at the top, each column moves the prediction right (orange) or left (blue); thin lines are %s.", v.bars())
	var parts []part
	if o.Pairs {
		if v.Interactions == nil {
			return nil, errNoPairs
		}
		parts = v.effects(row, o.most())
		read = "From the base at the top, what each column does alone, and what pairs do beyond that (×), moves the prediction right (orange) or left (blue). " +
			"Half of a pair's part is in the attribution of each of its two columns."
	} else {
		parts = v.parts(row, o.most())
	}
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
		at += part.mean
		reach := 0.0
		if part.doubted() {
			reach = part.bar
			whisker(p, t.ink, at-reach, at+reach, y)
		}
		side, align := at+reach, draw.XLeft
		if part.mean < 0 {
			side, align = at-reach, draw.XRight
		}
		t.text(p, side, y, fmt.Sprintf("%+.3g", part.mean), t.ink, align)
	}
	line(p, t.ink, 1.5, plotter.XYs{{X: prediction, Y: -.4}, {X: prediction, Y: .4}})
	namesDown(p, names)
	data, err := partsTable(parts)
	return &Picture{
		Title: p.Title.Text, Read: read, Exact: v.Exactness(), Data: data, plot: p, theme: t, width: wide, height: tall(n),
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
	var missing []string
	doubt := &strokes{LineStyle: draw.LineStyle{Color: t.ink, Width: vg.Points(.8)}}
	for i, part := range parts {
		if part.missing {
			missing = append(missing, strings.TrimSuffix(part.name, ": missing"))
		}
		if part.missing || part.mean == 0 {
			continue
		}
		size := math.Abs(part.mean)
		x0, end := up-size, up-size // the end is what moves with the attribution
		if part.mean < 0 {
			x0, end = down, down+size
		}
		box(p, x0, 0, x0+size, 1, t.sign(part.mean))
		line(p, t.background, 1.5, plotter.XYs{{X: x0, Y: 0}, {X: x0, Y: 1}})
		y, reach := .2+.2*float64(i%4), part.bar // neighbours' on different heights
		doubt.add(end-reach, y, end+reach, y)
		if size > .03*span {
			labels = append(labels, forceLabel{x0 + size/2, part})
		}
		if part.mean < 0 {
			down += size
		} else {
			up -= size
		}
	}
	if len(doubt.from) > 0 {
		p.Add(doubt)
	}
	line(p, t.ink, 1.5, plotter.XYs{{X: prediction, Y: -.15}, {X: prediction, Y: 1.35}})
	t.text(p, prediction, 1.55, fmt.Sprintf("prediction %.4g", prediction), t.ink, draw.XCenter)
	line(p, t.small, 1, plotter.XYs{{X: base, Y: -.15}, {X: base, Y: 1.35}}, 3, 2)
	t.text(p, base, 1.95, fmt.Sprintf("base %.4g", base), t.small, draw.XCenter)
	p.HideY()
	widen(p, .04)
	const width = 9 * vg.Inch
	lanes := t.forceLabels(p, labels, width-2*margin)
	p.Y.Min, p.Y.Max = -.35-.35*float64(lanes), 2.2
	read := fmt.Sprintf("Orange columns push the prediction up from the left, blue ones push it down from the right; where they meet is the prediction. "+
		"Thin lines are, of the column that ends there, %s.", v.bars())
	if len(missing) > 0 {
		read += missingWords(missing)
	}
	data, err := partsTable(parts)
	return &Picture{
		Title: p.Title.Text, Read: read, Exact: v.Exactness(), Data: data, plot: p, theme: t,
		width: width, height: vg.Points(150 + 13*float64(lanes)),
	}, err
}

// missingWords names what a row lacks, or says how much it is.
func missingWords(names []string) string {
	const most = 4
	if len(names) > most {
		return fmt.Sprintf(" %d columns are missing.", len(names))
	}
	return " Missing: " + strings.Join(names, ", ") + "."
}

// forceLabels writes names below their parts, on as many lines as keep them apart, and returns how many.
func (t theme) forceLabels(p *gonum.Plot, labels []forceLabel, room vg.Length) (lanes int) {
	slices.SortFunc(labels, func(a, b forceLabel) int { return cmp.Compare(a.at, b.at) })
	style := p.X.Label.TextStyle
	setFont(&style.Font, 9)
	perPoint := (p.X.Max - p.X.Min) / float64(room)
	var ends []float64 // of the last name of each line
	for _, l := range labels {
		half := float64(style.Width(l.part.name)+8) / 2 * perPoint
		at := min(max(l.at, p.X.Min+half), p.X.Max-half) // on the page
		lane := slices.IndexFunc(ends, func(end float64) bool { return end <= at-half })
		if lane < 0 {
			lane, ends = len(ends), append(ends, 0)
		}
		ends[lane] = at + half
		y := -.35 - .35*float64(lane)
		line(p, t.faint, .6, plotter.XYs{{X: l.at, Y: 0}, {X: l.at, Y: y + .16}})
		t.text(p, at, y, l.part.name, t.sign(l.part.mean), draw.XCenter)
	}
	return len(ends)
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
	p := t.newPlot(capital(words), "z, standard deviations granted", "")
	var players []int
	var missing []string
	for d := range v.Players {
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
		z := mostZ * float64(i) / steps
		for k, d := range rank(z) {
			lines[d] = append(lines[d], plotter.XY{X: z, Y: -float64(k + 1)})
			name, at = append(name, v.Players[d]), append(at, z)
			place, value = append(place, float64(k+1)), append(value, v.mean(row, d)+z*v.std(row, d))
		}
	}
	if len(players) == 0 {
		return nil, fmt.Errorf("plot: every cell of row %d is missing", v.FirstRow+row)
	}
	shown := min(o.most(), len(players))
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
			t.text(p, mostZ, end.Y, v.name(d), t.ink, draw.XLeft)
		}
	}
	ticks := make(gonum.ConstantTicks, shown)
	for i, name := range names {
		ticks[i] = gonum.Tick{Value: -float64(i + 1), Label: name}
	}
	p.Y.Tick.Marker, p.Y.Tick.Length, p.Y.Width = ticks, 0, 0
	p.X.Min, p.X.Max = 0, mostZ
	p.Y.Min, p.Y.Max = -float64(shown)-.5, -.5
	read := "On the left the columns by what they add to the prediction; going right, by mean + z standard deviations: a column rises that may add much more than it does in the mean. " +
		"Orange adds, blue takes away."
	if shown < len(players) {
		read += fmt.Sprintf(" Shown are the first %d of %d.", shown, len(players))
	}
	if len(missing) > 0 {
		read += missingWords(missing)
	}
	data, err := table.New(table.CategoryColumn("player", name, nil), table.NumberColumn("z", at, nil), table.NumberColumn("rank", place, nil), table.NumberColumn("attribution", value, nil))
	return &Picture{
		Title: p.Title.Text, Read: read, Exact: v.Exactness(), Data: data, plot: p, theme: t, width: wide, height: tall(shown),
	}, err
}
