package report

import (
	"math/rand/v2"
	"slices"

	"github.com/psi-shapley/psi/table"
)

// sampleStream is the second word of the seed of all that is drawn.
const sampleStream = 0x7265706f7274

// sample is rows drawn at random from all that were read, each as likely as any other.
type sample struct {
	most    int
	rng     *rand.Rand
	seen    int
	numbers []int // of the rows, in the table
	columns []*table.Column
}

func newSample(most int, seed uint64) *sample {
	return &sample{most: most, rng: rand.New(rand.NewPCG(seed, sampleStream))}
}

// add takes in the next rows: row number s is kept with probability most/s (reservoir sampling).
func (s *sample) add(t *table.Table) {
	if s.columns == nil {
		for _, c := range t.Columns {
			s.columns = append(s.columns, &table.Column{Name: c.Name, Kind: c.Kind, Reason: c.Reason})
		}
	}
	for i, c := range t.Columns {
		s.columns[i].Levels = c.Levels // which only grow
	}
	for row := range t.Rows() {
		at := s.seen
		if s.seen++; s.seen > s.most {
			if at = s.rng.IntN(s.seen); at >= s.most {
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

// set copies a cell, to the end or over another.
func set(to *table.Column, at int, from *table.Column, row int) {
	to.Observed = put(to.Observed, at, from.Observed[row])
	if from.Kind == table.Category {
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

// table is the rows in the order in which they were read, with their numbers.
func (s *sample) table() (*table.Table, []int) {
	order := make([]int, len(s.numbers))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return s.numbers[a] - s.numbers[b] })
	numbers := make([]int, len(order))
	for i, at := range order {
		numbers[i] = s.numbers[at]
	}
	return (&table.Table{Columns: s.columns}).Select(order), numbers
}

// draw chooses some of n rows, without regard to their order.
func (s *sample) draw(n, some int) []int { return s.rng.Perm(n)[:min(n, some)] }
