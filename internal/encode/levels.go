package encode

import (
	"fmt"
	"iter"
	"slices"
	"unicode/utf8"

	"github.com/psi-shapley/psi/table"
)

// Limits of one category. A table has the same limits, but several tables together may exceed them.
const (
	maxColumnLevels     = 1 << 20
	maxColumnLevelBytes = 256 << 20
)

// rareLevel is the minimum number of training rows of a level with its own embedding row. With fewer, the embedding
// would overfit these rows, and the row for unseen levels would not be trained. The number is a guess, not measured
// yet.
const rareLevel = 3

// seenLevels counts the labels of observed cells of a column, up to rareLevel. A table may list other labels too.
type seenLevels struct {
	counts map[string]uint8
	bytes  int

	met   []uint8 // by the codes of the current chunk
	codes []int32 // codes seen in it
}

func newSeenLevels() *seenLevels { return &seenLevels{counts: make(map[string]uint8)} }

func (s *seenLevels) add(c *table.Column, keep func(row int) bool) error {
	s.met = slices.Grow(s.met[:0], len(c.Levels))[:len(c.Levels)]
	clear(s.met)
	s.codes = s.codes[:0]
	for row, code := range c.Codes {
		if !c.Observed[row] || !keep(row) || s.met[code] == rareLevel {
			continue
		}
		if s.met[code]++; s.met[code] > 1 {
			continue
		}
		s.codes = append(s.codes, code)
		if err := s.addLabel(c.Levels[code]); err != nil {
			err.Row, err.Column = row, c.Name
			return err
		}
	}
	for _, code := range s.codes {
		label := c.Levels[code]
		s.counts[label] = min(rareLevel, s.counts[label]+s.met[code])
	}
	return nil
}

func (s *seenLevels) addLabel(label string) *table.Error {
	if _, known := s.counts[label]; known {
		return nil
	}
	if !utf8.ValidString(label) {
		return notText()
	}
	if len(s.counts) == maxColumnLevels || s.bytes+len(label) > maxColumnLevelBytes {
		return &table.Error{
			Message: fmt.Sprintf("the column has more than %d distinct labels, or more than %d MiB of them", maxColumnLevels, maxColumnLevelBytes>>20),
			Remedy:  "drop the column: it seems to identify rows rather than to describe them",
		}
	}
	s.counts[label] = 0
	s.bytes += len(label)
	return nil
}

func notText() *table.Error {
	return &table.Error{Message: "a label is not UTF-8 text", Remedy: "save the table in UTF-8"}
}

func (s *seenLevels) finish(p *Player) {
	for label, count := range s.counts {
		if count == rareLevel {
			p.Levels = append(p.Levels, label)
		} else {
			p.Rare++
		}
	}
	slices.Sort(p.Levels)
}

// otherRow is the embedding row of a player for levels without their own.
const otherRow = 0

// levelRows returns a function that maps codes of a column to the player's embedding rows. It looks up only the levels
// that occur: a table may list many more.
func (p *Player) levelRows(c *table.Column) func(code int32) int32 {
	const unknown = 0
	known := make([]int32, len(c.Levels)) // row plus one
	return func(code int32) int32 {
		if known[code] == unknown {
			row := int32(otherRow)
			if at, found := slices.BinarySearch(p.Levels, c.Levels[code]); found {
				row = int32(at) + 1
			}
			known[code] = row + 1
		}
		return known[code] - 1
	}
}

// Others iterates over the cells of a batch, by row and player, whose labels have no embedding row of their own,
// because they are new or rare in the training rows.
func (e *Encoder) Others(b *Batch) iter.Seq2[int, int] {
	return func(yield func(row, player int) bool) {
		offset := int32(0) // start of the player's rows in the embedding table
		for k, rows := range e.EmbeddingRows() {
			d := b.Numeric + k
			for i := range b.Rows {
				other := b.Codes[i*b.Categorical+k] == offset+otherRow && b.Observed[i*b.Players()+d] != 0
				if other && !yield(i, d) {
					return
				}
			}
			offset += int32(rows)
		}
	}
}
