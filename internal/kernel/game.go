package kernel

import (
	"slices"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/kernel/vector"
)

// game determines the value of a coalition of a row's cells. It is the mean of f over hybrid rows, one for each
// reference: records of a reference replace the records of the cells that are not in the coalition.
type game struct {
	rule           vector.Rule
	nodes, weights []float64     // of the rule
	references     [][][]float32 // [references][columns + 1] records; a single nil stands for absent cells
	empty          []float32     // [outputs] v(∅) of a row without missing cells; nil if it is 0
}

// newGame returns a game with the given number of quadrature nodes. Without references, absent cells have no gain.
func newGame(nodes int, references [][][]float32) game {
	if references == nil {
		references = [][][]float32{nil}
	}
	g := game{rule: vector.NewRule(form.GaussLegendre(nodes)), references: references}
	g.nodes, g.weights = form.GaussLegendre(nodes)
	return g
}

// referenceScratch is the memory for references, which the network's own game does without.
type referenceScratch struct {
	lists        [][][]float32 // references of a row with missing cells
	cells        [][]float32   // their records
	records      [][]float32   // [2 · pairs] of one, in the order of its pairs
	coefficients []float32     // [pairs, 4, channels]
	share        []float32     // attributions of each channel, of one
	part         []float32     // a sum over some references
	total        []float64     // the sum over all
}

// expanded is where the coefficients of pairs are: three of each, and with a reference the constant.
func (s *scratch) expanded() []float32 {
	if s.pairs.Absent == nil {
		return s.coefficients
	}
	return s.references.coefficients
}

// replace returns the references of row i of b. Columns that the row lacks are missing in them too.
func (g *game) replace(n *Net, s *scratch, b *encode.Batch, i int) [][][]float32 {
	if g.references[0] == nil {
		return g.references
	}
	to := &s.references
	if to.share == nil {
		to.records = make([][]float32, 0, cap(s.records))
		to.share, to.coefficients = vector.Floats(len(s.share)), vector.Floats(len(s.coefficients)/3*4)
	}
	columns := len(n.columns)
	observed := b.Observed[i*columns:][:columns]
	if !slices.Contains(observed, 0) {
		return g.references
	}
	to.lists, to.cells = to.lists[:0], to.cells[:0]
	to.cells = slices.Grow(to.cells, len(g.references)*(columns+1))
	for _, cells := range g.references {
		from := len(to.cells)
		to.cells = append(to.cells, cells...)
		list := to.cells[from:]
		for d, o := range observed {
			if o == 0 {
				list[d] = n.none
			}
		}
		to.lists = append(to.lists, list)
	}
	return to.lists
}

// sumReferences is the number of references whose answers are added in 32 bits. The sums are added in 64 bits, so that
// rounding does not grow with the number of references.
const sumReferences = 32

// mean writes the mean over references. sum adds the sum over some references to an answer; to must be 0.
func (s *scratch) mean(to []float32, references [][][]float32, sum func(references [][][]float32, to []float32)) {
	if len(references) == 1 {
		sum(references, to)
		return
	}
	r := &s.references
	if len(r.part) < len(to) {
		r.part, r.total = make([]float32, len(to)), make([]float64, len(to))
	}
	part, total := r.part[:len(to)], r.total[:len(to)]
	clear(total)
	for some := range slices.Chunk(references, sumReferences) {
		clear(part)
		sum(some, part)
		for i, v := range part {
			total[i] += float64(v)
		}
	}
	for i, v := range total {
		to[i] = float32(v / float64(len(references)))
	}
}

// worth writes v [outputs] of a coalition: cells returns the records of the hybrid row of a reference. to must be 0.
func (n *Net) worth(s *scratch, references [][][]float32, to []float32, cells func(absent [][]float32) [][]float32) {
	s.mean(to, references, func(references [][][]float32, to []float32) {
		sum, more := s.values[:n.channels], s.values[n.channels:][:n.channels]
		for j, absent := range references {
			if j == 0 {
				n.value(s, cells(absent), sum)
				continue
			}
			n.value(s, cells(absent), more)
			n.ops.AddScaled(sum, 1, more)
		}
		for o, w := range n.channel {
			n.ops.Dots(to[o:], 1, sum, 1, w)
		}
	})
}

// worthOfNothing writes v(∅) [outputs] of a row with the given references.
func (n *Net) worthOfNothing(s *scratch, references [][][]float32, to []float32) {
	n.worth(s, references, to, func(absent [][]float32) [][]float32 { return absent })
}
