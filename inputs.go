package psi

import (
	"math"
	"slices"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/table"
)

// Input is what a model knows of the cells of one of its columns.
type Input struct {
	Name   string
	Kind   table.Kind
	Player int      // place among the model's players
	Gap    bool     // a missing cell is a level of its own, other than an unknown one
	Labels []string // of a category, those that training knew; they are not to be changed

	Reading *table.Reading // of its text; nil if it must be written plainly

	// Low and High are the least and the greatest cell that training had: of a number, of a boolean, which is 0 or 1, and
	// of a time, in seconds since 1970. Both are NaN if it had none.
	Low, High float64
	Whole     bool // the numbers seem to be whole

	// Typical is a usual cell of that kind, TypicalLabel one of a category: the median and the commonest label of the rows
	// that the model keeps. A model that keeps none has a guess (see usual) and the first label.
	Typical      float64
	TypicalLabel string
}

// Inputs are the model's columns, in its order.
func (m *Model) Inputs() []Input {
	inputs := make([]Input, len(m.manifest.Columns))
	for k, p := range m.own.players {
		for _, j := range p.columns {
			inputs[j] = m.input(j)
			inputs[j].Player = k
		}
	}
	return inputs
}

func (m *Model) input(column int) Input {
	d := m.places[column]
	p := &m.manifest.Encoder.Players[d]
	in := Input{Name: p.Name, Kind: p.Kind, Gap: p.Gap, Labels: p.Levels, Low: math.NaN(), High: math.NaN(), Typical: math.NaN(), Reading: m.manifest.Columns[column].Reading}
	if n := len(p.Edges); n > 0 {
		in.Low, in.High = p.Edges[0], p.Edges[n-1]
		in.Whole = seemWhole(p.Edges)
		in.Typical = m.usual(d)
	}
	if len(p.Levels) > 0 {
		in.TypicalLabel = p.Levels[m.commonest(d)]
	}
	return in
}

// seemWhole says whether most ends of bins are whole numbers: quantiles of such may lie between two of them.
func seemWhole(edges []float64) bool {
	whole := 0
	for _, v := range edges {
		if v == math.Trunc(v) {
			whole++
		}
	}
	return 2*whole > len(edges)
}

// closest is the edge with the least distance from v.
func closest(edges []float64, v float64) float64 {
	return slices.MinFunc(edges, func(a, b float64) int {
		switch x, y := math.Abs(a-v), math.Abs(b-v); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
}

// usual is a cell that a numeric player is likely to have: the median of the rows that are kept. Without rows, of few
// values it is the one nearest to the mean; of many, the middle of the bins is the median unless so many cells are equal
// that the quantiles fall together, and then the mean lies nearer to an end.
func (m *Model) usual(d int) float64 {
	p := &m.manifest.Encoder.Players[d]
	n := len(p.Edges)
	switch seen := m.kept(d); {
	case len(seen) > 0:
		slices.Sort(seen)
		return closest(p.Edges, seen[len(seen)/2])
	case n <= m.manifest.Encoder.Bins:
		return closest(p.Edges, p.Centre)
	}
	return closest([]float64{p.Edges[0], p.Edges[n/2], p.Edges[n-1]}, p.Centre)
}

// kept are a numeric player's cells in the rows that are kept.
func (m *Model) kept(d int) []float64 {
	p := &m.manifest.Encoder.Players[d]
	var seen []float64
	for i, b := 0, m.reference; b != nil && i < b.Rows; i++ {
		cell := b.Numbers[(i*b.Numeric+d)*2:]
		if b.Observed[i*b.Players()+d] != 0 && cell[0] != encode.GapPosition {
			seen = append(seen, p.Centre+p.Scale*float64(cell[1]))
		}
	}
	return seen
}

// commonest is the level that most of the kept rows have, the first if none are kept.
func (m *Model) commonest(d int) int {
	e := m.manifest.Encoder
	k := d - e.Numeric()
	first := int32(1) // row of the embedding of the first level, after those of other players and the one for other levels
	for _, rows := range e.EmbeddingRows()[:k] {
		first += int32(rows)
	}
	counts := make([]int, len(e.Players[d].Levels))
	for i, b := 0, m.reference; b != nil && i < b.Rows; i++ {
		level := int(b.Codes[i*b.Categorical+k] - first)
		if b.Observed[i*b.Players()+d] != 0 && level >= 0 && level < len(counts) {
			counts[level]++
		}
	}
	return slices.Index(counts, slices.Max(counts))
}

// Base is what each output is before any cell is known: attributions add up to the prediction from there.
func (m *Model) Base() []float64 { return m.bases() }
