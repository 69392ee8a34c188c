package plot

import (
	"cmp"
	"fmt"
	"slices"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// Ranking shows how the order of a row's players depends on the number z of standard deviations added to each: att_d(z)
// = mean + z·std of the paper.
func Ranking(e *explain.Explanation, o Options) (*Picture, error) {
	const maxZ, steps = 3.0, 60
	v, row, err := rowView(e, o)
	if err != nil {
		return nil, err
	}
	t := themeOf(o)
	_, _, words := v.ends(row)
	p := t.newPlot(capital(words), "z, standard deviations added", "")
	if err := v.check(o.Columns); err != nil {
		return nil, err
	}
	var players []int
	var missing []string
	for d, name := range v.Players {
		if !o.asks(part{player: name}) {
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
