package plot

import (
	"cmp"
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
	unit string // of attributions, for an axis
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
	unit := "the prediction"
	switch e.Scale {
	case explain.Logit:
		unit = fmt.Sprintf("the log odds of %s", shorten(e.Outputs[0], 30))
	case explain.Score:
		unit = fmt.Sprintf("the score of %s", shorten(e.Outputs[0], 30))
	}
	return view{e, unit}, nil
}

func (v view) mean(row, player int) float64 { return v.Mean[row*len(v.Players)+player] }
func (v view) std(row, player int) float64  { return v.Std[row*len(v.Players)+player] }
func (v view) there(row, player int) bool   { return v.Observed[row*len(v.Players)+player] }
func (v view) name(player int) string       { return shorten(v.Players[player], 28) }
func (v view) interval(row, d int) (lo, hi float64) {
	return v.mean(row, d) - v.Z*v.std(row, d), v.mean(row, d) + v.Z*v.std(row, d)
}

// importance is what a player does over all rows.
type importance struct {
	player    int
	mean      float64 // of |f_d|, over rows in which it is observed
	low, high float64 // that hold the middle 80 % of |f_d|
	doubt     float64 // share of Σσ² that is the player's
	observed  int
}

// importances are those of all players, the greatest first.
func (v view) importances() []importance {
	list := make([]importance, len(v.Players))
	total := 0.0
	for d := range list {
		var sizes []float64
		variance := 0.0
		for row := range v.Rows {
			if v.there(row, d) {
				sizes = append(sizes, math.Abs(v.mean(row, d)))
				variance += v.std(row, d) * v.std(row, d)
			}
		}
		list[d] = importance{player: d, observed: len(sizes), doubt: variance}
		total += variance
		if len(sizes) == 0 {
			continue
		}
		slices.Sort(sizes)
		for _, s := range sizes {
			list[d].mean += s / float64(v.Rows) // where it is missing it does nothing
		}
		list[d].low, list[d].high = quantile(sizes, .1), quantile(sizes, .9)
	}
	for d := range list {
		if total > 0 {
			list[d].doubt /= total
		}
	}
	slices.SortStableFunc(list, func(a, b importance) int { return cmp.Compare(b.mean, a.mean) })
	return list
}

// quantile of sorted values, between the two nearest.
func quantile(sorted []float64, share float64) float64 {
	at := share * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// player finds a player by name; "" is the most important that has values.
func (v view) player(name string) (int, error) {
	if name != "" {
		if d := slices.Index(v.Players, name); d >= 0 {
			return d, nil
		}
		return 0, fmt.Errorf("plot: there is no column %q in the explanation", name)
	}
	for _, im := range v.importances() {
		if v.Values[im.player] != nil {
			return im.player, nil
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

func rowsWord(n int) string {
	if n == 1 {
		return "1 row"
	}
	return fmt.Sprintf("%d rows", n)
}
