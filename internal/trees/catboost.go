package trees

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// catboostFile is what psi reads of CatBoost's JSON.
type catboostFile struct {
	Oblivious []catboostOblivious        `json:"oblivious_trees"`
	Trees     []*catboostNode            `json:"trees"` // of grow_policy Depthwise and Lossguide
	Scale     []json.RawMessage          `json:"scale_and_bias"`
	Features  catboostFeatures           `json:"features_info"`
	Tables    map[string]catboostTable   `json:"ctr_data"`
	Info      map[string]json.RawMessage `json:"model_info"`
}

type catboostFeatures struct {
	Floats     []catboostColumn    `json:"float_features"`
	Labels     []catboostColumn    `json:"categorical_features"`
	Texts      []catboostText      `json:"cat_features_hash"`
	Statistics []catboostStatistic `json:"ctrs"`
	Text       []json.RawMessage   `json:"text_features"`
	Embedding  []json.RawMessage   `json:"embedding_features"`
}

type catboostColumn struct {
	Name    string    `json:"feature_id"`
	Index   int       `json:"feature_index"` // among the columns of its kind
	Flat    int       `json:"flat_feature_index"`
	Borders []float64 `json:"borders"`
	Missing string    `json:"nan_value_treatment"`
	Values  []int64   `json:"values"` // hashes of labels that splits ask for
}

// catboostText is a label and its hash, in 32 bits.
type catboostText struct {
	Hash int64  `json:"hash"`
	Text string `json:"value"`
}

// catboostOblivious is a tree with one split for each level. Bit k of the number of a leaf says whether split k is true.
type catboostOblivious struct {
	Splits  []catboostSplit `json:"splits"`
	Values  []float64       `json:"leaf_values"` // [leaves, outputs]
	Weights []float64       `json:"leaf_weights"`
}

type catboostNode struct {
	Left   *catboostNode   `json:"left"`
	Right  *catboostNode   `json:"right"`
	Split  *catboostSplit  `json:"split"`
	Value  json.RawMessage `json:"value"` // a number, or one for each output
	Weight float64         `json:"weight"`
}

// catboostSplit sends to the right what is above a border, or is the value.
type catboostSplit struct {
	Kind   string  `json:"split_type"`
	Index  int     `json:"split_index"`
	Float  int     `json:"float_feature_index"`
	Label  int     `json:"cat_feature_index"`
	Border float64 `json:"border"`
	Value  int64   `json:"value"`
}

// maxOblivious is CatBoost's greatest depth.
const maxOblivious = 16

// ReadCatBoost reads the JSON that CatBoost.save_model writes with format="json". Statistics of single columns (CTR) are tables in the file, so a
// split by one is a set of labels. Statistics of several columns are refused.
func ReadCatBoost(content []byte) (*Model, error) {
	var file catboostFile
	if err := json.Unmarshal(content, &file); err != nil {
		return nil, err
	}
	r := catboost{file: &file}
	scale, base, err := file.scaleAndBias()
	if err != nil {
		return nil, err
	}
	if r.outputs = len(base); r.outputs == 0 || r.outputs > MaxOutputs {
		return nil, fmt.Errorf("%d outputs are not 1 to %d", r.outputs, MaxOutputs)
	}
	if err := r.columns(); err != nil {
		return nil, err
	}
	if n := len(file.Oblivious) + len(file.Trees); n*r.outputs > MaxTrees {
		return nil, fmt.Errorf("%d trees for %d outputs are more than %d", n, r.outputs, MaxTrees)
	}
	var trees []parsed
	for i := range file.Oblivious {
		nodes, values, err := r.oblivious(&file.Oblivious[i])
		if err != nil {
			return nil, fmt.Errorf("tree %d: %w", i, err)
		}
		trees = append(trees, perOutput(nodes, scaled(values, scale), r.outputs)...)
	}
	for i, root := range file.Trees {
		nodes, values, err := r.nested(root)
		if err != nil {
			return nil, fmt.Errorf("tree %d: %w", i, err)
		}
		trees = append(trees, perOutput(nodes, scaled(values, scale), r.outputs)...)
	}
	e, err := assemble(r.list, base, trees)
	if err != nil {
		return nil, err
	}
	m := &Model{Ensemble: *e, Slope: 1}
	if err := m.catboostObjective(&file); err != nil {
		return nil, err
	}
	return m.checked()
}

func scaled(list []float64, by float64) []float64 {
	for i := range list {
		list[i] *= by
	}
	return list
}

// scaleAndBias reads [scale, [bias of each output]], or [scale, bias] as older versions write it.
func (f *catboostFile) scaleAndBias() (scale float64, bias []float64, err error) {
	if len(f.Scale) != 2 {
		return 0, nil, errors.New("scale_and_bias has not two elements")
	}
	if err := json.Unmarshal(f.Scale[0], &scale); err != nil {
		return 0, nil, fmt.Errorf("scale_and_bias: %w", err)
	}
	bias, err = oneOrMore(f.Scale[1])
	if err != nil {
		return 0, nil, fmt.Errorf("scale_and_bias: %w", err)
	}
	return scale, bias, nil
}

// oneOrMore reads a number or a list of them.
func oneOrMore(content json.RawMessage) (list []float64, err error) {
	if bytes.HasPrefix(content, []byte("[")) {
		err = json.Unmarshal(content, &list)
		return list, err
	}
	list = make([]float64, 1)
	err = json.Unmarshal(content, &list[0])
	return list, err
}

// catboost is the state of reading a file.
type catboost struct {
	budget

	file    *catboostFile
	outputs int
	list    []Column
	floats  map[int]int          // column by number among the columns of numbers
	labels  map[int]int          // column by number among the columns of labels
	missing []bool               // by column: missing numbers go left
	codes   []map[uint32]Code    // by column: of the hashes of its labels
	sets    map[int]catboostSide // by split_index: what goes right at the border of a statistic
	cells   int                  // labels of all borders
}

// catboostSide is the labels of a column that go right.
type catboostSide struct {
	column int
	border float64
	codes  []Code
}

// columns reads names, and what splits know of each column.
func (r *catboost) columns() error {
	features := &r.file.Features
	if len(features.Text) > 0 || len(features.Embedding) > 0 {
		return errors.New("it has columns of text or embeddings: train without text_features and embedding_features")
	}
	n := len(features.Floats) + len(features.Labels)
	if n > MaxColumns {
		return fmt.Errorf("%d columns are more than %d", n, MaxColumns)
	}
	r.list, r.missing, r.codes = make([]Column, n), make([]bool, n), make([]map[uint32]Code, n)
	r.floats, r.labels = map[int]int{}, map[int]int{}
	met := make([]bool, n)
	take := func(c *catboostColumn) error {
		if c.Flat < 0 || c.Flat >= n || met[c.Flat] {
			return fmt.Errorf("column %q has the number %d of %d", c.Name, c.Flat, n)
		}
		met[c.Flat] = true
		if r.list[c.Flat] = (Column{Name: c.Name, Zero: Missing}); c.Name == "" {
			r.list[c.Flat].Name = strconv.Itoa(c.Flat) // as CatBoost calls it
		}
		return nil
	}
	for i := range features.Floats {
		c := &features.Floats[i]
		if err := take(c); err != nil {
			return err
		}
		r.floats[c.Index] = c.Flat
		r.list[c.Flat].Inclusive, r.list[c.Flat].Single = true, true
		switch c.Missing {
		case "AsIs", "AsFalse": // no comparison with NaN is true
			r.missing[c.Flat] = true
		case "AsTrue":
		default:
			return fmt.Errorf("column %q treats missing values %q", c.Name, c.Missing)
		}
	}
	for i := range features.Labels {
		c := &features.Labels[i]
		if err := take(c); err != nil {
			return err
		}
		r.labels[c.Index] = c.Flat
		r.list[c.Flat].Labels, r.codes[c.Flat] = []string{}, map[uint32]Code{}
	}
	return r.readLabels()
}

// oblivious reads a tree of levels. Its root is the last split, so that the leaves stand in the order of their numbers; CatBoost's Shapley values
// take the same order.
func (r *catboost) oblivious(t *catboostOblivious) ([]parsedNode, []float64, error) {
	depth := len(t.Splits)
	if depth > maxOblivious {
		return nil, nil, fmt.Errorf("it is deeper than %d", maxOblivious)
	}
	leaves := 1 << depth
	if len(t.Values) != leaves*r.outputs || len(t.Weights) != 0 && len(t.Weights) != leaves {
		return nil, nil, fmt.Errorf("%d leaves have %d values and %d weights", leaves, len(t.Values), len(t.Weights))
	}
	if err := r.take(2*leaves-1, r.outputs); err != nil {
		return nil, nil, err
	}
	nodes := make([]parsedNode, 2*leaves-1)
	for level := range depth {
		split, err := r.split(&t.Splits[depth-1-level])
		if err != nil {
			return nil, nil, err
		}
		for k := range 1 << level {
			at := 1<<level - 1 + k
			nodes[at] = split
			nodes[at].Left, nodes[at].Right = 2*at+1, 2*at+2
		}
	}
	for k := range leaves {
		leaf := &nodes[leaves-1+k]
		if leaf.Column = Leaf; len(t.Weights) > 0 {
			leaf.Cover = t.Weights[k]
		}
	}
	for at := leaves - 2; at >= 0; at-- {
		nodes[at].Cover = nodes[2*at+1].Cover + nodes[2*at+2].Cover
	}
	values := make([]float64, len(nodes)*r.outputs)
	copy(values[(leaves-1)*r.outputs:], t.Values)
	return nodes, values, nil
}

// nested reads a tree of nodes within nodes.
func (r *catboost) nested(root *catboostNode) (nodes []parsedNode, values []float64, err error) {
	var take func(n *catboostNode, depth int) (int, error)
	take = func(n *catboostNode, depth int) (int, error) {
		if n == nil || depth > MaxDepth {
			return 0, errNoTree
		}
		if err := r.take(1, r.outputs); err != nil {
			return 0, err
		}
		at := len(nodes)
		nodes, values = append(nodes, parsedNode{Node: Node{Column: Leaf, Cover: n.Weight}}), append(values, make([]float64, r.outputs)...)
		if n.Split == nil {
			list, err := oneOrMore(n.Value)
			if err != nil || len(list) != r.outputs {
				return 0, fmt.Errorf("a leaf has the value %.100q for %d outputs", n.Value, r.outputs)
			}
			copy(values[at*r.outputs:], list)
			return at, nil
		}
		split, err := r.split(n.Split)
		if err != nil {
			return 0, err
		}
		if split.Left, err = take(n.Left, depth+1); err != nil {
			return 0, err
		}
		if split.Right, err = take(n.Right, depth+1); err != nil {
			return 0, err
		}
		split.Cover = nodes[split.Left].Cover + nodes[split.Right].Cover
		nodes[at] = split
		return at, nil
	}
	_, err = take(root, 0)
	return nodes, values, err
}

// split reads which way values go. A missing label goes with the unknown ones: CatBoost has no missing labels.
func (r *catboost) split(s *catboostSplit) (parsedNode, error) {
	n := parsedNode{}
	var known bool
	switch s.Kind {
	case "FloatFeature":
		n.Column, known = r.floats[s.Float]
		n.threshold = float64(float32(s.Border))
		if known {
			n.MissingLeft = r.missing[n.Column]
		}
	case "OneHotFeature":
		if n.Column, known = r.labels[s.Label]; known {
			code, listed := r.codes[n.Column][hash32(s.Value)]
			if !listed {
				return n, errNoTexts
			}
			n.Set, n.MissingLeft = []Code{code}, true
		}
	case "OnlineCtr":
		var side catboostSide
		if side, known = r.sets[s.Index]; known {
			if side.border != s.Border {
				return n, fmt.Errorf("split_index %d has the borders %v and %v", s.Index, side.border, s.Border)
			}
			n.Column, n.Set = side.column, side.codes
			n.MissingLeft = !slices.Contains(side.codes, Code(len(r.list[n.Column].Labels)))
		}
	default:
		return n, fmt.Errorf("psi does not know splits of the type %q", s.Kind)
	}
	if !known {
		return n, fmt.Errorf("a split of the type %s has no column", s.Kind)
	}
	return n, nil
}
