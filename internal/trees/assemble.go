package trees

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Model is an ensemble as a library saved it, with what its outputs mean.
type Model struct {
	Ensemble
	Objective string  // as the library calls it
	Link      Link    // from outputs to predictions
	Slope     float64 // of the outputs within the link, if it is not 1: predictions are those of Slope × output

	Classes []string // names of the classes, if the file has them
}

// Ranks reports whether outputs are scores that order rows, in no units.
func (m *Model) Ranks() bool { return strings.Contains(strings.ToLower(m.Objective), "rank") }

// Unnamed reports whether the columns have numbers in place of names.
func (m *Model) Unnamed() bool {
	for d := range m.Columns {
		number := strconv.Itoa(d)
		if name := m.Columns[d].Name; name != number && name != "f"+number && name != "Column_"+number {
			return false
		}
	}
	return true
}

// Link turns outputs into predictions.
type Link string

// Links.
const (
	Identity Link = "identity" // a number, or a score
	Log      Link = "log"      // a positive number
	Logit    Link = "logit"    // the probability of the second of two classes
	Softmax  Link = "softmax"  // the probabilities of classes
	Logits   Link = "logits"   // of each class against the rest
)

// parsed is a tree with thresholds in place of codes.
type parsed struct {
	output int
	nodes  []parsedNode
}

// parsedNode is a split or, with the column Leaf, a leaf.
type parsedNode struct {
	Node
	threshold float64 // of a column of numbers
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
				if math.IsNaN(n.threshold) {
					return nil, fmt.Errorf("tree %d has the threshold %v", i, n.threshold)
				}
				thresholds[n.Column] = append(thresholds[n.Column], n.threshold)
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
			edge, _ := slices.BinarySearch(columns[n.Column].Edges, n.threshold)
			out.Nodes[place].Below = Code(edge) + 1
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
