package trees

import (
	"math"
	"slices"

	"github.com/psi-shapley/psi/internal/kernel/vector"
)

// blocks of vector.TreeRows rows go through a tree before the next tree is read from memory.
const blocks = 8

// Attributions are φ [rows, outputs, players] of rows of codes [rows, columns]; v(∅) + Σ_d φ_d is the value of a row. Columns of a row
// that are not present are absent from every coalition, and a player without a column has 0. A nil present is all.
func (g *Game) Attributions(set vector.Set, codes []Code, present []bool) []float64 {
	phi, _ := g.pass(set, codes, present, false)
	return phi
}

// Interactions are the pairwise Shapley interaction indices [rows, outputs, players, players] of rows, as Attributions takes them:
//
//	I_ij = Σ_ℓ w (o_i − p_i) (o_j − p_j) ∫₀¹ Π_{k ≠ i, j} (p_k + t (o_k − p_k)) dt
//
// The diagonal is 0.
func (g *Game) Interactions(set vector.Set, codes []Code, present []bool) []float64 {
	_, pairs := g.pass(set, codes, present, true)
	return pairs
}

// pass finds attributions and, if they are wanted, pairs.
func (g *Game) pass(set vector.Set, codes []Code, present []bool, wantPairs bool) (phi, pairs []float64) {
	columns, perRow := len(g.ensemble.Columns), len(g.ensemble.Base)*g.players
	rows := len(codes) / max(1, columns)
	phi = make([]float64, rows*perRow)
	if wantPairs {
		pairs = make([]float64, rows*perRow*g.players)
	}
	for _, same := range g.alike(rows, present) {
		same.game.walkRows(set, codes, present, same.rows, phi, pairs)
	}
	return phi, pairs
}

// alikeRows are rows with one game.
type alikeRows struct {
	game *Game
	rows []int
}

// alike divides rows by the columns that they lack of players that they have. Most often there are none.
func (g *Game) alike(rows int, present []bool) []*alikeRows {
	columns := len(g.ensemble.Columns)
	var list []*alikeRows
	found := map[string]*alikeRows{}
	hidden, key, some := make([]bool, columns), make([]byte, columns), make([]bool, g.players)
	for row := range rows {
		clear(hidden)
		if len(present) > 0 && g.players < columns {
			clear(some)
			for d, is := range present[row*columns:][:columns] {
				some[g.playerOf[d]] = some[g.playerOf[d]] || is
			}
			for d, is := range present[row*columns:][:columns] {
				hidden[d] = !is && some[g.playerOf[d]]
			}
		}
		for d, is := range hidden {
			if key[d] = 0; is {
				key[d] = 1
			}
		}
		same := found[string(key)]
		if same == nil {
			if same = (&alikeRows{game: g}); slices.Contains(hidden, true) {
				same.game = g.hiding(slices.Clone(hidden))
			}
			found[string(key)] = same
			list = append(list, same)
		}
		same.rows = append(same.rows, row)
	}
	return list
}

// walkRows walks some of the rows through the trees.
func (g *Game) walkRows(set vector.Set, codes []Code, present []bool, rows []int, phi, pairs []float64) {
	w := g.newWalk(set)
	list := make([]*block, min(blocks, (len(rows)+vector.TreeRows-1)/vector.TreeRows))
	for i := range list {
		list[i] = g.newBlock(pairs != nil)
	}
	for len(rows) > 0 {
		for _, b := range list {
			n := min(vector.TreeRows, len(rows))
			b.load(g, codes, present, rows[:n])
			rows = rows[n:]
		}
		for i := range g.trees {
			for _, b := range list {
				w.tree(&g.trees[i], b)
			}
		}
		for _, b := range list {
			b.store(phi, b.phi)
			b.mirror(g.players)
			b.store(pairs, b.pairs)
		}
	}
}

// block is some rows and their attributions.
type block struct {
	rows    []int
	codes   [][vector.TreeRows]Code // by column
	lower   []vector.Rows           // by column: codes, missing values below all others
	upper   []vector.Rows           // by column: codes, missing values above all others
	present []vector.Rows           // by player: 1 or 0
	phi     []vector.Rows           // by output and player
	pairs   []vector.Rows           // by output, player and player; nil if they are not wanted
}

func (g *Game) newBlock(pairs bool) *block {
	columns, outputs := len(g.ensemble.Columns), len(g.ensemble.Base)
	b := &block{
		codes: make([][vector.TreeRows]Code, columns), lower: make([]vector.Rows, columns), upper: make([]vector.Rows, columns),
		present: make([]vector.Rows, g.players), phi: make([]vector.Rows, outputs*g.players),
	}
	if pairs {
		b.pairs = make([]vector.Rows, outputs*g.players*g.players)
	}
	return b
}

// load takes up to vector.TreeRows of the rows. What lies beyond them keeps what was there, and is not stored.
func (b *block) load(g *Game, codes []Code, present []bool, rows []int) {
	b.rows = rows
	clear(b.phi)
	clear(b.pairs)
	clear(b.present)
	for r, row := range rows {
		for d, player := range g.playerOf {
			at := row*len(g.playerOf) + d
			code := codes[at]
			b.codes[d][r] = code
			b.lower[d][r], b.upper[d][r] = float64(code), float64(code)
			if code == Missing {
				b.upper[d][r] = math.Inf(1)
			}
			if len(present) == 0 || present[at] {
				b.present[player][r] = 1
			}
		}
	}
}

// store puts what was found of the rows, one list for each, among that of all rows.
func (b *block) store(all []float64, found []vector.Rows) {
	for k := range found {
		for r, row := range b.rows {
			all[row*len(found)+k] = found[k][r]
		}
	}
}

// mirror adds pairs to those of the same players in the other order.
func (b *block) mirror(players int) {
	for first := 0; first < len(b.pairs); first += players * players {
		for i := range players {
			for j := range i {
				one, other := &b.pairs[first+i*players+j], &b.pairs[first+j*players+i]
				for r := range one {
					one[r] += other[r]
				}
				*other = *one
			}
		}
	}
}

// walk is the state of a pass of a block through a tree.
type walk struct {
	set  vector.Set
	game *Game

	t      *compiled
	b      *block
	passed [][2]vector.Rows // by depth: o of the edges to the left and to the right
	taken  []int            // by depth: which of them the path takes
	player []int            // by depth: of the edge
	factor [][]vector.Rows  // by depth and quadrature node: of the path so far
	sum    [][]vector.Rows  // by depth and quadrature node: value × factor of the leaves below
	slope  [][]vector.Rows  // by depth and quadrature node: of the edge's column, over the node's weight
	scaled []vector.Rows    // by quadrature node: slope × sum of an edge

	none   vector.Rows // o′ of hidden columns: 0
	unused vector.Rows // φ of hidden columns, which stays 0
}

func (g *Game) newWalk(set vector.Set) *walk {
	depth, quad := 0, 1
	for i := range g.trees {
		depth, quad = max(depth, g.trees[i].depth), max(quad, g.trees[i].quad)
	}
	w := &walk{
		set: set, game: g, passed: make([][2]vector.Rows, depth+1), taken: make([]int, depth+1), player: make([]int, depth+1),
		factor: make([][]vector.Rows, depth+1), sum: make([][]vector.Rows, depth+1), slope: make([][]vector.Rows, depth+1),
		scaled: make([]vector.Rows, quad),
	}
	for k := range w.factor {
		w.factor[k], w.sum[k], w.slope[k] = make([]vector.Rows, quad), make([]vector.Rows, quad), make([]vector.Rows, quad)
	}
	for i := range w.factor[0] {
		for r := range vector.TreeRows {
			w.factor[0][i][r] = 1
		}
	}
	return w
}

// tree adds what a tree contributes to the attributions of a block.
func (w *walk) tree(t *compiled, b *block) {
	if w.t, w.b = t, b; t.nodes[0].Column != Leaf {
		w.split(0, 0)
	}
}

// split walks what is below a split at a depth, and leaves the sum of its leaves there.
func (w *walk) split(node, depth int) {
	n := &w.t.nodes[node]
	edge := &w.t.edges[n.Left]
	before, phi := &w.none, &w.unused
	if edge.player != hiddenPlayer {
		before, phi = &w.b.present[edge.player], &w.b.phi[w.t.output*w.game.players+edge.player]
	}
	if edge.before > 0 {
		before = &w.passed[edge.before][w.taken[edge.before]]
	}
	passed := &w.passed[depth+1]
	w.divide(node, &passed[0], &passed[1], before)
	sum := w.sum[depth][:w.t.quad]
	clear(sum)
	from := w.factor[depth][:w.t.quad]
	for side, child := range [...]int{n.Left, n.Right} {
		branch := vector.Branch{Before: before, Passed: &passed[side], Share: w.t.edges[child].share, Terms: w.t.termsOf(child)}
		leaf := &w.t.nodes[child]
		if leaf.Column == Leaf && w.b.pairs == nil {
			w.set.Leaf(phi, sum, from, leaf.Value, &branch)
			continue
		}
		w.taken[depth+1] = side
		to, below := w.factor[depth+1][:w.t.quad], w.sum[depth+1][:w.t.quad]
		w.set.Grow(to, from, &branch)
		if w.b.pairs != nil {
			w.player[depth+1] = edge.player
			w.set.Slope(w.slope[depth+1][:w.t.quad], w.t.inverse, &branch)
		}
		if leaf.Column == Leaf {
			scale(below, to, leaf.Value)
		} else {
			w.split(child, depth+1)
		}
		w.set.Credit(phi, sum, below, &branch)
		if w.b.pairs != nil {
			w.pair(depth+1, &branch)
		}
	}
}

// pair adds what the edge at a depth and those above it contribute together, for leaves below it. The slopes of a player's edges add up
// to that of the player, so each pair of edges on a path counts once.
func (w *walk) pair(depth int, b *vector.Branch) {
	player := w.player[depth]
	if player == hiddenPlayer {
		return
	}
	scaled := w.scaled[:w.t.quad]
	w.set.Slope(scaled, w.sum[depth][:w.t.quad], b)
	row := (w.t.output*w.game.players + player) * w.game.players
	for above := 1; above < depth; above++ {
		if other := w.player[above]; other != player && other != hiddenPlayer {
			w.set.Dot(&w.b.pairs[row+other], scaled, w.slope[above][:w.t.quad])
		}
	}
}

// scale is to = x × from.
func scale(to, from []vector.Rows, x float64) {
	for i := range from {
		for r, f := range &from[i] {
			to[i][r] = x * f
		}
	}
}

// divide finds which of the rows that passed before go left and right.
func (w *walk) divide(node int, left, right, before *vector.Rows) {
	n := &w.t.nodes[node]
	if n.Set == nil && !n.Zero {
		codes := &w.b.upper[n.Column]
		if n.MissingLeft {
			codes = &w.b.lower[n.Column]
		}
		w.set.Split(left, right, before, codes, float64(n.Below))
		return
	}
	c := &w.game.ensemble.Columns[n.Column]
	if len(c.Edges)+len(c.Labels)+1 < fewCodes {
		ways := w.t.lefts[node]
		for r, code := range &w.b.codes[n.Column] {
			left[r] = before[r] * float64(ways>>(uint32(code+1)&(fewCodes-1))&1)
			right[r] = before[r] - left[r]
		}
		return
	}
	zero := c.Zero
	for r, code := range &w.b.codes[n.Column] {
		left[r], right[r] = 0, before[r]
		if n.left(code, zero) {
			left[r], right[r] = before[r], 0
		}
	}
}
