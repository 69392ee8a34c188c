package psi

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/table"
)

// notFinite turns the error of a row whose answer is not finite into one that users understand; first is the number of the
// first row that was passed. Other errors stay as they are.
func notFinite(err error, first int) error {
	e, is := errors.AsType[*form.NotFiniteError](err)
	if !is {
		return err
	}
	return &table.Error{
		Row: first + e.Row, Message: "the model's answer for this row is NaN or infinite",
		Remedy: "check the row for extreme values; if it has none, train the model again", Err: err,
	}
}

// The rows that check makes.
const (
	checkBlocks  = 8   // of columns
	checkColumns = 64  // whose factors, each below 2, cannot overflow however extreme their values are
	checkRows    = 512 // at most; fewer if a row takes many numbers
	minRows      = 32
	maxValues    = 256 // of a column
	minValues    = 4
)

// check passes rows through the model that have every bin edge, label, extreme and gap of its columns, and fails with a
// NotFiniteError if an answer is not finite. Of a column with many labels it takes those whose weights are largest.
//
// Columns take their values side by side, a block of columns in each row. Where hundreds of columns are at their extremes
// at once, the product of a sound model may overflow too: smaller blocks decide then.
func (m *Model) check(ctx context.Context) error {
	d := len(m.manifest.Encoder.Players)
	for columns := max(checkColumns, (d+checkBlocks-1)/checkBlocks); ; columns = max(checkColumns, columns/8) {
		rows, err := m.checkRows(columns)
		if err != nil {
			return err
		}
		_, err = m.own.Pass(ctx, rows, form.Everything|form.Doubt)
		if _, is := errors.AsType[*form.NotFiniteError](err); !is || columns == checkColumns {
			return err
		}
	}
}

// checkNumbers of a row are the most that all checkRows are made for. Larger models are checked by fewer rows, so that opening a file
// takes little more memory and time than reading its weights does.
const checkNumbers = 1 << 18

// numbersPerRow is about how many numbers a pass holds for each row: for a layer [D, in, out], D·in and D·out.
func (m *Model) numbersPerRow() int {
	n := 0
	for _, w := range m.config.Weights() {
		if axes := len(w.Dims); axes > 1 && w.Name != "levels" {
			n += w.Size()/w.Dims[axes-1] + w.Size()/w.Dims[axes-2]
		}
	}
	return n
}

// checkRows are a row without a cell, one with the middle value of every column, and rows for each block of so many
// columns.
func (m *Model) checkRows(blockColumns int) (*encode.Batch, error) {
	e := m.manifest.Encoder
	d := len(e.Players)
	rows := min(checkRows, max(minRows, checkRows*checkNumbers/m.numbersPerRow()))
	blocks := (d + blockColumns - 1) / blockColumns
	most := max(minValues, min(maxValues, rows/blocks))
	columns := make([]*table.Column, d)
	width := make([]int, blocks) // rows of each block
	for j := range e.Players {
		columns[j] = m.checkValues(j, most)
		b := j * blocks / d
		width[b] = max(width[b], columns[j].Len())
	}
	total := 2
	for _, w := range width {
		total += w
	}
	all := make([]*table.Column, d)
	for j, c := range columns {
		from := 2
		for _, w := range width[:j*blocks/d] {
			from += w
		}
		all[j] = spread(c, from, width[j*blocks/d], total)
	}
	t, err := table.New(all...)
	if err != nil {
		return nil, err
	}
	return e.Encode(t)
}

// spread puts the cells of a column, again and again, into rows [from, from+width) of a column that is else missing, but
// for row 1, which has the middle one.
func spread(c *table.Column, from, width, rows int) *table.Column {
	s := &table.Column{Name: c.Name, Kind: c.Kind, Observed: make([]bool, rows), Levels: c.Levels}
	put := func(row, cell int) {
		if s.Observed[row] = c.Observed[cell]; c.Kind != table.Category {
			s.Numbers[row] = c.Numbers[cell]
		} else {
			s.Codes[row] = c.Codes[cell]
		}
	}
	if c.Kind == table.Category {
		s.Codes = slices.Repeat([]int32{-1}, rows)
	} else {
		s.Numbers = make([]float64, rows)
	}
	put(1, (c.Len()-1)/2)
	for i := range width {
		put(from+i, i%c.Len())
	}
	return s
}

// checkValues are the values that a player's cells are checked at, at most so many, the last one missing.
func (m *Model) checkValues(d, most int) *table.Column {
	p := &m.manifest.Encoder.Players[d]
	var numbers []float64
	var labels []string
	if p.Numeric() {
		n := min(len(p.Edges), most-3)
		numbers = append(numbers, -math.MaxFloat64)
		for k := range n {
			numbers = append(numbers, p.Edges[k*(len(p.Edges)-1)/max(1, n-1)])
		}
		numbers = append(numbers, math.MaxFloat64, 0)
	} else {
		labels = append(m.heaviest(d, most-2), unknownLabel(p.Levels), "")
	}
	observed := slices.Repeat([]bool{true}, max(len(numbers), len(labels)))
	observed[len(observed)-1] = false
	if p.Numeric() {
		return table.NumberColumn(p.Name, numbers, observed) // also for a boolean or a time, which have no such values
	}
	return table.CategoryColumn(p.Name, labels, observed)
}

// heaviest are the labels of a category, at most so many: those that have the largest weights.
func (m *Model) heaviest(d, most int) []string {
	e := m.manifest.Encoder
	levels := e.Players[d].Levels
	if len(levels) <= most {
		return slices.Clone(levels)
	}
	first := 1 // row of the embedding of the first level
	for _, rows := range e.EmbeddingRows()[:d-e.Numeric()] {
		first += rows
	}
	width := m.manifest.Settings.Embedding
	weight := make([]float32, len(levels))
	order := make([]int, len(levels))
	for _, member := range m.members {
		for i, w := range member.Weights["levels"][first*width:][:len(levels)*width] {
			weight[i/width] = max(weight[i/width], w, -w)
		}
	}
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(weight[b], weight[a]), cmp.Compare(a, b)) })
	labels := make([]string, most)
	for i := range labels {
		labels[i] = levels[order[i]]
	}
	return labels
}

// unknownLabel is one that is not among the levels, which are sorted.
func unknownLabel(levels []string) string {
	if len(levels) == 0 {
		return "?"
	}
	return levels[len(levels)-1] + "?"
}
