// Package encode turns the rows of a table into the numbers a network reads. An
// Encoder is fitted on training rows only and applies to any table that has its
// columns, matched by name.
package encode

import (
	"fmt"
	"slices"

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
	columns := byName(t)
	offset := int32(0) // of the player's rows in the embedding table
	for d := range e.Players {
		p := &e.Players[d]
		c := columns[p.Name]
		if c == nil {
			return nil, &table.Error{
				Row: noRow, Column: p.Name,
				Message: "the table has no such column, which the model was trained on", Remedy: "add it, or name it in --unknown",
			}
		}
		if err := p.checkKind(c); err != nil {
			return nil, err
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

// byName finds columns faster than t.Column, which looks through all of them each time.
func byName(t *table.Table) map[string]*table.Column {
	columns := make(map[string]*table.Column, len(t.Columns))
	for _, c := range t.Columns {
		columns[c.Name] = c
	}
	return columns
}

// checkKind reports a category where the player is a number, or the other way round.
func (p *Player) checkKind(c *table.Column) error {
	if (c.Kind == table.Category) == (p.Kind == table.Category) {
		return nil
	}
	remedies := map[table.Kind]string{
		table.Number:   "write every cell as a number, or leave it empty",
		table.Boolean:  "write every cell as true or false, or leave it empty",
		table.Time:     "write every cell as a time, or leave it empty",
		table.Category: "read the column as a category",
	}
	return &table.Error{
		Row: noRow, Column: p.Name,
		Message: fmt.Sprintf("the column is a %v here, but the model takes it as a %v", c.Kind, p.Kind), Remedy: remedies[p.Kind],
	}
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
