package trees

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// xgboostFile is what psi reads of XGBoost's JSON.
type xgboostFile struct {
	Learner struct {
		Attributes map[string]string `json:"attributes"`
		Names      []string          `json:"feature_names"`
		Types      []string          `json:"feature_types"`
		Booster    struct {
			Name  string       `json:"name"`
			Model xgboostModel `json:"model"`
			// DART nests a gbtree beside the weights of its trees.
			Tree struct {
				Model xgboostModel `json:"model"`
			} `json:"gbtree"`
			WeightDrop []float64 `json:"weight_drop"`
		} `json:"gradient_booster"`
		Param struct {
			BaseScore  string `json:"base_score"`
			NumClass   string `json:"num_class"`
			NumFeature string `json:"num_feature"`
			NumTarget  string `json:"num_target"`
		} `json:"learner_model_param"`
		Objective struct {
			Name string `json:"name"`
		} `json:"objective"`
	} `json:"learner"`
}

type xgboostModel struct {
	Trees      []xgboostTree `json:"trees"`
	Output     []int         `json:"tree_info"`
	Iterations []int         `json:"iteration_indptr"`
	Cats       struct {
		Enc []struct {
			Offsets []int           `json:"offsets"`
			Values  json.RawMessage `json:"values"`
		} `json:"enc"`
	} `json:"cats"`
}

type xgboostTree struct {
	Left        []int     `json:"left_children"`
	Right       []int     `json:"right_children"`
	Column      []int     `json:"split_indices"`
	Condition   []float64 `json:"split_conditions"` // threshold of a split, value of a leaf
	DefaultLeft []int     `json:"default_left"`
	Kind        []int     `json:"split_type"` // 1 is categorical
	Hessian     []float64 `json:"sum_hessian"`
	Categories  []int     `json:"categories"`
	Nodes       []int     `json:"categories_nodes"`
	Segments    []int     `json:"categories_segments"`
	Sizes       []int     `json:"categories_sizes"`
	Vectors     []float64 `json:"leaf_weights"` // of multi_strategy=multi_output_tree: [leaves, outputs]
	Param       struct {
		Leaf string `json:"size_leaf_vector"`
	} `json:"tree_param"`
}

// vector says whether leaves hold several outputs.
func (t *xgboostTree) vector() bool {
	return t.Param.Leaf != "" && t.Param.Leaf != "0" && t.Param.Leaf != "1"
}

// vectors are the values [nodes, outputs] of a tree whose leaves hold several outputs, multiplied by scale. The right child of a leaf is its number.
func (t *xgboostTree) vectors(outputs int, scale float64) ([]float64, error) {
	if t.Param.Leaf != strconv.Itoa(outputs) {
		return nil, fmt.Errorf("its leaves hold %q outputs of %d", t.Param.Leaf, outputs)
	}
	if len(t.Vectors) == 0 {
		return nil, errors.New("its leaves hold several outputs (multi_strategy=multi_output_tree) in an old form: save it with XGBoost 3.2, or train one output per tree")
	}
	leaves := 0
	for _, left := range t.Left {
		if left < 0 {
			leaves++
		}
	}
	if len(t.Vectors) != leaves*outputs { // so a short file has few nodes for each output
		return nil, fmt.Errorf("%d leaves have %d values of %d outputs", leaves, len(t.Vectors), outputs)
	}
	values := make([]float64, len(t.Left)*outputs)
	for i, left := range t.Left {
		if left >= 0 {
			continue
		}
		leaf := t.Right[i]
		if leaf < 0 || leaf >= leaves {
			return nil, fmt.Errorf("node %d is leaf %d of %d", i, leaf, leaves)
		}
		for c, x := range t.Vectors[leaf*outputs:][:outputs] {
			values[i*outputs+c] = scale * float64(float32(x))
		}
	}
	return values, nil
}

// ReadXGBoost reads the JSON or UBJSON that Booster.save_model writes.
func ReadXGBoost(content []byte) (*Model, error) {
	if isUBJSON(content) {
		var err error
		if content, err = jsonOf(content); err != nil {
			return nil, err
		}
	}
	var file xgboostFile
	if err := json.Unmarshal(content, &file); err != nil {
		return nil, err
	}
	l := &file.Learner
	model := &l.Booster.Model
	switch l.Booster.Name {
	case "gbtree":
	case "dart":
		model = &l.Booster.Tree.Model
	default:
		return nil, fmt.Errorf("it is a booster %q, not one of trees: train with booster=gbtree or dart", l.Booster.Name)
	}
	columns, codes, err := file.columns(model)
	if err != nil {
		return nil, err
	}
	outputs, err := file.outputs()
	if err != nil {
		return nil, err
	}
	if len(model.Output) != len(model.Trees) {
		return nil, fmt.Errorf("%d trees have %d outputs", len(model.Trees), len(model.Output))
	}
	used, err := file.used(model)
	if err != nil {
		return nil, err
	}
	var trees []parsed
	var room budget
	for i := range used {
		scale := 1.0
		if l.Booster.Name == "dart" {
			if len(l.Booster.WeightDrop) != len(model.Trees) {
				return nil, fmt.Errorf("%d trees have %d weights", len(model.Trees), len(l.Booster.WeightDrop))
			}
			scale = l.Booster.WeightDrop[i]
		}
		t := &model.Trees[i]
		nodes, err := t.nodes(columns, codes, scale)
		if err != nil {
			return nil, fmt.Errorf("tree %d: %w", i, err)
		}
		if !t.vector() {
			trees = append(trees, parsed{output: model.Output[i], nodes: nodes})
			continue
		}
		values, err := t.vectors(outputs, scale)
		if err == nil {
			err = room.take(len(nodes), outputs)
		}
		if err != nil {
			return nil, fmt.Errorf("tree %d: %w", i, err)
		}
		if trees = append(trees, perOutput(nodes, values, outputs)...); len(trees) > MaxTrees {
			return nil, fmt.Errorf("it has more than %d trees of one output", MaxTrees)
		}
	}
	m := &Model{Objective: l.Objective.Name, Slope: 1}
	base, err := m.xgboostObjective(l.Param.BaseScore, outputs)
	if err != nil {
		return nil, err
	}
	e, err := assemble(columns, base, trees)
	if err != nil {
		return nil, err
	}
	m.Ensemble = *e
	return m.checked()
}

// lengthMarkers begin what follows the brace of a UBJSON object: the length of a name, or what is said of all members. No JSON has them there.
const lengthMarkers = "iUIlL$#"

// used is how many trees predictions use: those up to the best iteration, if training was stopped early. So do predictions of XGBoost's
// estimators for scikit-learn; Booster.predict uses all trees unless its iteration_range says otherwise.
func (f *xgboostFile) used(m *xgboostModel) (int, error) {
	text, given := f.Learner.Attributes["best_iteration"]
	if !given {
		return len(m.Trees), nil
	}
	best, err := strconv.Atoi(text)
	if err != nil || best < 0 || best+1 >= len(m.Iterations) || m.Iterations[best+1] < 0 || m.Iterations[best+1] > len(m.Trees) {
		return 0, fmt.Errorf("its best iteration is %q", text)
	}
	return m.Iterations[best+1], nil
}

func (f *xgboostFile) outputs() (int, error) {
	largest := 1
	for _, text := range []string{f.Learner.Param.NumClass, f.Learner.Param.NumTarget} {
		n, err := strconv.Atoi(text)
		if text == "" {
			n, err = 0, nil
		}
		if err != nil || n < 0 || n > MaxOutputs {
			return 0, fmt.Errorf("it has %q outputs", text)
		}
		largest = max(largest, n)
	}
	return largest, nil
}

// columns are those of the ensemble, and the codes of the numbers that splits give the labels of each.
func (f *xgboostFile) columns(m *xgboostModel) ([]Column, []map[int]Code, error) {
	n, err := strconv.Atoi(f.Learner.Param.NumFeature)
	if err != nil || n < 0 || n > MaxColumns {
		return nil, nil, fmt.Errorf("it has %q columns", f.Learner.Param.NumFeature)
	}
	names, types := f.Learner.Names, f.Learner.Types
	if len(names) != 0 && len(names) != n || len(types) != 0 && len(types) != n {
		return nil, nil, fmt.Errorf("%d columns have %d names and %d types", n, len(names), len(types))
	}
	numbered, err := m.numbered(n)
	if err != nil {
		return nil, nil, err
	}
	columns, codes := make([]Column, n), make([]map[int]Code, n)
	for d := range columns {
		c := &columns[d]
		*c = Column{Name: "f" + strconv.Itoa(d), Single: true, Zero: Missing}
		if len(names) > 0 {
			c.Name = names[d]
		}
		if len(types) > 0 && types[d] == "c" {
			if c.Labels, err = m.labels(d); err != nil {
				return nil, nil, fmt.Errorf("column %s: %w", c.Name, err)
			}
			codes[d] = map[int]Code{}
			for k := range c.Labels {
				codes[d][k] = Code(k)
			}
			if c.Labels == nil {
				c.Labels = []string{}
				for k, number := range numbered[d] {
					codes[d][number] = Code(k)
					c.Labels = append(c.Labels, strconv.Itoa(number))
				}
			}
		}
	}
	return columns, codes, nil
}

// labels are the names of a column's categories, by their numbers; nil if they have none.
func (m *xgboostModel) labels(d int) (labels []string, err error) {
	if d >= len(m.Cats.Enc) || len(m.Cats.Enc[d].Values) == 0 {
		return nil, nil
	}
	enc := &m.Cats.Enc[d]
	if len(enc.Offsets) == 0 {
		var values []json.Number
		err = json.Unmarshal(enc.Values, &values)
		for _, v := range values {
			labels = append(labels, v.String())
		}
		return labels, err
	}
	// Texts, one after another.
	var values []uint8Number
	if err := json.Unmarshal(enc.Values, &values); err != nil {
		return nil, err
	}
	text := make([]byte, len(values))
	for k, b := range values {
		text[k] = byte(b)
	}
	for k := range len(enc.Offsets) - 1 {
		from, to := enc.Offsets[k], enc.Offsets[k+1]
		if from < 0 || to < from || to > len(text) {
			return nil, fmt.Errorf("its labels have the offsets %d, %d", from, to)
		}
		labels = append(labels, string(text[from:to]))
	}
	return labels, nil
}

// uint8Number is a byte that is written as a number: a list of bytes would be text in base64.
type uint8Number uint8

// numbered are, by column, the categories that splits send to the right. All others go left.
func (m *xgboostModel) numbered(columns int) ([][]int, error) {
	lists := make([][]int, columns)
	for i := range m.Trees {
		t := &m.Trees[i]
		sets, err := t.rightSets()
		if err != nil {
			return nil, fmt.Errorf("tree %d: %w", i, err)
		}
		for node, set := range sets {
			if node < 0 || node >= len(t.Column) || t.Column[node] < 0 || t.Column[node] >= columns {
				return nil, fmt.Errorf("tree %d has labels for node %d", i, node)
			}
			lists[t.Column[node]] = append(lists[t.Column[node]], set...)
		}
	}
	for d, list := range lists {
		lists[d] = slices.Compact(slices.Sorted(slices.Values(list)))
	}
	return lists, nil
}

// nodes reads a tree, whose values are multiplied by scale.
func (t *xgboostTree) nodes(columns []Column, codes []map[int]Code, scale float64) ([]parsedNode, error) {
	n := len(t.Left)
	for _, length := range []int{len(t.Right), len(t.Column), len(t.Condition), len(t.DefaultLeft), len(t.Hessian)} {
		if length != n {
			return nil, fmt.Errorf("its lists have %d and %d numbers", n, length)
		}
	}
	if len(t.Kind) != 0 && len(t.Kind) != n {
		return nil, fmt.Errorf("its lists have %d and %d numbers", n, len(t.Kind))
	}
	right, err := t.rightSets()
	if err != nil {
		return nil, err
	}
	nodes := make([]parsedNode, n)
	for i := range nodes {
		node := &nodes[i]
		node.Cover = t.Hessian[i]
		if t.Left[i] < 0 {
			node.Column, node.Value = Leaf, scale*float64(float32(t.Condition[i]))
			continue
		}
		node.Column, node.Left, node.Right, node.MissingLeft = t.Column[i], t.Left[i], t.Right[i], t.DefaultLeft[i] != 0
		if node.Column < 0 || node.Column >= len(columns) {
			return nil, fmt.Errorf("it splits column %d of %d", node.Column, len(columns))
		}
		c := &columns[node.Column]
		if categorical := len(t.Kind) > 0 && t.Kind[i] == 1; categorical != (c.Labels != nil) {
			return nil, fmt.Errorf("column %s is split as numbers and as labels", c.Name)
		}
		if c.Labels == nil {
			node.threshold = float64(float32(t.Condition[i]))
			continue
		}
		node.Set = []Code{}
		for _, number := range right[i] {
			code, known := codes[node.Column][number]
			if !known {
				return nil, fmt.Errorf("column %s is split by category %d", c.Name, number)
			}
			node.Set = append(node.Set, code)
		}
		slices.Sort(node.Set)
	}
	return nodes, nil
}

// rightSets are the categories that go right, by node.
func (t *xgboostTree) rightSets() (map[int][]int, error) {
	if len(t.Segments) != len(t.Nodes) || len(t.Sizes) != len(t.Nodes) {
		return nil, fmt.Errorf("%d splits of labels have %d and %d lists", len(t.Nodes), len(t.Segments), len(t.Sizes))
	}
	sets := map[int][]int{}
	for k, node := range t.Nodes {
		from, size := t.Segments[k], t.Sizes[k]
		if from < 0 || size < 0 || from > len(t.Categories) || size > len(t.Categories)-from {
			return nil, fmt.Errorf("a list of labels has %d from %d", size, from)
		}
		sets[node] = t.Categories[from : from+size]
	}
	return sets, nil
}

// xgboostObjective sets what outputs mean, and returns their bases: base_score is a prediction, not an output.
func (m *Model) xgboostObjective(score string, outputs int) ([]float64, error) {
	// A base_margin of training rows is not in the file: outputs are those of rows without one.
	base := make([]float64, outputs)
	words := strings.Split(strings.Trim(score, "[]"), ",")
	if len(words) != 1 && len(words) != outputs {
		return nil, fmt.Errorf("%d outputs have %d base scores", outputs, len(words))
	}
	name := m.Objective
	switch {
	case name == "binary:logistic", name == "reg:logistic":
		if m.Link = Logit; outputs > 1 {
			m.Link = Logits
		}
	case name == "binary:logitraw", strings.HasPrefix(name, "rank:"), name == "reg:squarederror", name == "reg:absoluteerror",
		name == "reg:pseudohubererror", name == "reg:quantileerror", name == "reg:squaredlogerror", name == "reg:linear":
		m.Link = Identity
	case name == "count:poisson", name == "reg:gamma", name == "reg:tweedie", name == "survival:cox", name == "survival:aft":
		m.Link = Log
	case name == "multi:softprob", name == "multi:softmax":
		m.Link = Softmax
	default:
		return nil, fmt.Errorf("psi does not know the objective %q", name)
	}
	for c := range base {
		x, err := strconv.ParseFloat(words[min(c, len(words)-1)], 64)
		if err != nil {
			return nil, fmt.Errorf("its base score is %q", score)
		}
		switch m.Link {
		case Logit, Logits:
			x = math.Log(x / (1 - x))
		case Log:
			x = math.Log(x)
		}
		base[c] = x
	}
	return base, nil
}
