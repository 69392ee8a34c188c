package trees

import (
	"math"

	"github.com/psi-shapley/psi/internal/kernel/vector"
)

// CoalitionValues is Values for many coalitions: vector.TreeRows rows, or coalitions of a row, go through a tree side by side. The factor of
// a branch is 1 or 0 where its column is present, and its share where it is absent.
func (g *Game) CoalitionValues(set vector.Set, codes []Code, present []bool) []float64 {
	columns, outputs := len(g.ensemble.Columns), len(g.ensemble.Base)
	rows := len(codes) / max(1, columns)
	values := make([]float64, 0, rows*outputs)
	for range rows {
		values = append(values, g.ensemble.Base...)
	}
	w := &valueWalk{walk: g.newWalk(set), present: make([]vector.Rows, columns), outputs: make([]vector.Rows, outputs)}
	w.b, w.branch.Terms = g.newBlock(false), make([]float64, vector.BranchTerms)
	for from := 0; from < rows; from += vector.TreeRows {
		n := min(vector.TreeRows, rows-from)
		w.load(codes[from*columns:], present[from*columns:], n)
		for i := range g.trees {
			if w.t = &g.trees[i]; w.t.nodes[0].Column == Leaf {
				scale(w.outputs[w.t.output:w.t.output+1], w.factor[0][:1], w.t.nodes[0].Value)
			} else {
				w.split(0, 0)
			}
			for r := range n {
				values[(from+r)*outputs+w.t.output] += w.outputs[w.t.output][r]
			}
			w.outputs[w.t.output] = vector.Rows{}
		}
	}
	return values
}

// valueWalk is the state of a pass of rows through a tree for their values.
type valueWalk struct {
	*walk
	present []vector.Rows // by column: 1 or 0
	outputs []vector.Rows // what the tree adds
	branch  vector.Branch // the one in hand
}

// load takes some rows.
func (w *valueWalk) load(codes []Code, present []bool, rows int) {
	columns := len(w.present)
	clear(w.present)
	for r := range rows {
		for d := range columns {
			code := codes[r*columns+d]
			w.b.codes[d][r] = code
			w.b.lower[d][r], w.b.upper[d][r] = float64(code), float64(code)
			if code == Missing {
				w.b.upper[d][r] = math.Inf(1)
			}
			if present[r*columns+d] {
				w.present[d][r] = 1
			}
		}
	}
}

// split walks what is below a split at a depth.
func (w *valueWalk) split(node, depth int) {
	n := &w.t.nodes[node]
	before, passed := &w.present[n.Column], &w.passed[depth+1]
	w.divide(node, &passed[0], &passed[1], before)
	from := w.factor[depth][:1]
	for side, child := range [...]int{n.Left, n.Right} {
		share := w.t.edges[child].share
		b := &w.branch
		b.Before, b.Passed, b.Share = before, &passed[side], share
		b.Terms[0], b.Terms[1] = -share, 1
		if leaf := &w.t.nodes[child]; leaf.Column == Leaf {
			w.set.Leaf(&w.unused, w.outputs[w.t.output:w.t.output+1], from, leaf.Value, b)
			continue
		}
		to := w.factor[depth+1][:1]
		w.set.Grow(to, from, b)
		if to[0] != (vector.Rows{}) {
			w.split(child, depth+1)
		}
	}
}
