package trees

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// parsed is a tree with thresholds in place of codes.
type parsed struct {
	output int
	file   int // number of the tree in the file, whose leaves may hold several outputs
	nodes  []parsedNode
}

// parsedNode is a split or, with the column Leaf, a leaf.
type parsedNode struct {
	Node
	threshold float64 // of a column of numbers
	equal     bool    // column of numbers that is Inclusive: the threshold itself goes right, and all else left
}

// perOutput is a tree for each output of one whose leaves hold several. values are [nodes, outputs].
func perOutput(nodes []parsedNode, values []float64, outputs int) []parsed {
	list := make([]parsed, outputs)
	for c := range list {
		list[c] = parsed{output: c, nodes: slices.Clone(nodes)}
		for k := range nodes {
			if nodes[k].Column == Leaf {
				list[c].nodes[k].Value = values[k*outputs+c]
			}
		}
	}
	return list
}

// budget counts the nodes that a file needs before they are allocated.
type budget struct{ nodes int }

// take refuses n nodes for each of several outputs if the ensemble would have too many.
func (b *budget) take(n, outputs int) error {
	if n > MaxNodes || outputs > MaxOutputs || n*outputs > MaxNodes-b.nodes {
		return fmt.Errorf("it has more than %d nodes", MaxNodes)
	}
	b.nodes += n * outputs
	return nil
}

// assemble makes an ensemble of trees, and checks it. Thresholds of a column become its edges. The root is node 0 of each tree; the others
// may stand in any order.
func assemble(columns []Column, base []float64, trees []parsed) (*Ensemble, error) {
	e := &Ensemble{Columns: columns, Base: base}
	thresholds := make([][]float64, len(columns))
	for i := range trees {
		for k := range trees[i].nodes {
			n := &trees[i].nodes[k]
			if n.Column == Leaf {
				continue
			}
			if n.Column < 0 || n.Column >= len(columns) {
				return nil, fmt.Errorf("tree %d splits column %d of %d", i, n.Column, len(columns))
			}
			if c := &columns[n.Column]; c.Labels == nil {
				switch {
				case math.IsNaN(n.threshold):
					return nil, fmt.Errorf("tree %d has the threshold %v", i, n.threshold)
				case math.IsInf(n.threshold, 0): // which all numbers lie on one side of
				case n.equal:
					thresholds[n.Column] = append(thresholds[n.Column], c.before(n.threshold), n.threshold)
				default:
					thresholds[n.Column] = append(thresholds[n.Column], n.threshold)
				}
			}
		}
	}
	for d := range columns {
		c := &columns[d]
		if c.Labels == nil {
			c.Edges = slices.Compact(slices.Sorted(slices.Values(append(c.Edges, thresholds[d]...))))
		}
	}
	for i := range trees {
		t, err := trees[i].ordered(columns)
		if err != nil {
			return nil, fmt.Errorf("tree %d: %w", i, err)
		}
		e.Trees = append(e.Trees, t)
	}
	if err := e.Check(); err != nil {
		return nil, err
	}
	return e, nil
}

var errNoTree = errors.New("its nodes are not one tree")

// ordered is the tree with the children of each node behind it, and codes in place of thresholds.
func (t *parsed) ordered(columns []Column) (Tree, error) {
	out := Tree{Output: t.output}
	met := make([]bool, len(t.nodes))
	var take func(at, depth int) (int, error)
	take = func(at, depth int) (int, error) {
		if at < 0 || at >= len(t.nodes) || met[at] || depth > MaxDepth {
			return 0, errNoTree
		}
		met[at] = true
		place := len(out.Nodes)
		n := t.nodes[at]
		out.Nodes = append(out.Nodes, n.Node)
		if n.Column == Leaf {
			return place, nil
		}
		if columns[n.Column].Labels == nil {
			n.code(&out.Nodes[place], columns[n.Column].Edges)
		}
		left, err := take(n.Left, depth+1)
		if err != nil {
			return 0, err
		}
		right, err := take(n.Right, depth+1)
		out.Nodes[place].Left, out.Nodes[place].Right = left, right
		return place, err
	}
	_, err := take(0, 0)
	return out, err
}

// code sets the codes that go left, or the only one that goes right.
func (n *parsedNode) code(node *Node, edges []float64) {
	edge, _ := slices.BinarySearch(edges, n.threshold)
	switch {
	case n.equal && math.IsInf(n.threshold, 0):
		node.Set = []Code{}
	case n.equal:
		node.Set = []Code{Code(edge)} //nolint:gosec // as many as there are nodes
	case math.IsInf(n.threshold, -1):
		node.Below = 0
	default:
		node.Below = Code(edge) + 1 //nolint:gosec // as many as there are nodes
	}
}
