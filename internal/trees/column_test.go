package trees

import (
	"math"
	"testing"
)

// A value that equals a threshold goes left by ≤ and right by <.
func TestCodes(t *testing.T) {
	less := Column{Edges: []float64{0.5, 2}, Zero: Missing}
	lessEqual := less
	lessEqual.Inclusive = true
	single := Column{Edges: []float64{float64(float32(0.1))}, Single: true, Zero: Missing}
	for _, c := range []struct {
		column *Column
		x      float64
		want   Code
	}{
		{&less, 0.4, 0},
		{&less, 0.5, 1},
		{&less, 2, 2},
		{&less, 3, 2},
		{&lessEqual, 0.4, 0},
		{&lessEqual, 0.5, 0},
		{&lessEqual, 0.6, 1},
		{&lessEqual, 2, 1},
		{&lessEqual, 3, 2},
		{&single, 0.1, 1}, // rounded to 32 bits it is the threshold
	} {
		if got := c.column.Number(c.x); got != c.want {
			t.Errorf("%v has the code %d among %v, not %d", c.x, got, c.column.Edges, c.want)
		}
	}
}

// Each kind of number and each form of a list becomes JSON.
func TestUBJSONKinds(t *testing.T) {
	for content, want := range map[string]string{
		"[i\xffU\xffI\xff\xfel\xff\xff\xff\xfdL\xff\xff\xff\xff\xff\xff\xff\xfc]": "[-1,255,-2,-3,-4]",
		"[d\x3e\x00\x00\x00D\x3f\xd0\x00\x00\x00\x00\x00\x00ZTFN]":                "[0.125,0.25,null,true,false]",
		"[$I#i\x02\x01\x00\x00\x01":                                               "[256,1]",
		"{i\x01aSi\x02\"b}":                                                       `{"a":"\"b"}`,
		"{#i\x01i\x01a[]":                                                         `{"a":[]}`,
	} {
		got, err := jsonOf([]byte(content))
		if err != nil || string(got) != want {
			t.Errorf("%q is %s, %v, not %s", content, got, err, want)
		}
	}
	for _, content := range []string{"[$Z#L\x7f\xff\xff\xff\xff\xff\xff\xff", "[#i\x05", "[$i", "?", "", "d\x7f\x80\x00\x00"} {
		if got, err := jsonOf([]byte(content)); err == nil {
			t.Errorf("%q is %s", content, got)
		}
	}
}

// Codes and edges that no column has are refused.
func TestCheckSplits(t *testing.T) {
	numbers, labels := Column{Edges: []float64{1, 2}, Zero: Missing}, Column{Labels: []string{"a", "b"}, Zero: Missing}
	leaf := Node{Column: Leaf}
	for _, c := range []struct {
		name   string
		column Column
		split  Node
		ok     bool
	}{
		{"numbers below", numbers, Node{Below: 3}, true},
		{"numbers below too much", numbers, Node{Below: 4}, false},
		{"a set of numbers", numbers, Node{Set: []Code{0, 2}}, true},
		{"a set of numbers with one too large", numbers, Node{Set: []Code{0, 3}}, false},
		{"a set of labels with unknown ones", labels, Node{Set: []Code{0, 2}}, true},
		{"a set of labels with one too large", labels, Node{Set: []Code{3}}, false},
		{"a set with a code twice", labels, Node{Set: []Code{1, 1}}, false},
		{"a set with missing", labels, Node{Set: []Code{Missing}}, false},
		{"an infinite edge", Column{Edges: []float64{1, math.Inf(1)}, Zero: Missing}, Node{Below: 1}, false},
	} {
		c.split.Left, c.split.Right = 1, 2
		e := Ensemble{Columns: []Column{c.column}, Base: []float64{0}, Trees: []Tree{{Nodes: []Node{c.split, leaf, leaf}}}}
		if err := e.Check(); (err == nil) != c.ok {
			t.Errorf("%s: the error is %v", c.name, err)
		}
	}
}
