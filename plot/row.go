package plot

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// part is the contribution of a player to a prediction, or of all small ones together.
type part struct {
	name      string // with the value of the cell
	player    string
	with      string // the other player of a pair
	mean, std float64
	bar       float64 // half-width of its interval
	missing   bool
}

// doubted reports whether the part has a standard deviation.
func (p part) doubted() bool { return !math.IsNaN(p.std) }

// row checks that the row exists.
func (v view) row(o Options) (int, error) {
	if o.Row < 0 || o.Row >= v.Rows {
		return 0, fmt.Errorf("plot: there is no row %d: the table has %s, counted from 0", o.Row, rowsWord(v.Rows))
	}
	return o.Row, nil
}

// rowView returns the output of one row: the requested one, or the most probable.
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

// parts returns the contributions of a row in descending order, the remaining ones as one, the missing ones last.
// Players are independent, so their variances add up.
func (v view) parts(row int, o Options) ([]part, error) {
	if err := v.check(o.Columns); err != nil {
		return nil, err
	}
	var there []part
	for d := range v.Players {
		if v.there(row, d) {
			there = append(there, part{name: v.cell(row, d), player: v.Players[d], mean: v.mean(row, d), std: v.std(row, d), bar: v.bar(row, d)})
		}
	}
	return v.withMissing(row, o, largest(there, o)), nil
}

// effects returns the main effects and interactions of a row as parts. σ_d is the uncertainty of a player's whole
// attribution; its pieces have none of their own.
func (v view) effects(row int, o Options) ([]part, error) {
	if err := v.check(o.Columns); err != nil {
		return nil, err
	}
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
	return v.withMissing(row, o, largest(all, o)), nil
}

// largest sorts parts by size, and combines those that were not requested or exceed the maximum.
func largest(parts []part, o Options) []part {
	order := func(a, b part) int {
		return cmp.Or(boolCompare(o.includes(b), o.includes(a)), cmp.Compare(math.Abs(b.mean), math.Abs(a.mean)))
	}
	slices.SortStableFunc(parts, order)
	kept := len(parts)
	if first := slices.IndexFunc(parts, func(p part) bool { return !o.includes(p) }); first >= 0 {
		kept = first
	}
	if limit := o.maxPlayers(); kept > limit || kept == limit && kept < len(parts) {
		kept = limit - 1
	}
	if kept == len(parts) {
		return parts
	}
	rest := part{name: fmt.Sprintf("%d others", len(parts)-kept), player: "others"}
	for _, p := range parts[kept:] {
		rest.mean, rest.std, rest.bar = rest.mean+p.mean, math.Hypot(rest.std, p.std), math.Hypot(rest.bar, p.bar)
	}
	return append(parts[:kept], rest)
}

// includes reports whether a part was requested.
func (o Options) includes(p part) bool {
	return len(o.Columns) == 0 || slices.Contains(o.Columns, p.player) || p.with != "" && slices.Contains(o.Columns, p.with)
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// withMissing appends the missing players of a row as far as there is room; the last one stands for the rest.
func (v view) withMissing(row int, o Options, parts []part) []part {
	var missing []part
	for d := range v.Players {
		if !v.there(row, d) {
			missing = append(missing, part{name: v.cell(row, d), player: v.Players[d], missing: true})
		}
	}
	missing = slices.DeleteFunc(missing, func(p part) bool { return !o.includes(p) })
	room := max(1, o.maxPlayers()-len(parts))
	if len(missing) > room {
		missing = append(missing[:room-1], part{name: fmt.Sprintf("%d columns: missing", len(missing)-room+1), player: "others", missing: true})
	}
	return append(parts, missing...)
}

// cell returns a player's name and its value in a row.
func (v view) cell(row, d int) string {
	c := v.Values[d]
	switch {
	case !v.there(row, d):
		return v.name(d) + ": missing"
	case c == nil:
		return v.name(d)
	case !c.Observed[row]:
		return v.name(d) + " = (missing)" // it has an attribution if its column is in MissingAsLevel
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

// ends returns where the attributions of a row start and end.
func (v view) ends(row int) (base, prediction float64, words string) {
	base, prediction = v.Base[row], v.Prediction[row]
	words = fmt.Sprintf("row %d: %s is %s, from a base of %s", v.number(row), v.unit, v.predicted(row), digits(base))
	if v.Probability != nil && v.Scale != explain.Share {
		words += "; probability " + digits(v.Probability[row])
	}
	return base, prediction, words
}

// predicted returns a prediction and its interval. Both are at least 0 if the target never was negative.
func (v view) predicted(row int) string {
	score, reach := v.Prediction[row], v.Z*v.RangeOf(row)
	lower, upper := v.Range(row)
	switch {
	case v.PredictionStd == nil && v.Scale.Logs():
		return fmt.Sprintf("%s (in original units: %s)", digits(score), digits(v.Link().Response(score)))
	case v.PredictionStd == nil && v.Clipped(row):
		return fmt.Sprintf("0 (the sum is %s)", digits(score))
	case v.PredictionStd == nil:
		return digits(score)
	case v.Scale.Logs():
		return fmt.Sprintf("%s (in original units: %s, %s to %s)", digits(score), digits(v.Link().Response(score)), digits(lower), digits(upper))
	case v.Clipped(row):
		return fmt.Sprintf("0 (%s to %s; the sum is %s)", digits(lower), digits(upper), digits(score))
	case v.NonNegative && score < reach:
		return fmt.Sprintf("%s (%s to %s)", digits(score), digits(lower), digits(upper))
	}
	return fmt.Sprintf("%s ± %s", digits(score), digits(reach))
}

func capital(s string) string { return string(s[0]-'a'+'A') + s[1:] }
