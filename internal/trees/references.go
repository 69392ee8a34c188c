package trees

import (
	"slices"

	"github.com/psi-shapley/psi/internal/kernel/vector"
)

// References is an ensemble in the interventional game: an absent column has the value of a reference row, and v is the
// mean over these rows. With one of them it is the baseline game. It does not change and is safe for concurrent use.
type References struct {
	ensemble *Ensemble
	players  int
	playerOf []int  // by column
	rows     []Code // [references, columns]
	empty    []float64
	weights  shares
}

// NewReferences is the game of reference rows of codes [references, columns]. playerOf has the player of each column.
func (e *Ensemble) NewReferences(rows []Code, playerOf []int, players int) *References {
	g := &References{ensemble: e, players: players, playerOf: playerOf, rows: rows, weights: newShares(min(players, MaxDepth))}
	g.empty = make([]float64, len(e.Base))
	for row := range g.each() {
		for o, v := range e.outputs(row) {
			g.empty[o] += v / float64(g.count())
		}
	}
	return g
}

func (g *References) count() int { return len(g.rows) / len(g.ensemble.Columns) }

// each yields the reference rows.
func (g *References) each() func(yield func([]Code) bool) {
	columns := len(g.ensemble.Columns)
	return func(yield func([]Code) bool) {
		for at := 0; at < len(g.rows); at += columns {
			if !yield(g.rows[at:][:columns]) {
				return
			}
		}
	}
}

// Empty is the mean of the outputs of the reference rows.
func (g *References) Empty() []float64 { return g.empty }

// outputs of a row that has all columns.
func (e *Ensemble) outputs(row []Code) []float64 {
	values := append([]float64{}, e.Base...)
	for i := range e.Trees {
		t := &e.Trees[i]
		n := &t.Nodes[0]
		for n.Column != Leaf {
			if n.left(row[n.Column], e.Columns[n.Column].Zero) {
				n = &t.Nodes[n.Left]
			} else {
				n = &t.Nodes[n.Right]
			}
		}
		values[t.Output] += n.Value
	}
	return values
}

// Values are the outputs [rows, outputs] of rows of codes [rows, columns] whose columns that are not present have the
// values of reference rows: v(S). A nil present is all.
func (g *References) Values(codes []Code, present []bool) []float64 {
	outputs := len(g.ensemble.Base)
	values := make([]float64, len(codes)/len(g.ensemble.Columns)*outputs)
	whole, others := g.whole(codes, present)
	for _, row := range whole {
		copy(values[row*outputs:], g.ensemble.outputs(g.rowOf(codes, row)))
	}
	g.against(codes, present, others, func(row int, x, _ []Code) {
		for o, v := range g.ensemble.outputs(x) {
			values[row*outputs+o] += v / float64(g.count())
		}
	})
	return values
}

// CoalitionValues is Values.
func (g *References) CoalitionValues(_ vector.Set, codes []Code, present []bool) []float64 {
	return g.Values(codes, present)
}

// whole divides rows: those that have all columns, and the others.
func (g *References) whole(codes []Code, present []bool) (whole, others []int) {
	columns := len(g.ensemble.Columns)
	for row := range len(codes) / columns {
		if len(present) > 0 && slices.Contains(present[row*columns:][:columns], false) {
			others = append(others, row)
		} else {
			whole = append(whole, row)
		}
	}
	return whole, others
}

func (g *References) rowOf(codes []Code, row int) []Code {
	return codes[row*len(g.ensemble.Columns):][:len(g.ensemble.Columns)]
}

// against calls f with each of some rows and each reference row. Cells of the row that are not present have the reference's code.
func (g *References) against(codes []Code, present []bool, rows []int, f func(row int, x, reference []Code)) {
	columns := len(g.ensemble.Columns)
	x := make([]Code, columns)
	for _, row := range rows {
		for reference := range g.each() {
			copy(x, g.rowOf(codes, row))
			for d := range x {
				if len(present) > 0 && !present[row*columns+d] {
					x[d] = reference[d]
				}
			}
			f(row, x, reference)
		}
	}
}

// Attributions are φ [rows, outputs, players] of rows, as Values takes them; Empty + Σ_d φ_d is the value of a row.
func (g *References) Attributions(_ vector.Set, codes []Code, present []bool) []float64 {
	return g.pass(codes, present, false)
}

// Interactions are the pairwise Shapley interaction indices [rows, outputs, players, players] of rows. The diagonal is 0.
func (g *References) Interactions(_ vector.Set, codes []Code, present []bool) []float64 {
	return g.pass(codes, present, true)
}

// manyPairs reports whether rows that go through the trees together take less time than each with each reference row. For a leaf, that
// is about 25 ns for each row and reference and 200 ns more, against 8 ns for each pair.
func (g *References) manyPairs(rows int) bool { return 8*rows*g.count() > 25*(rows+g.count())+200 }

// pass finds attributions or pairs. Many rows that have all columns go through the trees together; of the others, each goes with each
// reference row, because the cells that it takes from it change its way.
func (g *References) pass(codes []Code, present []bool, pairs bool) []float64 {
	perRow := len(g.ensemble.Base) * g.players
	if pairs {
		perRow *= g.players
	}
	values := make([]float64, len(codes)/len(g.ensemble.Columns)*perRow)
	whole, others := g.whole(codes, present)
	if !g.manyPairs(len(whole)) {
		whole, others = nil, append(others, whole...)
	}
	if len(others) == 0 {
		newPatterns(g, pairs).add(codes, values)
		return values
	}
	if len(whole) > 0 {
		var some []Code
		for _, row := range whole {
			some = append(some, g.rowOf(codes, row)...)
		}
		found := make([]float64, len(whole)*perRow)
		newPatterns(g, pairs).add(some, found)
		for k, row := range whole {
			copy(values[row*perRow:], found[k*perRow:][:perRow])
		}
	}
	w := newFork(g, pairs)
	g.against(codes, present, others, func(row int, x, reference []Code) { w.walk(x, reference, values[row*perRow:][:perRow]) })
	return values
}

// shares are the weights of a leaf that a coalition reaches if all of a players are in it and none of b others is. Its
// probability, over the orders in which players come, is a! b! / (a + b + 1)!.
type shares struct {
	most int
	of   []float64
}

func newShares(most int) shares {
	s := shares{most + 1, make([]float64, (most+1)*(most+1))}
	for a := range s.most {
		p := 1 / float64(a+1) // b = 0
		for b := range s.most {
			s.of[a*s.most+b] = p
			p *= float64(b+1) / float64(a+b+2)
		}
	}
	return s
}

func (s *shares) at(a, b int) float64 { return s.of[a*s.most+b] }

// fork walks a row and a reference row through trees together. Where both go the same way it follows them; where they
// part it follows each, as the way of coalitions with the player and of those without it.
type fork struct {
	*References
	x, reference []Code
	values       []float64 // of the row
	pairs        bool      // values are pairs, not attributions

	t       *Tree
	side    []side // by player
	with    []int  // players that the coalitions of the path have
	without []int  // players that they do not have
}

// side is what a path says of a player.
type side int8

const (
	either side = iota
	present
	absent
)

func newFork(g *References, pairs bool) *fork {
	return &fork{References: g, pairs: pairs, side: make([]side, g.players)}
}

func (w *fork) walk(x, reference []Code, values []float64) {
	w.x, w.reference, w.values = x, reference, values
	for i := range w.ensemble.Trees {
		w.t = &w.ensemble.Trees[i]
		w.node(0)
	}
}

func (w *fork) node(at int) {
	n := &w.t.Nodes[at]
	if n.Column == Leaf {
		w.leaf(n.Value)
		return
	}
	zero := w.ensemble.Columns[n.Column].Zero
	children := [...]int{n.Right, n.Left}
	ofRow, ofReference := children[index(n.left(w.x[n.Column], zero))], children[index(n.left(w.reference[n.Column], zero))]
	player := w.playerOf[n.Column]
	switch {
	case ofRow == ofReference:
		w.node(ofRow)
	case w.side[player] == present:
		w.node(ofRow)
	case w.side[player] == absent:
		w.node(ofReference)
	default:
		w.side[player], w.with = present, append(w.with, player)
		w.node(ofRow)
		w.side[player], w.with = absent, w.with[:len(w.with)-1]
		w.without = append(w.without, player)
		w.node(ofReference)
		w.side[player], w.without = either, w.without[:len(w.without)-1]
	}
}

func index(left bool) int {
	if left {
		return 1
	}
	return 0
}

// leaf adds what a leaf contributes. A player of the coalitions that reach it is the last to come with the probability
// (a − 1)! b! / (a + b)!, and one that keeps them from it the first with a! (b − 1)! / (a + b)!.
func (w *fork) leaf(value float64) {
	value /= float64(w.count())
	a, b, first := len(w.with), len(w.without), w.t.Output*w.players
	if !w.pairs {
		for _, j := range w.with {
			w.values[first+j] += value * w.weights.at(a-1, b)
		}
		for _, j := range w.without {
			w.values[first+j] -= value * w.weights.at(a, b-1)
		}
		return
	}
	add := func(i, j int, x float64) {
		w.values[(first+i)*w.players+j] += x
		w.values[(first+j)*w.players+i] += x
	}
	for k, i := range w.with {
		for _, j := range w.with[:k] {
			add(i, j, value*w.weights.at(a-2, b))
		}
		for _, j := range w.without {
			add(i, j, -value*w.weights.at(a-1, b-1))
		}
	}
	for k, i := range w.without {
		for _, j := range w.without[:k] {
			add(i, j, value*w.weights.at(a, b-2))
		}
	}
}
