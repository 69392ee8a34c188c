// Package encode turns the rows of a table into the numbers a network reads. An
// Encoder is fitted on training rows only and applies to any table that has its
// columns, matched by name.
package encode

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/psi-shapley/psi/table"
)

// Player is one column of the table as a player of the game.
type Player struct {
	Name string     `json:"name"`
	Kind table.Kind `json:"kind"`

	// A number lies at a position among edges, the ends of its bins: 2.25 is a
	// quarter of the way through the third bin.
	Edges  []float64 `json:"edges,omitempty"`
	Centre float64   `json:"centre,omitempty"`
	Scale  float64   `json:"scale,omitempty"`

	// Levels of a category in sorted order. Row 0 of its embedding is for levels
	// not among them.
	Levels []string `json:"levels,omitempty"`
}

// Numeric says whether the player is encoded as a number.
func (p *Player) Numeric() bool { return p.Kind != table.Category }

// Encoder holds the players: numeric ones first, then categories, each in the
// table's order.
type Encoder struct {
	Players []Player `json:"players"`
	Bins    int      `json:"bins"` // most bins of a numeric player
}

// Fit learns the encoding of the named columns from the rows of t.
func Fit(t *table.Table, columns []string, bins int) (*Encoder, error) {
	if bins < 1 {
		return nil, fmt.Errorf("encode: bins must be positive, not %d", bins)
	}
	e := &Encoder{Bins: bins}
	var categories []Player
	for _, name := range columns {
		c := t.Column(name)
		if c == nil {
			return nil, fmt.Errorf("encode: the table has no column %q", name)
		}
		p := Player{Name: name, Kind: c.Kind}
		if p.Numeric() {
			fitNumber(&p, c, bins)
			e.Players = append(e.Players, p)
		} else {
			p.Levels = seenLevels(c)
			categories = append(categories, p)
		}
	}
	e.Players = append(e.Players, categories...)
	return e, nil
}

func fitNumber(p *Player, c *table.Column, bins int) {
	var seen []float64
	for i, v := range c.Numbers {
		if c.Observed[i] {
			seen = append(seen, v)
		}
	}
	sort.Float64s(seen)
	p.Edges = Edges(seen, bins)
	p.Centre, p.Scale = moments(seen)
}

// moments are the mean and standard deviation of x. A constant has a standard
// deviation of 1, so that it can be divided by.
func moments(x []float64) (mean, sd float64) {
	if len(x) == 0 || slices.Min(x) == slices.Max(x) {
		for _, v := range x[:min(1, len(x))] {
			mean = v
		}
		return mean, 1
	}
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		sd += (v - mean) * (v - mean) / float64(len(x))
	}
	return mean, math.Sqrt(sd)
}

func seenLevels(c *table.Column) []string {
	used := make([]bool, len(c.Levels))
	for i, code := range c.Codes {
		if c.Observed[i] {
			used[code] = true
		}
	}
	var levels []string
	for code, level := range c.Levels {
		if used[code] {
			levels = append(levels, level)
		}
	}
	slices.Sort(levels)
	return levels
}

// Numeric is the number of numeric players.
func (e *Encoder) Numeric() int {
	for i, p := range e.Players {
		if !p.Numeric() {
			return i
		}
	}
	return len(e.Players)
}

// EmbeddingRows is, for each categorical player, its number of levels and one more.
func (e *Encoder) EmbeddingRows() []int {
	categories := e.Players[e.Numeric():]
	rows := make([]int, 0, len(categories))
	for _, p := range categories {
		rows = append(rows, len(p.Levels)+1)
	}
	return rows
}

// Encode writes the rows of t.
func (e *Encoder) Encode(t *table.Table) (*Batch, error) {
	b := NewBatch(t.Rows(), e.Numeric(), len(e.Players)-e.Numeric())
	offset := int32(0) // of the player's rows in the embedding table
	for d := range e.Players {
		p := &e.Players[d]
		c := t.Column(p.Name)
		if c == nil {
			return nil, fmt.Errorf("encode: the table has no column %q, which the model was trained on", p.Name)
		}
		if (c.Kind == table.Category) == p.Numeric() {
			return nil, fmt.Errorf("encode: column %q is a %v here, but the model was trained on a %v", p.Name, c.Kind, p.Kind)
		}
		for i, seen := range c.Observed {
			if seen {
				b.Observed[i*b.Players()+d] = 1
			}
		}
		if p.Numeric() {
			p.encodeNumbers(c, b, d)
		} else {
			p.encodeLevels(c, b, d-b.Numeric, offset)
			offset += int32(len(p.Levels)) + 1
		}
	}
	return b, nil
}

// farthest bounds standardised values: a sentinel such as 1e308 must not become infinite.
const farthest = 1e6

func (p *Player) encodeNumbers(c *table.Column, b *Batch, d int) {
	for i, v := range c.Numbers {
		if c.Observed[i] {
			cell := b.Numbers[(i*b.Numeric+d)*2:]
			cell[0] = float32(position(p.Edges, v))
			cell[1] = float32(max(-farthest, min(farthest, (v-p.Centre)/p.Scale)))
		}
	}
}

func (p *Player) encodeLevels(c *table.Column, b *Batch, d int, offset int32) {
	rows := make([]int32, len(c.Levels)) // of this table's levels
	for code, level := range c.Levels {
		if at, found := slices.BinarySearch(p.Levels, level); found {
			rows[code] = int32(at) + 1
		}
	}
	for i, code := range c.Codes {
		row := int32(0)
		if c.Observed[i] {
			row = rows[code]
		}
		b.Codes[i*b.Categorical+d] = offset + row
	}
}
