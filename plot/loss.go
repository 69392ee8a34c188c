package plot

import (
	"errors"
	"fmt"

	"github.com/psi-shapley/psi/table"
)

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
	shown, err := asked(all, o, func(d LossDrop) string { return d.Player })
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
			"It shows what the model gains from a column, not what would happen if somebody changed it.", loss) + beyond(len(shown), len(all), o.Columns),
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
