package trees

import (
	"encoding/json"
	"fmt"
)

// storedEnsemble is an ensemble in the open form: JSON, trees as lists over their nodes.
type storedEnsemble struct {
	Columns []storedColumn `json:"columns"`
	Base    []float64      `json:"base"`
	Trees   []storedTree   `json:"trees"`
}

type storedColumn struct {
	Name      string    `json:"name"`
	Edges     []float64 `json:"edges,omitempty"`
	Inclusive bool      `json:"inclusive,omitempty"`
	Single    bool      `json:"single,omitempty"`
	Zero      *Code     `json:"zero,omitempty"`
	Labels    []string  `json:"labels"` // null for a column of numbers
}

type storedTree struct {
	Output  int            `json:"output"`
	Column  []int          `json:"column"`  // -1 for leaves
	Left    []int          `json:"left"`    // children; 0 for leaves
	Right   []int          `json:"right"`   // children; 0 for leaves
	Below   []Code         `json:"below"`   // codes below it go left
	Missing []int          `json:"missing"` // 1: missing values go left; 2: 0 counts as missing; 4: the set goes left
	Cover   []float64      `json:"cover"`
	Value   []float64      `json:"value"`         // 0 for splits
	Set     map[int][]Code `json:"set,omitempty"` // of splits of labels, by node
}

const (
	storedMissingLeft = 1 << iota
	storedZero
	storedSetLeft
)

// UnmarshalJSON reads the open form, and checks it.
func (e *Ensemble) UnmarshalJSON(content []byte) error {
	var s storedEnsemble
	if err := json.Unmarshal(content, &s); err != nil {
		return err
	}
	*e = Ensemble{Base: s.Base}
	for _, c := range s.Columns {
		column := Column{Name: c.Name, Edges: c.Edges, Inclusive: c.Inclusive, Single: c.Single, Zero: Missing, Labels: c.Labels}
		if c.Zero != nil {
			column.Zero = *c.Zero
		}
		e.Columns = append(e.Columns, column)
	}
	for i := range s.Trees {
		t, err := s.Trees[i].tree()
		if err != nil {
			return fmt.Errorf("tree %d: %w", i, err)
		}
		e.Trees = append(e.Trees, t)
	}
	return e.Check()
}

func (t *storedTree) tree() (Tree, error) {
	n := len(t.Column)
	for _, length := range []int{len(t.Left), len(t.Right), len(t.Below), len(t.Missing), len(t.Cover), len(t.Value)} {
		if length != n {
			return Tree{}, fmt.Errorf("its lists have %d and %d elements", n, length)
		}
	}
	out := Tree{Output: t.Output, Nodes: make([]Node, n)}
	for k := range out.Nodes {
		flags := t.Missing[k]
		out.Nodes[k] = Node{
			Column: t.Column[k], Left: t.Left[k], Right: t.Right[k], Below: t.Below[k], Set: t.Set[k], Cover: t.Cover[k], Value: t.Value[k],
			MissingLeft: flags&storedMissingLeft != 0, Zero: flags&storedZero != 0, SetLeft: flags&storedSetLeft != 0,
		}
	}
	return out, nil
}
