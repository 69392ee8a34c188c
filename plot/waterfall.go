package plot

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/psi-shapley/psi/explain"
)

// Waterfall draws a waterfall plot from the base to a row's prediction, a player per step, the largest first. With
// Options.Pairs the steps are main effects and interactions, which have the same sum.
func Waterfall(e *explain.Explanation, o Options) (*Picture, error) {
	v, row, err := rowView(e, o)
	if err != nil {
		return nil, err
	}
	t := themeOf(o)
	read := "Start at the base at the top. Each column moves the prediction right (orange) or left (blue)" + v.bars("; ", "thin lines are %s")
	split := v.parts
	if o.Pairs {
		if v.Interactions == nil {
			return nil, errNoPairs
		}
		split = v.effects
		read = "Start at the base at the top. The effect of each column alone, and the interactions of pairs (×), move the prediction right (orange) or left (blue). " +
			"Half of an interaction is in the attribution of each of its two columns."
	}
	parts, err := split(row, o)
	if err != nil {
		return nil, err
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
		t.text(p, side, y, signed(part.mean), t.ink, align)
	}
	line(p, t.ink, 1.5, plotter.XYs{{X: prediction, Y: -.4}, {X: prediction, Y: .4}})
	namesDown(p, names)
	data, err := partsTable(parts)
	return o.settle(&Picture{
		Title: p.Title.Text, Read: read, Exact: v.Exactness(), Data: data, plot: p, theme: t, width: wide, height: tall(n),
	}), err
}

// Force draws a force plot: what raises a row's prediction against what lowers it, on one line.
func Force(e *explain.Explanation, o Options) (*Picture, error) {
	v, row, err := rowView(e, o)
	if err != nil {
		return nil, err
	}
	t := themeOf(o)
	parts, err := v.parts(row, o)
	if err != nil {
		return nil, err
	}
	base, prediction, words := v.ends(row)
	p := t.newPlot(capital(words), v.unit, "")
	up, down := prediction, prediction
	span := 0.0
	for _, part := range parts {
		span += math.Abs(part.mean)
	}
	var left, right []forceLabel
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
		x0, end := up-size, up-size // the end that moves with the attribution
		if part.mean < 0 {
			x0, end = down, down+size
		}
		box(p, x0, 0, x0+size, 1, t.sign(part.mean))
		line(p, t.background, 1.5, plotter.XYs{{X: x0, Y: 0}, {X: x0, Y: 1}})
		y, reach := .2+.2*float64(i%4), part.bar // neighbours at different heights
		if part.doubted() {
			doubt.add(end-reach, y, end+reach, y)
		}
		labels := &left
		if part.mean < 0 {
			down, labels = down+size, &right
		} else {
			up -= size
		}
		if size > .015*span {
			*labels = append(*labels, forceLabel{x0 + size/2, part.name})
		}
	}
	if len(doubt.from) > 0 {
		p.Add(doubt)
	}
	p.HideY()
	widen(p, .01)
	const own = 9 * vg.Inch
	lanes := t.forceLabels(p, left, right, o.width(own)-2*margin)
	line(p, t.ink, 1.5, plotter.XYs{{X: prediction, Y: -.15}, {X: prediction, Y: 1.35}})
	from, to := t.forceText(p, prediction, 1.55, "prediction "+digits(prediction), t.ink, o.width(own)-2*margin)
	t.forceText(p, base, 1.95, "base "+digits(base), t.small, o.width(own)-2*margin)
	top := 1.75
	if from < base && base < to {
		top = 1.35 // below the words
	}
	line(p, t.small, 1, plotter.XYs{{X: base, Y: -.15}, {X: base, Y: top}}, 3, 2)
	p.Y.Min, p.Y.Max = -.2-.35*float64(lanes), 2.2
	read := "Orange columns push the prediction up from the left, blue ones push it down from the right; they meet at the prediction" +
		v.bars(". ", "Thin lines show, for the column that ends there, %s")
	if len(missing) > 0 {
		read += missingWords(missing)
	}
	data, err := partsTable(parts)
	return o.settle(&Picture{
		Title: p.Title.Text, Read: read, Exact: v.Exactness(), Data: data, plot: p, theme: t,
		width: own, height: vg.Points(150 + 13*float64(lanes)),
	}), err
}

// missingWords lists the missing columns of a row, or their number.
func missingWords(names []string) string {
	const limit = 4
	if len(names) > limit {
		return fmt.Sprintf(" %d columns are missing.", len(names))
	}
	return " Missing: " + strings.Join(names, ", ") + "."
}

// forceLabel is the name of a part and the middle of its bar.
type forceLabel struct {
	at   float64
	name string
}

// forceStyle is the text style of names and ends.
func forceStyle(p *gonum.Plot) draw.TextStyle {
	style := p.X.Label.TextStyle
	setFont(&style.Font, 9)
	return style
}

// forceLabels writes names below their parts: raising ones to the left of their lines, lowering ones to the right. It
// returns the number of lanes of names. It extends the x axis where a name would leave the page.
func (t theme) forceLabels(p *gonum.Plot, left, right []forceLabel, room vg.Length) (lanes int) {
	const limit, rounds = 8, 60 // names on each side; iterations to find the ends of the axis
	style := forceStyle(p)
	wide := func(l *forceLabel) float64 { return float64(style.Width(l.name) + 10) }
	for _, side := range []*[]forceLabel{&left, &right} {
		*side = (*side)[:min(len(*side), limit)] // the largest are nearest to the prediction
		for i := range *side {
			for l := &(*side)[i]; wide(l) > float64(room)/2.5; {
				l.name = shorten(l.name, len([]rune(l.name))-1)
			}
		}
	}
	low, high := p.X.Min, p.X.Max
	for range rounds {
		perPoint := (p.X.Max - p.X.Min) / float64(room)
		p.X.Min, p.X.Max = low, high
		for i := range left {
			p.X.Min = min(p.X.Min, left[i].at-wide(&left[i])*perPoint)
		}
		for i := range right {
			p.X.Max = max(p.X.Max, right[i].at+wide(&right[i])*perPoint)
		}
	}
	perPoint := (p.X.Max - p.X.Min) / float64(room)
	for _, side := range []struct {
		labels []forceLabel
		sign   float64 // direction of the names
		align  draw.XAlignment
		colour color.NRGBA
	}{{left, -1, draw.XRight, t.up}, {right, 1, draw.XLeft, t.down}} {
		// Start at the far end, so that a name crosses no line to a deeper lane.
		slices.SortFunc(side.labels, func(a, b forceLabel) int { return cmp.Compare(side.sign*b.at, side.sign*a.at) })
		deep := make([]int, len(side.labels))
		for i, l := range side.labels {
			end := side.sign*l.at + wide(&side.labels[i])*perPoint
			for j := range i {
				if side.sign*side.labels[j].at < end {
					deep[i] = max(deep[i], deep[j]+1)
				}
			}
			y := -.35 - .35*float64(deep[i])
			line(p, t.faint, .6, plotter.XYs{{X: l.at, Y: 0}, {X: l.at, Y: y}})
			t.text(p, l.at, y, l.name, side.colour, side.align)
			lanes = max(lanes, deep[i]+1)
		}
	}
	return lanes
}

// forceText writes above a position, as near to it as the page allows, and returns the ends of the text.
func (t theme) forceText(p *gonum.Plot, x, y float64, words string, c color.NRGBA, room vg.Length) (from, to float64) {
	style := forceStyle(p)
	half := float64(style.Width(words)/2+2) * (p.X.Max - p.X.Min) / float64(room)
	at := min(max(x, p.X.Min+half), p.X.Max-half)
	t.text(p, at, y, words, c, draw.XCenter)
	return at - half, at + half
}
