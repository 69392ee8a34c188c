package trees

import (
	"fmt"
	"slices"
)

// Ensemble is a sum of trees: output c is Base[c] plus the values of the leaves that a row reaches in the trees of c.
type Ensemble struct {
	Columns []Column
	Base    []float64 // of each output
	Trees   []Tree
}

// Tree adds to one output.
type Tree struct {
	Output int
	Nodes  []Node // the root first, children after their parents
}

// Node is a split, or a leaf.
type Node struct {
	Column      int // of the split; Leaf of a leaf
	Left, Right int // children

	Below       Code    // column of numbers: codes below it go left
	Set         []Code  // if not nil: these codes, in increasing order, go one way, and all others the other; always of labels
	SetLeft     bool    // the way of the set is left
	MissingLeft bool    // where a missing value goes
	Zero        bool    // column of numbers: Column.Zero counts as missing here
	Cover       float64 // training rows, or their weight, that reached the node
	Value       float64 // of a leaf
}

// left says which way a code goes, where 0 has the code zero.
func (n *Node) left(code, zero Code) bool {
	switch {
	case code == Missing || n.Zero && code == zero:
		return n.MissingLeft
	case n.Set == nil:
		return code < n.Below
	default:
		_, is := slices.BinarySearch(n.Set, code)
		return is == n.SetLeft
	}
}

// Leaf is the column of a leaf.
const Leaf = -1

// Limits of an ensemble. Files are hostile until they are checked against them.
const (
	MaxTrees   = 100_000
	MaxNodes   = 50_000_000 // of all trees
	MaxDepth   = 64
	MaxColumns = 1 << 20
	MaxOutputs = 10_000
)

// Check refuses what is not a sum of trees within the limits.
func (e *Ensemble) Check() error {
	nodes := 0
	for i := range e.Trees {
		nodes += len(e.Trees[i].Nodes)
	}
	switch {
	case len(e.Trees) > MaxTrees:
		return fmt.Errorf("%d trees are more than %d", len(e.Trees), MaxTrees)
	case nodes > MaxNodes:
		return fmt.Errorf("%d nodes are more than %d", nodes, MaxNodes)
	case len(e.Columns) > MaxColumns:
		return fmt.Errorf("%d columns are more than %d", len(e.Columns), MaxColumns)
	case len(e.Base) == 0 || len(e.Base) > MaxOutputs:
		return fmt.Errorf("%d outputs are not 1 to %d", len(e.Base), MaxOutputs)
	}
	for c, base := range e.Base {
		if !finite(base) {
			return fmt.Errorf("output %d has the base %v", c, base)
		}
	}
	for d := range e.Columns {
		if err := e.Columns[d].check(); err != nil {
			return fmt.Errorf("column %d: %w", d, err)
		}
	}
	for i := range e.Trees {
		if err := e.checkTree(&e.Trees[i]); err != nil {
			return fmt.Errorf("tree %d: %w", i, err)
		}
	}
	return nil
}

// checkTree refuses nodes that are not one tree: each but the root is the child of one node before it.
func (e *Ensemble) checkTree(t *Tree) error {
	if len(t.Nodes) == 0 {
		return fmt.Errorf("it has no nodes")
	}
	if t.Output < 0 || t.Output >= len(e.Base) {
		return fmt.Errorf("it adds to output %d of %d", t.Output, len(e.Base))
	}
	depth := make([]int, len(t.Nodes)) // 0 of nodes that no node before them has as a child
	depth[0] = 1
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if depth[i] == 0 {
			return fmt.Errorf("node %d is no child of a node before it", i)
		}
		if depth[i] > MaxDepth+1 {
			return fmt.Errorf("it is deeper than %d", MaxDepth)
		}
		if !(n.Cover >= 0) || !finite(n.Cover) {
			return fmt.Errorf("node %d has the cover %v", i, n.Cover)
		}
		if !finite(n.Value) {
			return fmt.Errorf("node %d has the value %v", i, n.Value)
		}
		if n.Column == Leaf {
			continue
		}
		if err := e.checkSplit(n); err != nil {
			return fmt.Errorf("node %d: %w", i, err)
		}
		for _, child := range []int{n.Left, n.Right} {
			if child <= i || child >= len(t.Nodes) || depth[child] != 0 {
				return fmt.Errorf("node %d has the child %d", i, child)
			}
			depth[child] = depth[i] + 1
		}
	}
	return nil
}

func (e *Ensemble) checkSplit(n *Node) error {
	if n.Column < 0 || n.Column >= len(e.Columns) {
		return fmt.Errorf("it splits column %d of %d", n.Column, len(e.Columns))
	}
	column := &e.Columns[n.Column]
	last := len(column.Edges)
	if column.Labels != nil {
		last = len(column.Labels)
	} else if n.Below < 0 || int(n.Below) > last+1 {
		return fmt.Errorf("codes below %d of %d go left", n.Below, last+1)
	}
	for k, code := range n.Set {
		if code < 0 || int(code) > last || k > 0 && code <= n.Set[k-1] {
			return fmt.Errorf("it splits by code %d of %d", code, last)
		}
	}
	return nil
}
