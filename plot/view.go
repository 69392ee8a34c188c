package plot

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// view is one output of an explanation, as rows of players.
type view struct {
	*explain.Explanation
	unit  string  // of attributions, for an axis
	reach float64 // of intervals, in deviations
}

// viewOf takes one output: the one asked for, or the first.
func viewOf(e *explain.Explanation, o Options) (view, error) {
	if e.Rows == 0 {
		return view{}, errNoRows
	}
	output := o.Output
	if output == "" {
		output = e.Outputs[0]
	}
	if len(e.Outputs) > 1 || o.Output != "" {
		only, err := e.Only(output)
		if err != nil {
			return view{}, err
		}
		e = only
	}
	for _, list := range [][]float64{e.Base, e.Prediction, e.Mean, e.Std, e.ModelStd, e.Interactions} {
		for _, x := range list {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return view{}, errors.New("plot: the explanation holds a number that is not finite, which cannot be drawn")
			}
		}
	}
	unit := "the prediction"
	switch e.Scale {
	case explain.Logit:
		unit = fmt.Sprintf("the log odds of %s", shorten(e.Outputs[0], 30))
	case explain.Score:
		unit = fmt.Sprintf("the score of %s", shorten(e.Outputs[0], 30))
	}
	return view{e, unit, e.Reach()}, nil
}

func (v view) mean(row, player int) float64 { return v.Mean[row*len(v.Players)+player] }
func (v view) std(row, player int) float64  { return v.Std[row*len(v.Players)+player] }
func (v view) bar(row, player int) float64 { // half an interval
	return v.reach * v.Deviations()[row*len(v.Players)+player]
}
func (v view) there(row, player int) bool { return v.Observed[row*len(v.Players)+player] }
func (v view) name(player int) string     { return shorten(v.Players[player], 28) }
func (v view) interval(row, d int) (lo, hi float64) {
	return v.mean(row, d) - v.bar(row, d), v.mean(row, d) + v.bar(row, d)
}

// bars says what intervals are.
func (v view) bars() string {
	if v.Interval() == explain.ByDoubt {
		return fmt.Sprintf("the %.3g%% interval of its doubt", 100*math.Erf(v.Z/math.Sqrt2))
	}
	return fmt.Sprintf("± %.3g standard deviations", v.Z)
}

// importances are those of all players, the greatest first.
func (v view) importances() []explain.Importance { return v.Importances(0, nil) }

// player finds a player by name; "" is the most important that has values.
func (v view) player(name string) (int, error) {
	if name != "" {
		if d := slices.Index(v.Players, name); d >= 0 {
			return d, nil
		}
		return 0, fmt.Errorf("plot: there is no column %q in the explanation", name)
	}
	for _, im := range v.importances() {
		if v.Values[im.Player] != nil {
			return im.Player, nil
		}
	}
	return 0, errors.New("plot: no player is a column with values: name one with a value")
}

// mostDots are drawn of a player; more make a file large and the picture no clearer.
const mostDots = 400

// someRows are at most mostDots rows, evenly taken.
func someRows(n int) []int {
	step := max(1, (n+mostDots-1)/mostDots)
	rows := make([]int, 0, n/step+1)
	for row := 0; row < n; row += step {
		rows = append(rows, row)
	}
	return rows
}

// place is where a cell lies among the values of its column, 0 to 1; categories have none.
func (v view) place(player int) func(row int) (share float64, ok bool) {
	c := v.Values[player]
	if c == nil || c.Kind == table.Category {
		return func(int) (float64, bool) { return 0, false }
	}
	var sorted []float64
	for row, x := range c.Numbers {
		if c.Observed[row] {
			sorted = append(sorted, x)
		}
	}
	slices.Sort(sorted)
	return func(row int) (float64, bool) {
		if !c.Observed[row] || len(sorted) < 2 || sorted[0] == sorted[len(sorted)-1] {
			return .5, c.Observed[row]
		}
		low, _ := slices.BinarySearch(sorted, c.Numbers[row])
		high, _ := slices.BinarySearchFunc(sorted, c.Numbers[row], func(x, target float64) int {
			if x <= target {
				return -1
			}
			return 1
		})
		return float64(low+high) / 2 / float64(len(sorted)), true
	}
}

// everySecond thins rows out.
func everySecond(rows []int) []int {
	var kept []int
	for i := 0; i < len(rows); i += 2 {
		kept = append(kept, rows[i])
	}
	return kept
}

// named is a player's name, with the number of rows that lack it.
func (v view) named(im explain.Importance) string {
	if gaps := v.Rows - im.Observed; gaps > 0 {
		return fmt.Sprintf("%s (%d missing)", v.name(im.Player), gaps)
	}
	return v.name(im.Player)
}

// beyond says how many players a picture leaves out.
func beyond(shown, all int) string {
	if shown == all {
		return ""
	}
	return fmt.Sprintf(" Shown are the %d most important of %d columns.", shown, all)
}

// someOf are rows that are shown, of all.
func someOf(shown, all int) string {
	if shown == all {
		return rowsWord(all)
	}
	return fmt.Sprintf("%d of %s", shown, rowsWord(all))
}

func rowsWord(n int) string {
	if n == 1 {
		return "1 row"
	}
	return fmt.Sprintf("%d rows", n)
}
