package trees

import "testing"

// Each row counts once at every node of its path, and covers of an earlier count do not stay.
func TestCountCovers(t *testing.T) {
	e, r := random(3, 5, 6, 4, 2)
	codes, _ := rowsOf(r, e, 200)
	for range 2 {
		e.CountCovers(codes)
	}
	for i, tree := range e.Trees {
		if tree.Nodes[0].Cover != 200 {
			t.Errorf("tree %d: %v rows reach the root", i, tree.Nodes[0].Cover)
		}
		for k, n := range tree.Nodes {
			if n.Column != Leaf && n.Cover != tree.Nodes[n.Left].Cover+tree.Nodes[n.Right].Cover {
				t.Errorf("tree %d: the children of node %d have other rows than it", i, k)
			}
		}
		// The rows of the root's left child are those that it sends there.
		root, left := &tree.Nodes[0], 0.0
		for row := codes; len(row) > 0; row = row[len(e.Columns):] {
			if root.left(row[root.Column], e.Columns[root.Column].Zero) {
				left++
			}
		}
		if got := tree.Nodes[root.Left].Cover; got != left {
			t.Errorf("tree %d: %v rows go left, not %v", i, got, left)
		}
	}
	one := Ensemble{Base: []float64{0}, Trees: []Tree{{Nodes: []Node{{Column: Leaf}}}}}
	one.CountCovers(nil)
	if one.Trees[0].Nodes[0].Cover != 0 {
		t.Error("no rows have a cover")
	}
}
