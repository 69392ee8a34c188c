package plot

import (
	"errors"
	"fmt"
	"image/color"
	"math"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// Interaction draws a heat map of pairwise interactions: the mean |interaction index|.
func Interaction(e *explain.Explanation, o Options) (*Picture, error) {
	v, err := viewOf(e, o)
	if err != nil {
		return nil, err
	}
	if v.Interactions == nil {
		return nil, errNoPairs
	}
	shown, err := v.choose(o)
	if err != nil {
		return nil, err
	}
	t := themeOf(o)
	strong := func(share float64) color.NRGBA { return mix(t.background, t.up, share) }
	p := t.newPlot(fmt.Sprintf("Interactions of column pairs, %s", rowsWord(v.Rows)), "", "")
	n, names := len(shown), make([]string, len(shown))
	size := make([]float64, n*n)
	largest := 0.0
	for i, a := range shown {
		names[i] = v.name(a.Player)
		for j, b := range shown {
			if i == j {
				continue
			}
			for r := range v.Rows {
				size[i*n+j] += math.Abs(v.Interactions[(r*len(v.Players)+a.Player)*len(v.Players)+b.Player]) / float64(v.Rows)
			}
			largest = max(largest, size[i*n+j])
		}
	}
	var first, second []string
	var value []float64
	ticks := make([]gonum.Tick, n)
	for i := range shown {
		ticks[i] = gonum.Tick{Value: float64(i), Label: shorten(names[i], 18)}
		for j := range shown {
			x, y := float64(j), float64(n-1-i)
			if i == j {
				box(p, x-.48, y-.48, x+.48, y+.48, t.faint)
				continue
			}
			share := size[i*n+j] / math.Max(largest, math.SmallestNonzeroFloat64)
			box(p, x-.48, y-.48, x+.48, y+.48, strong(share))
			if n <= 12 {
				t.text(p, x, y, fmt.Sprintf("%.2g", size[i*n+j]), t.on(strong(share)), draw.XCenter)
			}
			if i < j {
				first, second, value = append(first, v.Players[shown[i].Player]), append(second, v.Players[shown[j].Player]), append(value, size[i*n+j])
			}
		}
	}
	namesDown(p, names)
	p.X.Tick.Marker, p.X.Tick.Length, p.X.Width = gonum.ConstantTicks(ticks), 0, 0
	p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/4, draw.XRight, draw.YTop
	data, err := table.New(table.CategoryColumn("a", first, nil), table.CategoryColumn("b", second, nil), table.NumberColumn("mean_size", value, nil))
	return o.settle(&Picture{
		Title: p.Title.Text, Exact: v.Exactness(),
		Read: "The stronger the colour, the more the effect of one column depends on the other. Shown is the mean size of the pair's Shapley interaction index, 0 where either is missing." + beyond(n, len(v.Players), o.Columns),
		Data: data, plot: p, theme: t, width: vg.Points(250 + 30*float64(n)), height: vg.Points(150 + 26*float64(n)),
		side: colourBar{title: "mean size of the index", low: "0", high: digits(largest), colour: strong},
	}), err
}

// errNoPairs reports an explanation without interactions.
var errNoPairs = errors.New("plot: the explanation has no interactions: request them when explaining")
