package table

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/psi-shapley/psi/internal/prose"
)

// Limits of one column's labels. A stream keeps every label it has seen, so a column of identifiers would otherwise
// grow without bound.
const (
	maxLevels     = 1 << 20
	maxLevelBytes = 256 << 20
	labelBytes    = 100 // memory of a label besides its text: in the list, and in the map with its spare room
)

// levelSet numbers labels in order of first appearance. The list only grows, so codes remain valid.
type levelSet struct {
	labels []string
	codes  map[string]int32
	bytes  int
	held   account
}

func newLevelSet(b *budget) *levelSet {
	return &levelSet{codes: make(map[string]int32), held: account{budget: b}}
}

// code returns the code of a label; new labels get a new code.
func (s *levelSet) code(label []byte) (int32, error) {
	if code, known := s.codes[string(label)]; known {
		return code, nil
	}
	if !utf8.Valid(label) {
		return 0, &Error{Row: noRow, Message: fmt.Sprintf("%q is not UTF-8 text", shorten(string(label))), Remedy: "save the file in UTF-8"}
	}
	if len(s.labels) == maxLevels || s.bytes+len(label) > maxLevelBytes {
		return 0, &Error{
			Row:     noRow,
			Message: fmt.Sprintf("the column has more than %s distinct labels, or more than %d MiB of them", prose.Thousands(len(s.labels)), maxLevelBytes>>20),
			Remedy:  "drop the column: it seems to identify rows rather than to describe them",
		}
	}
	if err := s.held.take(int64(len(label)) + labelBytes); err != nil {
		return 0, err
	}
	code := int32(len(s.labels))
	text := string(label)
	s.labels = append(s.labels, text)
	s.codes[text] = code
	s.bytes += len(text)
	return code, nil
}

// list returns the labels so far; later labels do not appear in it.
func (s *levelSet) list() []string { return slices.Clip(s.labels) }
