package trees

import "testing"

// Nodes may share a set, as those of CatBoost's statistics do: each row takes the same branches before and after.
func TestArrangeSharedSets(t *testing.T) {
	shared := []Code{0, 2}
	leaf := func(value float64) Node { return Node{Column: Leaf, Value: value} }
	e := Ensemble{
		Columns: []Column{{Name: "colour", Labels: []string{"red", "blue", "green"}, Zero: Missing}, {Name: "x", Edges: []float64{0}, Zero: Missing}},
		Base:    []float64{0},
		Trees: []Tree{
			{Nodes: []Node{{Column: 0, Left: 1, Right: 2, Set: shared, SetLeft: true}, leaf(1), leaf(2)}},
			{Nodes: []Node{{Column: 0, Left: 1, Right: 2, Set: shared, SetLeft: true}, leaf(10), leaf(20)}},
		},
	}
	e.Arrange([]int{1, 0})
	for label, want := range map[string]float64{"red": 11, "blue": 22, "green": 11, "other": 22} {
		got := 0.0
		for i := range e.Trees {
			nodes := e.Trees[i].Nodes
			at := nodes[0].Right
			if nodes[0].left(e.Columns[nodes[0].Column].Label(label), Missing) {
				at = nodes[0].Left
			}
			got += nodes[at].Value
		}
		if got != want {
			t.Errorf("%s: %v, want %v", label, got, want)
		}
	}
}
