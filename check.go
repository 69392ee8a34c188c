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

// check evaluates rows that contain every bin edge, label, extreme and gap of the model's columns. It returns a
// NotFiniteError if an answer is not finite. For a column with many labels it uses the labels with the largest weights.
//
// Each row sets one block of columns. With hundreds of columns at their extremes at once, the product of a sound model
// may overflow too. In that case check decides by smaller blocks.
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

// checkNumbers is the largest size of a row for which all checkRows are built. Larger models are checked with fewer
// rows, so that opening a file takes little more memory and time than reading its weights.
const checkNumbers = 1 << 18

// numbersPerRow estimates how many numbers a pass holds per row: D·in and D·out for a layer [D, in, out].
func (m *Model) numbersPerRow() int {
	n := 0
	for _, w := range m.config.Weights() {
		if axes := len(w.Dims); axes > 1 && w.Name != "levels" {
			n += w.Size()/w.Dims[axes-1] + w.Size()/w.Dims[axes-2]
		}
	}
	return n
}

// checkRows returns a row without cells, a row with the middle value of every column, and rows for each block of
// columns.
func (m *Model) checkRows(blockColumns int) (*encode.Batch, error) {
	e := m.manifest.Encoder
	d := len(e.Players)
	rows := min(checkRows, max(minRows, checkRows*checkNumbers/max(1, m.numbersPerRow())))
	blocks := (d + blockColumns - 1) / blockColumns
	limit := max(minValues, min(maxValues, rows/blocks))
	columns := make([]*table.Column, d)
	width := make([]int, blocks) // number of rows of each block
	for j := range e.Players {
		columns[j] = m.checkValues(j, limit)
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
	return m.encode(t)
}

// spread repeats the cells of a column over rows [from, from+width). The other rows are missing, except row 1, which
// has the middle value.
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

// checkValues returns at most the given number of values at which a column is checked, the last one missing.
func (m *Model) checkValues(d, limit int) *table.Column {
	p := &m.manifest.Encoder.Players[d]
	var numbers []float64
	var labels []string
	if p.Numeric() {
		n := min(len(p.Edges), limit-3)
		numbers = append(numbers, -math.MaxFloat64)
		for k := range n {
			numbers = append(numbers, p.Edges[k*(len(p.Edges)-1)/max(1, n-1)])
		}
		numbers = append(numbers, math.MaxFloat64, 0)
	} else {
		labels = append(m.heaviestLabels(d, limit-2), unknownLabel(p.Levels), "")
	}
	observed := slices.Repeat([]bool{true}, max(len(numbers), len(labels)))
	observed[len(observed)-1] = false
	if p.Numeric() {
		return table.NumberColumn(p.Name, numbers, observed) // also for booleans and times, which have no such values
	}
	return table.CategoryColumn(p.Name, labels, observed)
}

// heaviestLabels returns at most the given number of labels, those with the largest weights.
func (m *Model) heaviestLabels(d, limit int) []string {
	e := m.manifest.Encoder
	levels := e.Players[d].Levels
	if len(levels) <= limit {
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
	labels := make([]string, limit)
	for i := range labels {
		labels[i] = levels[order[i]]
	}
	return labels
}

// unknownLabel returns a label that is not among the levels, which are sorted.
func unknownLabel(levels []string) string {
	if len(levels) == 0 {
		return "?"
	}
	return levels[len(levels)-1] + "?"
}
