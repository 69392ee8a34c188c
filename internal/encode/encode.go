// Package encode converts the rows of a table to the numeric input of a network. An Encoder is fitted on training rows
// only and applies to any table with its columns, matched by name.
package encode

import (
	"fmt"
	"slices"

	"github.com/psi-shapley/psi/table"
)

// Player is a column of the table as a player of the game.
type Player struct {
	Name string     `json:"name"`
	Kind table.Kind `json:"kind"`

	// Edges are the bin edges of a number, which is encoded as a position: 2.25 is a quarter of the way through the
	// third bin.
	Edges  []float64 `json:"edges,omitempty"`
	Centre float64   `json:"centre,omitempty"`
	Scale  float64   `json:"scale,omitempty"`

	// Cycles marks the periods of a time that are used: day, week, month, year.
	Cycles []bool `json:"cycles,omitempty"`

	// Levels of a category in sorted order. Row 0 of its embedding is for other levels, Rare of which occur in training
	// rows.
	Levels []string `json:"levels,omitempty"`
	Rare   int      `json:"rare,omitempty"`

	// Gap makes a missing cell a level of its own: it is observed, as an embedding row after those of the levels, or as
	// a number at position GapPosition.
	Gap bool `json:"gap,omitempty"`
}

// GapPosition marks a missing number that is a level of its own. No number has this position.
const GapPosition = -1

// Numeric reports whether the player is encoded as a number.
func (p *Player) Numeric() bool { return p.Kind != table.Category }

// rank returns the order of the player's kind among players.
func (p *Player) rank() int {
	switch p.Kind {
	case table.Category:
		return 2
	case table.Time:
		return 1
	}
	return 0
}

// embeddingRows returns the number of embedding rows: one for other levels, one for each level, and one for a gap.
func (p *Player) embeddingRows() int {
	if p.Gap {
		return len(p.Levels) + 2
	}
	return len(p.Levels) + 1
}

// Encoder holds the players: numbers first, then times, then categories, each in the table's order.
type Encoder struct {
	Players []Player `json:"players"`
	Bins    int      `json:"bins"` // maximum number of bins of a numeric player
}

// Numeric returns the number of numeric players, including times.
func (e *Encoder) Numeric() int { return e.upTo(1) }

// Times returns the number of times, the last of the numeric players.
func (e *Encoder) Times() int { return e.upTo(1) - e.upTo(0) }

// upTo counts the players up to a rank.
func (e *Encoder) upTo(rank int) int {
	for i := range e.Players {
		if e.Players[i].rank() > rank {
			return i
		}
	}
	return len(e.Players)
}

// EmbeddingRows returns, for each categorical player, its number of levels plus one, or plus two if a missing cell is a
// level.
func (e *Encoder) EmbeddingRows() []int {
	categories := e.Players[e.Numeric():]
	rows := make([]int, 0, len(categories))
	for i := range categories {
		rows = append(rows, categories[i].embeddingRows())
	}
	return rows
}

// Gaps reports whether a missing cell of any numeric player is a level of its own.
func (e *Encoder) Gaps() bool {
	return slices.ContainsFunc(e.Players[:e.Numeric()], func(p Player) bool { return p.Gap })
}

// Batch returns a batch of missing cells of the encoder's players.
func (e *Encoder) Batch(rows int) *Batch {
	return NewTimedBatch(rows, e.Numeric(), e.Times(), len(e.Players)-e.Numeric())
}

// Encode encodes the rows of t. It treats the columns named in unknown as absent in all rows, whether t has them or
// not, even if a missing cell is a level of its own.
func (e *Encoder) Encode(t *table.Table, unknown ...string) (*Batch, error) {
	b := e.Batch(t.Rows())
	columns := byName(t)
	offset := int32(0) // start of the player's rows in the embedding table
	for d := range e.Players {
		p := &e.Players[d]
		c := columns[p.Name]
		switch {
		case slices.Contains(unknown, p.Name):
			c = nil
		case c == nil:
			return nil, &table.Error{
				Row: noRow, Column: p.Name,
				Message: "the table lacks this column, which the model was trained on", Remedy: "add it, with empty cells where its values are not known",
			}
		default:
			if err := p.checkKind(c); err != nil {
				return nil, err
			}
			p.markObserved(c, b, d)
		}
		switch {
		case !p.Numeric():
			p.encodeLevels(c, b, d-b.Numeric, offset)
			offset += int32(p.embeddingRows())
		case c != nil:
			p.encodeNumbers(c, b, d)
			if k := d - (b.Numeric - b.Times); k >= 0 {
				p.encodeCycles(c, b, k)
			}
		}
	}
	return b, nil
}

func (p *Player) markObserved(c *table.Column, b *Batch, d int) {
	for i, seen := range c.Observed {
		if seen || p.Gap {
			b.Observed[i*b.Players()+d] = 1
		}
	}
}

// byName finds columns faster than t.Column, which searches all of them each time.
func byName(t *table.Table) map[string]*table.Column {
	columns := make(map[string]*table.Column, len(t.Columns))
	for _, c := range t.Columns {
		columns[c.Name] = c
	}
	return columns
}

// checkKind returns an error if the column is a category and the player a number, or vice versa.
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

// Farthest limits standardised values: a sentinel such as 1e308 must not become infinite.
const Farthest = 1e6

func (p *Player) encodeNumbers(c *table.Column, b *Batch, d int) {
	for i, v := range c.Numbers {
		cell := b.Numbers[(i*b.Numeric+d)*2:]
		switch {
		case c.Observed[i]:
			cell[0] = float32(position(p.Edges, v))
			cell[1] = float32(max(-Farthest, min(Farthest, (v-p.Centre)/p.Scale)))
		case p.Gap:
			cell[0] = GapPosition
		}
	}
}

// encodeLevels writes rows of the embedding table; the player's own start at offset. c is nil if the column does not
// exist.
func (p *Player) encodeLevels(c *table.Column, b *Batch, d int, offset int32) {
	missing := int32(otherRow)
	if c == nil {
		for i := range b.Rows {
			b.Codes[i*b.Categorical+d] = offset + missing
		}
		return
	}
	if p.Gap {
		missing = int32(p.embeddingRows()) - 1
	}
	rowOf := p.levelRows(c)
	for i, code := range c.Codes {
		row := missing
		if c.Observed[i] {
			row = rowOf(code)
		}
		b.Codes[i*b.Categorical+d] = offset + row
	}
}
