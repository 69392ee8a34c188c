package trees

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
)

// All numbers lie on one side of an infinite threshold, which is no edge of its column: edges are finite, as model files need.
func TestInfiniteThresholds(t *testing.T) {
	leaf := func(value float64) parsedNode { return parsedNode{Node: Node{Column: Leaf, Value: value}} }
	split := func(threshold float64, missingLeft, equal bool) parsed {
		return parsed{nodes: []parsedNode{{threshold: threshold, equal: equal, Node: Node{Left: 1, Right: 2, MissingLeft: missingLeft}}, leaf(1), leaf(2)}}
	}
	columns := []Column{{Name: "a", Inclusive: true, Zero: Missing}}
	e, err := assemble(columns, []float64{0}, []parsed{split(math.Inf(1), false, false), split(math.Inf(-1), true, false), split(math.Inf(1), true, true), split(3, true, false), split(3, true, true)})
	if err != nil {
		t.Fatal(err)
	}
	if want := []float64{math.Nextafter(3, 0), 3}; !reflect.DeepEqual(e.Columns[0].Edges, want) {
		t.Errorf("the edges are %v, not %v", e.Columns[0].Edges, want)
	}
	content, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var back Ensemble
	if err := json.Unmarshal(content, &back); err != nil || !reflect.DeepEqual(&back, e) {
		t.Errorf("another ensemble came back: %v", err)
	}
	for _, c := range []struct {
		x    float64
		want []float64 // the leaf of each tree
	}{
		{-5, []float64{1, 2, 1, 1, 1}},
		{3, []float64{1, 2, 1, 1, 2}},
		{4, []float64{1, 2, 1, 2, 1}},
		{math.NaN(), []float64{2, 1, 1, 1, 1}},
	} {
		for i, want := range c.want {
			one := Ensemble{Columns: e.Columns, Base: e.Base, Trees: e.Trees[i : i+1]}
			if got := one.NewGame(Cover).Values([]Code{e.Columns[0].Number(c.x)}, nil)[0]; got != want {
				t.Errorf("tree %d has the value %v for %v, not %v", i, got, c.x, want)
			}
		}
	}
}
