// Package encode converts the rows of a table to the numeric input of a network. An Encoder is fitted on training rows
// only and applies to any table with its columns, matched by name.
package encode

import (
	"errors"
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

// MaxStandardised limits standardised values: a sentinel such as 1e308 must not become infinite.
const MaxStandardised = 1e6

func (p *Player) encodeNumbers(c *table.Column, b *Batch, d int) {
	for i, v := range c.Numbers {
		cell := b.Numbers[(i*b.Numeric+d)*2:]
		switch {
		case c.Observed[i]:
			cell[0] = float32(position(p.Edges, v))
			cell[1] = float32(max(-MaxStandardised, min(MaxStandardised, (v-p.Centre)/p.Scale)))
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

// Batch holds encoded rows, the input of a network. Numeric players come first, then times, which are numeric too, then
// categories.
type Batch struct {
	Rows, Numeric, Categorical int
	Times                      int // number of times among the numeric players, the last ones

	Numbers  []float32 // [rows, numeric, 2]: position among the bins, standardised value
	Cycles   []float32 // [rows, times, CyclicParts]: sine and cosine of each period
	Codes    []int32   // [rows, categorical]: row of the embedding table
	Observed []float32 // [rows, players]: 1 observed, 0 missing

	// Splits [rows, players] has the codes of the cells among the thresholds and labels of an ensemble of trees. It is
	// empty if the model has no trees, whose evaluators read nothing but Splits and Observed.
	Splits []int32

	// More has the same rows as further models of a mixture encode them; their Observed is not used.
	More []*Batch
}

// Part returns the rows as model k of a mixture encodes them, with the cells of b observed.
func (b *Batch) Part(k int) *Batch {
	if k == 0 {
		return b
	}
	part := *b.More[k-1]
	part.Observed = b.Observed
	return &part
}

// NewBatch returns a batch of missing cells without times.
func NewBatch(rows, numeric, categorical int) *Batch {
	return NewTimedBatch(rows, numeric, 0, categorical)
}

// NewTimedBatch returns a batch of missing cells. Times count among the numeric players.
func NewTimedBatch(rows, numeric, times, categorical int) *Batch {
	return &Batch{
		Rows: rows, Numeric: numeric, Times: times, Categorical: categorical,
		Numbers:  make([]float32, rows*numeric*2),
		Cycles:   make([]float32, rows*times*CyclicParts),
		Codes:    make([]int32, rows*categorical),
		Observed: make([]float32, rows*(numeric+categorical)),
	}
}

// Like returns a batch of missing cells with the same players.
func (b *Batch) Like(rows int) *Batch {
	like := NewTimedBatch(rows, b.Numeric, b.Times, b.Categorical)
	if b.Splits != nil {
		like.Splits = make([]int32, rows*b.Players())
	}
	for _, more := range b.More {
		like.More = append(like.More, more.Like(rows))
	}
	return like
}

// Players returns the number of players.
func (b *Batch) Players() int { return b.Numeric + b.Categorical }

// Head returns the first rows of b, sharing memory.
func (b *Batch) Head(rows int) *Batch { return b.Slice(0, rows) }

// Slice returns rows [from, to) of b, sharing memory.
func (b *Batch) Slice(from, to int) *Batch {
	part := &Batch{
		Rows: to - from, Numeric: b.Numeric, Times: b.Times, Categorical: b.Categorical,
		Numbers:  rowsOf(b.Numbers, from, to, 2*b.Numeric),
		Cycles:   rowsOf(b.Cycles, from, to, CyclicParts*b.Times),
		Codes:    rowsOf(b.Codes, from, to, b.Categorical),
		Observed: rowsOf(b.Observed, from, to, b.Players()),
	}
	if b.Splits != nil {
		part.Splits = rowsOf(b.Splits, from, to, b.Players())
	}
	for _, more := range b.More {
		part.More = append(part.More, more.Slice(from, to))
	}
	return part
}

func rowsOf[T any](of []T, from, to, width int) []T { return of[from*width : to*width] }

// Append adds the rows of another batch with the same players.
func (b *Batch) Append(more *Batch) {
	b.Rows += more.Rows
	b.Numbers = append(b.Numbers, more.Numbers...)
	b.Cycles = append(b.Cycles, more.Cycles...)
	b.Codes = append(b.Codes, more.Codes...)
	b.Observed = append(b.Observed, more.Observed...)
	b.Splits = append(b.Splits, more.Splits...)
	for k, of := range more.More {
		b.More[k].Append(of)
	}
}

// Set copies row j of from to row i.
func (b *Batch) Set(i int, from *Batch, j int) {
	copyRow(b.Numbers, i, from.Numbers, j, 2*b.Numeric)
	copyRow(b.Cycles, i, from.Cycles, j, CyclicParts*b.Times)
	copyRow(b.Codes, i, from.Codes, j, b.Categorical)
	copyRow(b.Observed, i, from.Observed, j, b.Players())
	if b.Splits != nil {
		copyRow(b.Splits, i, from.Splits, j, b.Players())
	}
	for k, more := range b.More {
		more.Set(i, from.More[k], j)
	}
}

func copyRow[T any](to []T, i int, from []T, j, width int) {
	copy(to[i*width:(i+1)*width], from[j*width:(j+1)*width])
}

// SetPlayer copies player d of row j of from to row i.
func (b *Batch) SetPlayer(i, d int, from *Batch, j int) {
	if d < b.Numeric {
		copyRow(b.Numbers, i*b.Numeric+d, from.Numbers, j*b.Numeric+d, 2)
		if k := d - (b.Numeric - b.Times); k >= 0 {
			copyRow(b.Cycles, i*b.Times+k, from.Cycles, j*b.Times+k, CyclicParts)
		}
	} else {
		k := d - b.Numeric
		b.Codes[i*b.Categorical+k] = from.Codes[j*b.Categorical+k]
	}
	b.Observed[i*b.Players()+d] = from.Observed[j*b.Players()+d]
	if b.Splits != nil {
		b.Splits[i*b.Players()+d] = from.Splits[j*b.Players()+d]
	}
	for k, more := range b.More {
		more.SetPlayer(i, d, from.More[k], j)
	}
}

// Limits of an encoder, fitted or read from a file.
const (
	maxBins    = 4096
	maxPlayers = 10_000
	maxLevels  = 1 << 24 // of all categories together
)

// Validate returns an error if an encoder read from a file is invalid. Encoders from Fit are always valid.
func (e *Encoder) Validate() error {
	if e.Bins < 1 || e.Bins > maxBins {
		return fmt.Errorf("encode: bins must be between 1 and %d, not %d", maxBins, e.Bins)
	}
	if len(e.Players) == 0 || len(e.Players) > maxPlayers {
		return fmt.Errorf("encode: a model has between 1 and %d players, not %d", maxPlayers, len(e.Players))
	}
	names := make(map[string]bool, len(e.Players))
	levels := 0
	for i := range e.Players {
		p := &e.Players[i]
		err := p.validate(e.Bins)
		switch {
		case err != nil:
		case names[p.Name]:
			err = errors.New("another player has this name")
		case i > 0 && p.rank() < e.Players[i-1].rank():
			err = fmt.Errorf("a %v comes after a %v", p.Kind, e.Players[i-1].Kind)
		case levels+len(p.Levels) > maxLevels:
			err = fmt.Errorf("the categories have more than %d levels together", maxLevels)
		}
		if err != nil {
			return fmt.Errorf("encode: player %d, %.40q: %w", i, p.Name, err)
		}
		names[p.Name] = true
		levels += len(p.Levels)
	}
	return nil
}

func (p *Player) validate(bins int) error {
	switch {
	case p.Name == "":
		return errors.New("the player has no name")
	case p.Kind > table.Time:
		return fmt.Errorf("the kind %v is unknown", p.Kind)
	case p.Numeric():
		return p.validateNumber(bins)
	}
	return p.validateCategory()
}

func (p *Player) validateNumber(bins int) error {
	if len(p.Levels) > 0 || p.Rare != 0 {
		return fmt.Errorf("a %v has no levels", p.Kind)
	}
	if n := len(p.Cycles); n > 0 && (p.Kind != table.Time || n != periods) {
		return fmt.Errorf("a %v does not have %d cycles", p.Kind, n)
	}
	if len(p.Edges) > bins+1 {
		return fmt.Errorf("%d edges are too many for %d bins", len(p.Edges), bins)
	}
	for k, edge := range p.Edges {
		if !finite(edge) || k > 0 && !(edge > p.Edges[k-1]) {
			return fmt.Errorf("edge %d, %v, is not finite and above the one before", k, edge)
		}
	}
	if !finite(p.Centre) || !finite(p.Scale) || !(p.Scale > 0) {
		return fmt.Errorf("the centre %v and the scale %v are not finite, or the scale is not positive", p.Centre, p.Scale)
	}
	return nil
}

func (p *Player) validateCategory() error {
	if len(p.Edges) > 0 || p.Centre != 0 || p.Scale != 0 || len(p.Cycles) > 0 {
		return errors.New("a category has no edges, centre, scale or cycles")
	}
	if len(p.Levels) > maxColumnLevels {
		return fmt.Errorf("%d levels are more than %d", len(p.Levels), maxColumnLevels)
	}
	if p.Rare < 0 || p.Rare > maxColumnLevels {
		return fmt.Errorf("the number of rare levels, %d, is not between 0 and %d", p.Rare, maxColumnLevels)
	}
	for k := 1; k < len(p.Levels); k++ {
		if p.Levels[k] <= p.Levels[k-1] {
			return fmt.Errorf("level %d, %.40q, does not come after the one before", k, p.Levels[k])
		}
	}
	return nil
}
