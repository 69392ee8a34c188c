package psi

import (
	"math"
	"slices"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/table"
)

// Input describes one column of the model.
type Input struct {
	Name   string
	Kind   table.Kind
	Player int      // index among the model's players
	Gap    bool     // a missing cell is a level of its own, distinct from an unknown label
	Labels []string // labels of a category that occurred in training; read-only

	Reading *table.Reading // how its text is parsed; nil for plain values

	// Low and High are the minimum and maximum in the training rows: of a number, a boolean (0 or 1) or a time (seconds
	// since 1970). Both are NaN if training had no values.
	Low, High float64
	Whole     bool // whether the numbers appear to be integers

	// Typical is a typical value, TypicalLabel a typical label. They are the median and the most frequent label of the
	// reference rows. Without reference rows they are an estimate from the bin edges and the first label.
	Typical      float64
	TypicalLabel string
}

// Inputs returns the model's columns in their order.
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

// seemWhole reports whether most bin edges are integers. Quantiles of integers may lie between two of them.
func seemWhole(edges []float64) bool {
	whole := 0
	for _, v := range edges {
		if v == math.Trunc(v) {
			whole++
		}
	}
	return 2*whole > len(edges)
}

// closest returns the edge nearest to v.
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

// usual returns a typical value of a numeric player: the median of the reference rows. Without reference rows, it is
// the value nearest to the mean if the column has few values. For many values it is the middle of the bins, which is
// the median unless many equal cells make quantiles coincide. In that case it is the end of the bins that is nearer to
// the mean.
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

// kept returns the values of a numeric player in the reference rows.
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

// commonest returns the most frequent level in the reference rows, or the first level without them.
func (m *Model) commonest(d int) int {
	e := m.manifest.Encoder
	k := d - e.Numeric()
	first := int32(1) // embedding row of the first level, after those of earlier players and the row of other levels
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

// Base returns φ_0 of each output: the prediction before any cell is known. Base and attributions add up to the
// prediction.
func (m *Model) Base() []float64 { return m.bases() }
