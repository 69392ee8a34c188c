package plot

import (
	"fmt"

	"gonum.org/v1/plot/plotter"
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
	read := fmt.Sprintf("Start at the base at the top. Each column moves the prediction right (orange) or left (blue); thin lines are %s.", v.bars())
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
