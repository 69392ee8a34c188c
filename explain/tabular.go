package explain

import (
	"errors"
	"math"

	"github.com/psi-shapley/psi/table"
)

// reservedNames returns the wide columns that are not players, and "file", which precedes them if a table has rows of
// several files.
func reservedNames() []string {
	return []string{"file", "row", "output", "prediction", "prediction_std", "probability", "base"}
}

// Wide returns a table with a line for each row and output, and two or three columns for each player:
//
//	[file,] row, [output,] prediction, prediction_std, [probability,] base, <player>, <player>__std, [<player>__model_std,] …, [<a>__x__<b>, …]
//
// Columns in brackets are present if they apply: file if the rows have one, output if there are several. Interactions
// are those of players a before b. A player that is not observed has 0 in all its columns, so that base and the players
// add up to the prediction in every line. A player with the name of another column is written as <player>__mean.
func (e *Explanation) Wide() (*table.Table, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	outputs, players := len(e.Outputs), len(e.Players)
	lines := e.Rows * outputs
	perLine := func(name string, values []float64) *table.Column {
		return numberColumn(name, lines, func(line int) float64 { return known(values, line) })
	}

	columns := make([]*table.Column, 0, 6+3*players)
	columns = append(columns, numberColumn("row", lines, func(line int) float64 { return float64(e.FirstRow + line/outputs) }))
	if outputs > 1 {
		columns = append(columns, levelColumn("output", e.Outputs, lines, func(line int) int { return line % outputs }))
	}
	columns = append(columns, perLine("prediction", e.Prediction), perLine("prediction_std", e.PredictionStd))
	if e.Probability != nil {
		columns = append(columns, perLine("probability", e.Probability))
	}
	columns = append(columns, perLine("base", e.Base))
	means := e.meanNames()
	for d, player := range e.Players {
		columns = append(columns,
			numberColumn(means[d], lines, func(line int) float64 { return e.Mean[line*players+d] }),
			numberColumn(stdName(player), lines, func(line int) float64 { return known(e.Std, line*players+d) }))
		if e.ModelStd != nil {
			columns = append(columns, numberColumn(modelStdName(player), lines, func(line int) float64 { return e.ModelStd[line*players+d] }))
		}
	}
	if e.Interactions != nil {
		columns = append(columns, e.pairColumns(columns)...)
	}
	return e.ofFile(columns, lines)
}

// pairColumns returns the interactions under names that no other column has.
func (e *Explanation) pairColumns(others []*table.Column) []*table.Column {
	taken := map[string]bool{"file": true}
	for _, c := range others {
		taken[c.Name] = true
	}
	var pairs []*table.Column
	outputs := len(e.Outputs)
	for a := range e.Players {
		for b := a + 1; b < len(e.Players); b++ {
			name := e.Players[a] + "__x__" + e.Players[b]
			for taken[name] {
				name += "__x"
			}
			taken[name] = true
			pairs = append(pairs, numberColumn(name, e.Rows*outputs, func(line int) float64 {
				return e.Interactions[e.pairAt(line/outputs, line%outputs, a, b)]
			}))
		}
	}
	return pairs
}

func stdName(player string) string { return player + "__std" }

func modelStdName(player string) string { return player + "__model_std" }

// meanNames returns the column names of the players' means: the players' own names, unless another column has them.
func (e *Explanation) meanNames() []string {
	taken := make(map[string]bool)
	for _, name := range reservedNames() {
		taken[name] = true
	}
	for _, player := range e.Players {
		taken[stdName(player)], taken[modelStdName(player)] = true, true
	}
	names := make([]string, len(e.Players))
	for d, player := range e.Players {
		if !taken[player] {
			names[d] = player
		}
	}
	for _, name := range names {
		taken[name] = true
	}
	for d, player := range e.Players {
		if names[d] != "" {
			continue
		}
		name := player + "__mean"
		for taken[name] {
			name += "__mean"
		}
		names[d], taken[name] = name, true
	}
	return names
}

// Long returns a table with a line for each row, output and player:
//
//	[file,] row, output, player, value, observed, mean, std, [model_std,] lower, upper, p_positive, p_top
//
// model_std is present if ModelStd is known. value is text, whatever the kind of its column. Interactions are not
// included.
func (e *Explanation) Long() (*table.Table, error) {
	if e.Interactions != nil {
		return nil, errors.New("explain: the long layout has no place for interactions; use the wide one, or write them to a .json file")
	}
	if err := e.Validate(); err != nil {
		return nil, err
	}
	outputs, players := len(e.Outputs), len(e.Players)
	lines := len(e.Mean)
	list := make([]Attribution, 0, lines)
	top, law := newTop(e.Top), e.law()
	for row := range e.Rows {
		for output := range e.Outputs {
			list = append(list, e.attributions(row, output, top, law)...)
		}
	}

	values, known, observed := make([]string, lines), make([]bool, lines), make([]bool, lines)
	for line, a := range list {
		column := e.Values[line%players]
		values[line] = a.Value
		known[line] = column != nil && column.Observed[line/players/outputs]
		observed[line] = a.Observed
	}
	number := func(name string, value func(a *Attribution) float64) *table.Column {
		return numberColumn(name, lines, func(line int) float64 { return value(&list[line]) })
	}
	columns := []*table.Column{
		numberColumn("row", lines, func(line int) float64 { return float64(e.FirstRow + line/players/outputs) }),
		levelColumn("output", e.Outputs, lines, func(line int) int { return line / players % outputs }),
		levelColumn("player", e.Players, lines, func(line int) int { return line % players }),
		table.CategoryColumn("value", values, known),
		table.BooleanColumn("observed", observed, nil),
		number("mean", func(a *Attribution) float64 { return a.Mean }),
		number("std", func(a *Attribution) float64 { return a.Std }),
	}
	if e.ModelStd != nil {
		columns = append(columns, number("model_std", func(a *Attribution) float64 { return a.ModelStd }))
	}
	return e.ofFile(append(columns,
		number("lower", func(a *Attribution) float64 { return a.Lower }),
		number("upper", func(a *Attribution) float64 { return a.Upper }),
		number("p_positive", func(a *Attribution) float64 { return a.PPositive }),
		number("p_top", func(a *Attribution) float64 { return a.PTop }),
	), lines)
}

// ofFile returns the table, with the name of the file as the first column if the rows have one.
func (e *Explanation) ofFile(columns []*table.Column, lines int) (*table.Table, error) {
	if e.File != "" {
		columns = append([]*table.Column{levelColumn("file", []string{e.File}, lines, func(int) int { return 0 })}, columns...)
	}
	return table.New(columns...)
}

// known returns an element of an array that may be nil; NaN if it is.
func known(values []float64, at int) float64 {
	if values == nil {
		return math.NaN()
	}
	return values[at]
}

// numberColumn returns a column whose cells are missing where the value is not finite.
func numberColumn(name string, lines int, value func(line int) float64) *table.Column {
	c := &table.Column{Name: name, Kind: table.Number, Numbers: make([]float64, lines), Observed: make([]bool, lines)}
	for line := range lines {
		if v := value(line); finite(v) {
			c.Numbers[line], c.Observed[line] = v, true
		}
	}
	return c
}

// levelColumn returns a column with one of the levels in every line.
func levelColumn(name string, levels []string, lines int, level func(line int) int) *table.Column {
	c := &table.Column{Name: name, Kind: table.Category, Levels: levels, Codes: make([]int32, lines), Observed: make([]bool, lines)}
	for line := range lines {
		c.Codes[line], c.Observed[line] = int32(level(line)), true
	}
	return c
}
