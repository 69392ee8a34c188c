package report

import (
	"math"
	"unicode/utf8"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// Rows are the rows that the page shows individually. Arrays are flat and row-major: the last axis varies fastest.
type Rows struct {
	Numbers []int   `json:"numbers"` // row numbers in the table, from 0
	Cells   []Cells `json:"cells"`   // by column
	Truth   Floats  `json:"truth"`   // numbers or indices of classes; NaN where unknown; nil if all are

	// [rows, outputs]
	Prediction    Floats `json:"prediction"`
	PredictionStd Floats `json:"prediction_std"`
	RangeStd      Floats `json:"range_std"` // standard deviation behind the intervals, if not prediction_std; nil for classes
	HiddenStd     Floats `json:"hidden_std"`
	Probability   Floats `json:"probability"` // nil for a number

	// [rows, outputs, players]
	Mean     Attributions `json:"mean"`
	Std      Attributions `json:"std"`       // variation of the contribution among rows like this one
	ModelStd Attributions `json:"model_std"` // epistemic uncertainty of Mean over samples of training rows; nil if unknown

	Observed Bits `json:"observed"` // [rows, players]
	Other    Bits `json:"other"`    // [rows, players]: labels that did not occur in training; nil if there are none
}

// Cells holds the cells of a column: numbers, or indices into labels, where −1 is missing.
type Cells struct {
	Numbers Digits   `json:"numbers,omitempty"`
	Codes   []int    `json:"codes,omitempty"`
	Labels  []string `json:"labels,omitempty"`
}

// longestLabel is the maximum length of a label on a page.
const longestLabel = 80

// cellsOf returns the cells of some rows, with the labels that occur in them.
func cellsOf(c *table.Column, rows []int) Cells {
	var cells Cells
	if c.Kind == table.Number || c.Kind == table.Time {
		cells.Numbers = make(Digits, len(rows))
		for i, row := range rows {
			if cells.Numbers[i] = math.NaN(); c.Observed[row] {
				cells.Numbers[i] = c.Numbers[row]
			}
		}
		return cells
	}
	at := map[string]int{}
	cells.Codes, cells.Labels = make([]int, len(rows)), []string{}
	for i, row := range rows {
		if !c.Observed[row] {
			cells.Codes[i] = -1
			continue
		}
		label := c.Text(row)
		code, met := at[label]
		if !met {
			code = len(cells.Labels)
			at[label] = code
			cells.Labels = append(cells.Labels, shorten(label))
		}
		cells.Codes[i] = code
	}
	return cells
}

func shorten(label string) string { return shortenTo(label, longestLabel) }

func shortenTo(words string, limit int) string {
	if utf8.RuneCountInString(words) <= limit {
		return words
	}
	return string([]rune(words)[:limit-1]) + "…"
}

// some selects rows of an array [rows, width]; nil stays nil.
func some[T any](values []T, rows []int, width int) []T {
	if values == nil {
		return nil
	}
	list := make([]T, 0, len(rows)*width)
	for _, row := range rows {
		list = append(list, values[row*width:(row+1)*width]...)
	}
	return list
}

// rowsOfPage selects rows of the explanation of a sample.
func rowsOfPage(e *explain.Explanation, columns []*table.Column, numbers []int, truth []float64, rows []int) Rows {
	outputs, players := len(e.Outputs), len(e.Players)
	r := Rows{
		Numbers: some(numbers, rows, 1), Truth: truth,
		Prediction: some(e.Prediction, rows, outputs), PredictionStd: some(e.PredictionStd, rows, outputs),
		RangeStd: some(e.RangeStd, rows, outputs), HiddenStd: some(e.HiddenStd, rows, outputs), Probability: some(e.Probability, rows, outputs),
		Mean: some(e.Mean, rows, outputs*players), Std: some(e.Std, rows, outputs*players), ModelStd: some(e.ModelStd, rows, outputs*players),
		Observed: some(e.Observed, rows, players), Other: some(e.Other, rows, players),
	}
	for _, c := range columns {
		r.Cells = append(r.Cells, cellsOf(c, rows))
	}
	return r
}
