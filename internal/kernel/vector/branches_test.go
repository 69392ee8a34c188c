package vector

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The loops over branches are the portable ones, up to rounding.
func TestBranches(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 0))
	list := func(n int) []Rows {
		rows := make([]Rows, n)
		for i := range rows {
			for k := range rows[i] {
				rows[i][k] = r.NormFloat64()
			}
		}
		return rows
	}
	for _, s := range Available() {
		for nodes := 1; nodes <= 9; nodes++ {
			var before, codes Rows
			for k := range before {
				before[k], codes[k] = float64(r.IntN(2)), float64(r.IntN(9)-1)
			}
			codes[3] = math.Inf(1)
			var left, right, wantLeft, wantRight Rows
			s.Split(&left, &right, &before, &codes, 4)
			Portable.Split(&wantLeft, &wantRight, &before, &codes, 4)
			if left != wantLeft || right != wantRight {
				t.Errorf("%v: rows are split into %v and %v", s, left, right)
			}
			b := &Branch{Before: &before, Passed: &left, Share: r.Float64()}
			for range BranchTerms * nodes {
				b.Terms = append(b.Terms, r.NormFloat64())
			}
			from, phi := list(nodes), list(3)
			to, up, upLeaf := list(nodes), list(nodes), list(nodes)
			wantPhi, wantTo, wantUp, wantLeaf := clone(phi), clone(to), clone(up), clone(upLeaf)
			s.Grow(to, from, b)
			Portable.Grow(wantTo, from, b)
			s.Credit(&phi[1], up, from, b)
			Portable.Credit(&wantPhi[1], wantUp, from, b)
			s.Leaf(&phi[2], upLeaf, from, .7, b)
			Portable.Leaf(&wantPhi[2], wantLeaf, from, .7, b)
			slopes, wantSlopes := list(nodes), list(nodes)
			s.Slope(slopes, from, b)
			Portable.Slope(wantSlopes, from, b)
			s.Dot(&phi[0], from, up)
			Portable.Dot(&wantPhi[0], from, wantUp)
			for what, pair := range map[string][2][]Rows{"φ": {phi, wantPhi}, "factors": {to, wantTo}, "slopes": {slopes, wantSlopes}, "sums": {up, wantUp}, "sums of leaves": {upLeaf, wantLeaf}} {
				for i := range pair[0] {
					for k, x := range pair[0][i] {
						if !(math.Abs(x-pair[1][i][k]) <= 1e-13*(1+math.Abs(x))) {
							t.Fatalf("%v, %d nodes: %s are %v, not %v, at node %d of row %d", s, nodes, what, x, pair[1][i][k], i, k)
						}
					}
				}
			}
		}
	}
}

func clone(rows []Rows) []Rows { return append([]Rows{}, rows...) }
