package trees

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// lightGBMDump is what psi reads of the JSON of LightGBM's dump_model.
type lightGBMDump struct {
	Classes      int      `json:"num_class"`
	PerIteration int      `json:"num_tree_per_iteration"`
	Last         int      `json:"max_feature_idx"`
	Objective    string   `json:"objective"`
	Averaged     bool     `json:"average_output"`
	Names        []string `json:"feature_names"`
	Infos        map[string]struct {
		Values []int `json:"values"` // categories; empty of numbers
	} `json:"feature_infos"` // of columns with more than one value
	Trees []struct {
		Root *lightGBMNode `json:"tree_structure"`
	} `json:"tree_info"`
	Labels json.RawMessage `json:"pandas_categorical"`
}

type lightGBMNode struct {
	Column      int             `json:"split_feature"`
	Threshold   json.RawMessage `json:"threshold"` // a number, or categories "1||2" that go left
	Decision    string          `json:"decision_type"`
	DefaultLeft bool            `json:"default_left"`
	Missing     string          `json:"missing_type"`
	Count       float64         `json:"internal_count"`
	Left        *lightGBMNode   `json:"left_child"`
	Right       *lightGBMNode   `json:"right_child"`

	Value     float64         `json:"leaf_value"`
	LeafCount float64         `json:"leaf_count"`
	Linear    json.RawMessage `json:"leaf_coeff"`
}

func readLightGBMDump(content []byte) (*Model, error) {
	var file lightGBMDump
	if err := json.Unmarshal(content, &file); err != nil {
		return nil, err
	}
	if len(file.Names) != file.Last+1 || len(file.Names) > MaxColumns {
		return nil, fmt.Errorf("%d columns have %d names", file.Last+1, len(file.Names))
	}
	if len(file.Trees) > MaxTrees || file.PerIteration > MaxOutputs {
		return nil, fmt.Errorf("it has %d trees, %d an iteration", len(file.Trees), file.PerIteration)
	}
	scale, err := lightGBMScale(len(file.Trees), file.PerIteration, file.Classes, file.Averaged)
	if err != nil {
		return nil, err
	}
	r := lightGBM{zero: map[int]bool{}, whole: map[int]map[int]Code{}}
	kinds := make([]lightGBMKind, len(file.Names))
	for d, name := range file.Names {
		info, used := file.Infos[name]
		if kinds[d].unused = !used; len(info.Values) > 0 {
			kinds[d].numbers = info.Values
		}
	}
	var labels [][]string
	if len(file.Labels) > 0 && !bytes.Equal(file.Labels, []byte("null")) {
		if labels, err = labelLists(file.Labels); err != nil {
			return nil, fmt.Errorf("pandas_categorical: %w", err)
		}
	}
	if err := r.addColumns(file.Names, kinds, labels, nil); err != nil {
		return nil, err
	}
	trees := make([]parsed, len(file.Trees))
	for i := range trees {
		trees[i].output = i % file.PerIteration
		if _, err := r.nested(file.Trees[i].Root, &trees[i].nodes, scale, 0); err != nil {
			return nil, fmt.Errorf("tree %d: %w", i, err)
		}
	}
	return r.model(trees, file.PerIteration, file.Objective)
}

// nested adds a node and those below it, and returns its place.
func (r *lightGBM) nested(n *lightGBMNode, nodes *[]parsedNode, scale float64, depth int) (int, error) {
	if n == nil || depth > MaxDepth {
		return 0, errNoTree
	}
	if len(n.Linear) > 0 {
		return 0, errLinearLeaves
	}
	at := len(*nodes)
	if n.Left == nil && n.Right == nil {
		*nodes = append(*nodes, parsedNode{Node: Node{Column: Leaf, Cover: n.LeafCount, Value: scale * n.Value}})
		return at, nil
	}
	split := parsedNode{Node: Node{Column: n.Column, Cover: n.Count}}
	if err := r.decideDumped(&split, n); err != nil {
		return 0, err
	}
	*nodes = append(*nodes, split)
	left, err := r.nested(n.Left, nodes, scale, depth+1)
	if err != nil {
		return 0, err
	}
	right, err := r.nested(n.Right, nodes, scale, depth+1)
	(*nodes)[at].Left, (*nodes)[at].Right = left, right
	return at, err
}

// decideDumped reads which way values go.
func (r *lightGBM) decideDumped(split *parsedNode, n *lightGBMNode) error {
	kind := 0
	if n.DefaultLeft {
		kind |= defaultLeftBit
	}
	switch n.Missing {
	case "None":
	case "Zero":
		kind |= missingZero << missingShift
	case "NaN":
		kind |= missingNaN << missingShift
	default:
		return fmt.Errorf("psi does not know the missing_type %q", n.Missing)
	}
	switch n.Decision {
	case "<=":
		if err := json.Unmarshal(n.Threshold, &split.threshold); err != nil {
			return fmt.Errorf("a threshold is %.100q", n.Threshold)
		}
		return r.decide(split, kind, nil)
	case "==":
		var text string
		if err := json.Unmarshal(n.Threshold, &text); err != nil {
			return fmt.Errorf("a threshold is %.100q", n.Threshold)
		}
		var set []int
		for word := range strings.SplitSeq(text, "||") {
			number, err := strconv.Atoi(word)
			if err != nil || number < 0 {
				return fmt.Errorf("a threshold is %.100q", text)
			}
			set = append(set, number)
		}
		return r.decide(split, kind|categoricalBit, [][]int{set})
	default:
		return fmt.Errorf("psi does not know the decision_type %q", n.Decision)
	}
}

var errLinearLeaves = errors.New("it has linear leaves, which are not constants: train with linear_tree=false")
