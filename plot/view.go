package plot

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/psi-shapley/psi/explain"
)

// view is one output of an explanation.
type view struct {
	*explain.Explanation
	unit    string  // of attributions, for an axis
	reach   float64 // half-width of intervals, in standard deviations
	numbers []int   // of the rows in their table; nil counts from FirstRow
}

// viewOf selects an output: the requested one, or the first.
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
				return view{}, errors.New("plot: the explanation contains NaN or Inf, which cannot be drawn")
			}
		}
	}
	unit := "the prediction"
	switch e.Scale {
	case explain.LogMean:
		unit = fmt.Sprintf("the log of the mean of %s", shorten(e.Outputs[0], 30))
	case explain.Log:
		unit = fmt.Sprintf("the log of %s", shorten(e.Outputs[0], 30))
	case explain.Logit:
		unit = fmt.Sprintf("the log odds of %s", shorten(e.Outputs[0], 30))
	case explain.Share:
		unit = fmt.Sprintf("the probability of %s", shorten(e.Outputs[0], 30))
	case explain.Score:
		unit = fmt.Sprintf("the score of %s", shorten(e.Outputs[0], 30))
	}
	return view{e, unit, e.Reach(), o.RowNumbers}, nil
}

func (v view) mean(row, player int) float64 { return v.Mean[row*len(v.Players)+player] }
func (v view) there(row, player int) bool   { return v.Observed[row*len(v.Players)+player] }
func (v view) name(player int) string       { return shorten(v.Players[player], 28) }
func (v view) interval(row, d int) (lo, hi float64) {
	return v.mean(row, d) - v.bar(row, d), v.mean(row, d) + v.bar(row, d)
}

// doubted reports whether attributions have intervals.
func (v view) doubted() bool { return v.Interval() != explain.NoInterval }

// std returns a standard deviation; NaN if it is unknown.
func (v view) std(row, player int) float64 {
	if v.Std == nil {
		return math.NaN()
	}
	return v.Std[row*len(v.Players)+player]
}

// bar returns the half-width of an interval; 0 if it is unknown.
func (v view) bar(row, player int) float64 {
	if !v.doubted() {
		return 0
	}
	return v.reach * v.Deviations()[row*len(v.Players)+player]
}

// unknownUncertainty is the caption of pictures without intervals.
const unknownUncertainty = "The uncertainty of these attributions is not known, so the picture has no intervals."

// bars ends a sentence: with before and the words, in which %s stands for a description of the intervals, or by
// saying that they are unknown.
func (v view) bars(before, words string) string {
	if !v.doubted() {
		return ". " + unknownUncertainty
	}
	what := fmt.Sprintf("± %.3g standard deviations", v.Z)
	if v.Interval() == explain.ByDoubt {
		what = fmt.Sprintf("the %.3g%% interval of its doubt (epistemic uncertainty)", 100*math.Erf(v.Z/math.Sqrt2))
	}
	return before + fmt.Sprintf(words, what) + "."
}

// importances returns the importance of all players in descending order.
func (v view) importances() []explain.Importance { return v.Importances(0, nil) }

// player finds a player by name; "" means the most important one with values.
func (v view) player(name string) (int, error) {
	if name != "" {
		if d := slices.Index(v.Players, name); d >= 0 {
			return d, nil
		}
		return 0, noColumn(name)
	}
	for _, im := range v.importances() {
		if v.Values[im.Player] != nil {
			return im.Player, nil
		}
	}
	return 0, errors.New("plot: every column is part of a group, and groups have no single value: train with a column of its own")
}

// number returns the number of a row in its table.
func (v view) number(row int) int {
	if v.numbers != nil {
		return v.numbers[row]
	}
	return v.FirstRow + row
}

// choose returns the players to show in descending order of importance: those requested, or all, as far as there is
// room.
func (v view) choose(o Options) ([]explain.Importance, error) {
	return selectPlayers(v.importances(), o, func(im explain.Importance) string { return v.Players[im.Player] })
}

// selectPlayers returns the elements whose players were requested, or all, as far as there is room.
func selectPlayers[T any](all []T, o Options, player func(T) string) ([]T, error) {
	list := slices.Clone(all)
	if len(o.Columns) > 0 {
		for _, name := range o.Columns {
			if !slices.ContainsFunc(all, func(x T) bool { return player(x) == name }) {
				return nil, noColumn(name)
			}
		}
		list = slices.DeleteFunc(list, func(x T) bool { return !slices.Contains(o.Columns, player(x)) })
	}
	return list[:min(len(list), o.maxPlayers())], nil
}

func noColumn(name string) error {
	return fmt.Errorf("plot: there is no column %q in the explanation", name)
}

// check rejects names that are not players.
func (v view) check(names []string) error {
	for _, name := range names {
		if !slices.Contains(v.Players, name) {
			return noColumn(name)
		}
	}
	return nil
}

// named returns a player's name with the number of rows in which it is missing.
func (v view) named(im explain.Importance) string {
	if gaps := v.Rows - im.Observed; gaps > 0 {
		return fmt.Sprintf("%s (%d missing)", v.name(im.Player), gaps)
	}
	return v.name(im.Player)
}

// omittedNote says how many players a picture omits.
func omittedNote(shown, all int, requested []string) string {
	switch {
	case shown == all:
		return ""
	case len(requested) > 0:
		return fmt.Sprintf(" %d of %d columns are shown.", shown, all)
	}
	return fmt.Sprintf(" The %d most important of %d columns are shown.", shown, all)
}

// shownOfAll says how many of all rows are shown.
func shownOfAll(shown, all int) string {
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
