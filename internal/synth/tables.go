package synth

import (
	"slices"
	"strconv"

	"github.com/psi-shapley/psi/table"
)

// Table returns what a model may see: the columns x1, x2, x3, y.
func (s *Sample) Table() (*table.Table, error) {
	return table.New(append(perInput("x", s.X), table.NumberColumn("y", s.Y, nil))...)
}

// TruthTable returns what it may not: row, mean_x1..3, std_x1..3, draw_x1..3, noise_std, expected_y. On synth1-binary
// expected_y is on the scale of the rest, the log-odds.
func (s *Sample) TruthTable() (*table.Table, error) {
	row := make([]float64, s.Rows)
	for i := range row {
		row[i] = float64(i)
	}
	return table.New(slices.Concat(
		[]*table.Column{table.NumberColumn("row", row, nil)},
		perInput("mean_x", s.Mean),
		perInput("std_x", s.Std),
		perInput("draw_x", s.Draw),
		[]*table.Column{
			table.NumberColumn("noise_std", slices.Repeat([]float64{s.NoiseStd}, s.Rows), nil),
			table.NumberColumn("expected_y", s.Expected, nil),
		},
	)...)
}

// perInput returns one column per input, named prefix1, prefix2, prefix3.
func perInput(prefix string, values [columns][]float64) []*table.Column {
	cols := make([]*table.Column, columns)
	for d := range cols {
		cols[d] = table.NumberColumn(prefix+strconv.Itoa(d+1), values[d], nil)
	}
	return cols
}
