package encode

import (
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/psi-shapley/psi/table"
)

// What one category may have. One table keeps to the same bounds, many of them
// together may not.
const (
	mostColumnLevels     = 1 << 20
	mostColumnLevelBytes = 256 << 20
)

// seenLevels gathers the labels that observed cells of a column have. A table may list
// others too.
type seenLevels struct {
	labels map[string]struct{}
	bytes  int
	met    []bool // by the codes of the chunk at hand
}

func (s *seenLevels) add(c *table.Column, keep func(row int) bool) error {
	s.met = slices.Grow(s.met[:0], len(c.Levels))[:len(c.Levels)]
	clear(s.met)
	for row, code := range c.Codes {
		if !c.Observed[row] || !keep(row) || s.met[code] {
			continue
		}
		s.met[code] = true
		if err := s.addLabel(c.Levels[code]); err != nil {
			err.Row, err.Column = row, c.Name
			return err
		}
	}
	return nil
}

func (s *seenLevels) addLabel(label string) *table.Error {
	if _, known := s.labels[label]; known {
		return nil
	}
	if !utf8.ValidString(label) {
		return &table.Error{Message: "a label is not UTF-8 text", Remedy: "save the table in UTF-8"}
	}
	if len(s.labels) == mostColumnLevels || s.bytes+len(label) > mostColumnLevelBytes {
		return &table.Error{
			Message: fmt.Sprintf("the column has more than %d distinct labels, or more than %d MiB of them", mostColumnLevels, mostColumnLevelBytes>>20),
			Remedy:  "drop the column: it seems to identify rows rather than to describe them",
		}
	}
	s.labels[label] = struct{}{}
	s.bytes += len(label)
	return nil
}

func (s *seenLevels) finish(p *Player) { p.Levels = slices.Sorted(maps.Keys(s.labels)) }
