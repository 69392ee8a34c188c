package explain

import (
	"errors"

	"github.com/psi-shapley/psi/table"
)

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
