package synth

import (
	"slices"

	"github.com/psi-shapley/psi/table"
)

// Table returns what a model is trained on: the features and y.
func (s *Sample) Table() (*table.Table, error) {
	return table.New(append(s.perInput("", s.X), table.NumberColumn("y", s.Y, nil))...)
}

// TruthTable returns the ground truth: row, mean_x1, …, noise_std, expected_y, and after the means std_x1, …, draw_x1,
// … for the sets of App. H.1. On synth1-binary and logit expected_y is on the scale of the rest, the log odds.
func (s *Sample) TruthTable() (*table.Table, error) {
	row := make([]float64, s.Rows)
	for i := range row {
		row[i] = float64(i)
	}
	return table.New(slices.Concat(
		[]*table.Column{table.NumberColumn("row", row, nil)},
		s.perInput("mean_", s.Mean),
		s.perInput("std_", s.Std),
		s.perInput("draw_", s.Draw),
		[]*table.Column{
			table.NumberColumn("noise_std", s.NoiseStd, nil),
			table.NumberColumn("expected_y", s.Expected, nil),
		},
	)...)
}

// perInput returns one column per feature, named after it; none if there are no values.
func (s *Sample) perInput(prefix string, values [][]float64) []*table.Column {
	cols := make([]*table.Column, len(values))
	for d := range cols {
		cols[d] = table.NumberColumn(prefix+s.Columns[d], values[d], nil)
	}
	return cols
}
