package table

import (
	"math/rand/v2"
	"slices"
)

// Sample draws a uniform random sample of the rows added to it, by reservoir sampling. It holds only the drawn rows. It
// is not safe for concurrent use.
type Sample struct {
	limit   int
	rng     *rand.Rand
	seen    int
	numbers []int // row numbers of the drawn rows
	columns []*Column
}

// NewSample returns a Sample of at most the given number of rows. The same rng and rows give the same sample, however
// the rows are divided into chunks.
func NewSample(limit int, rng *rand.Rand) *Sample { return &Sample{limit: limit, rng: rng} }

// Add adds the next chunk of a source: row number s is kept with probability limit/s.
func (s *Sample) Add(t *Table) {
	if s.columns == nil {
		for _, c := range t.Columns {
			s.columns = append(s.columns, &Column{Name: c.Name, Kind: c.Kind, Reason: c.Reason})
		}
	}
	for i, c := range t.Columns {
		s.columns[i].Levels = c.Levels // levels only grow
	}
	for row := range t.Rows() {
		at := s.seen
		if s.seen++; s.seen > s.limit {
			if at = s.rng.IntN(s.seen); at >= s.limit {
				continue
			}
		} else {
			s.numbers = append(s.numbers, 0)
		}
		s.numbers[at] = s.seen - 1
		for i, from := range t.Columns {
			set(s.columns[i], at, from, row)
		}
	}
}

// Seen returns the number of rows added.
func (s *Sample) Seen() int { return s.seen }

// Rows returns the drawn rows in the order in which they were added, and their row numbers, from 0.
func (s *Sample) Rows() (rows *Table, numbers []int) {
	order := make([]int, len(s.numbers))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return s.numbers[a] - s.numbers[b] })
	numbers = make([]int, len(order))
	for i, at := range order {
		numbers[i] = s.numbers[at]
	}
	return (&Table{Columns: s.columns}).Select(order), numbers
}

// set copies a cell, to the end of the column or over another cell.
func set(to *Column, at int, from *Column, row int) {
	to.Observed = put(to.Observed, at, from.Observed[row])
	if from.Kind == Category {
		to.Codes = put(to.Codes, at, from.Codes[row])
	} else {
		to.Numbers = put(to.Numbers, at, from.Numbers[row])
	}
}

func put[T any](list []T, at int, v T) []T {
	if at == len(list) {
		return append(list, v)
	}
	list[at] = v
	return list
}
