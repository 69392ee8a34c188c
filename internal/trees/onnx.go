package trees

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// ReadONNX reads an ONNX file whose graph is one TreeEnsembleRegressor or TreeEnsembleClassifier (ai.onnx.ml, versions 1 to 3), as skl2onnx and
// onnxmltools write them. Around it there may be what does not change features or scores, and what a Link says. The file does not have the
// numbers of training rows, so Cover is 0 everywhere: see [Ensemble.CountCovers].
func ReadONNX(content []byte) (*Model, error) {
	g, err := readONNXGraph(content)
	if err != nil {
		return nil, err
	}
	flow, err := g.flow()
	if err != nil {
		return nil, err
	}
	r := onnxTrees{node: flow.trees, classifier: flow.trees.kind == onnxClassifier}
	if err := r.read(flow); err != nil {
		return nil, err
	}
	trees, err := r.parsed()
	if err != nil {
		return nil, err
	}
	m := &Model{Objective: flow.trees.kind, Slope: 1, Classes: r.classes}
	if trees, err = r.link(m, flow, trees); err != nil {
		return nil, err
	}
	for i := range trees {
		for k := range trees[i].nodes {
			trees[i].nodes[k].Value *= flow.scale
		}
	}
	for c := range r.base {
		r.base[c] *= flow.scale
	}
	e, err := assemble(r.columns, r.base, trees)
	if err != nil {
		return nil, err
	}
	for i := range e.Trees {
		if len(e.Trees[i].Nodes) != len(trees[i].nodes) {
			return nil, fmt.Errorf("tree %d: %w", i, errNoTree)
		}
	}
	if m.Ensemble = *e; m.Link == Identity {
		m.Classes = nil // scores are of classes, but are neither probabilities nor their logits
	}
	return m.checked()
}

// A short file must not become a large model: a tree has a copy for each of its outputs, and a leaf may have a weight of one of them only.
// Converters write the weights of all outputs.
const (
	fewNodes = 1 << 20
	growth   = 16 // nodes for each node and weight of the file
)

// onnxTrees is the state of reading a node of trees.
type onnxTrees struct {
	budget

	node       *onnxNode
	classifier bool
	columns    []Column
	base       []float64 // of each output
	outputs    int
	classes    []string
	sets       []int // classes that leaves have weights of, in increasing order
	post       string

	tree, id, feature, yes, no, tracks []int64 // by node
	mode                               []string
	threshold                          []float64

	weightTree, weightNode, weightOutput []int64 // by weight of a leaf
	weight                               []float64
}

// read takes the lists of a node, and compares their lengths.
func (r *onnxTrees) read(flow *onnxFlow) error {
	prefix := "target"
	if r.classifier {
		prefix = "class"
	}
	r.tree, r.id, r.feature = r.integers("nodes_treeids"), r.integers("nodes_nodeids"), r.integers("nodes_featureids")
	r.yes, r.no, r.tracks = r.integers("nodes_truenodeids"), r.integers("nodes_falsenodeids"), r.integers("nodes_missing_value_tracks_true")
	r.weightTree, r.weightNode, r.weightOutput = r.integers(prefix+"_treeids"), r.integers(prefix+"_nodeids"), r.integers(prefix+"_ids")
	r.threshold, r.weight, r.base = r.numbers("nodes_values"), r.numbers(prefix+"_weights"), r.numbers("base_values")
	if a := r.node.attributes["nodes_modes"]; a != nil {
		r.mode = a.texts
	}
	n := len(r.tree)
	for _, length := range []int{len(r.id), len(r.feature), len(r.yes), len(r.no), len(r.threshold), len(r.mode)} {
		if length != n {
			return fmt.Errorf("its lists have %d and %d nodes", n, length)
		}
	}
	if len(r.tracks) != 0 && len(r.tracks) != n {
		return fmt.Errorf("its lists have %d and %d nodes", n, len(r.tracks))
	}
	for _, length := range []int{len(r.weightTree), len(r.weightNode), len(r.weightOutput)} {
		if length != len(r.weight) {
			return fmt.Errorf("its lists have %d and %d weights", len(r.weight), length)
		}
	}
	r.post = "NONE"
	if a := r.node.attributes["post_transform"]; a != nil && a.text != "" {
		r.post = a.text
	}
	if err := r.readOutputs(); err != nil {
		return err
	}
	width := flow.width
	for i, feature := range r.feature {
		if feature < 0 || feature >= MaxColumns || flow.width > 0 && feature >= flow.width {
			return fmt.Errorf("node %d splits column %d of %d", i, feature, flow.width)
		}
		width = max(width, feature+1)
	}
	r.columns = make([]Column, width)
	for d := range r.columns {
		r.columns[d] = Column{Name: "f" + strconv.Itoa(d), Inclusive: true, Single: flow.single, Zero: Missing}
	}
	return nil
}

func (r *onnxTrees) integers(name string) []int64 {
	if a := r.node.attributes[name]; a != nil {
		return a.integers
	}
	return nil
}

// numbers are those of an attribute, in 32 bits, or of its tensor, in 64.
func (r *onnxTrees) numbers(name string) []float64 {
	if a := r.node.attributes[name]; a != nil {
		return a.floats
	}
	if a := r.node.attributes[name+"_as_tensor"]; a != nil {
		return a.tensor
	}
	return nil
}

// readOutputs finds how many outputs there are, and which of them leaves have weights of.
func (r *onnxTrees) readOutputs() error {
	r.outputs = 1
	if r.classifier {
		r.classes = r.classLabels()
		if r.outputs = len(r.classes); r.outputs < 2 {
			return fmt.Errorf("it has %d classes", r.outputs)
		}
	} else if a := r.node.attributes["n_targets"]; a != nil {
		if a.integer < 1 || a.integer > MaxOutputs {
			return fmt.Errorf("it has %d outputs", a.integer)
		}
		r.outputs = int(a.integer)
	}
	if r.outputs > MaxOutputs {
		return fmt.Errorf("%d outputs are more than %d", r.outputs, MaxOutputs)
	}
	met := make([]bool, r.outputs)
	for _, output := range r.weightOutput {
		if output < 0 || output >= int64(r.outputs) {
			return fmt.Errorf("a leaf has a weight of output %d of %d", output, r.outputs)
		}
		met[output] = true
	}
	for c, is := range met {
		if is {
			r.sets = append(r.sets, c)
		}
	}
	return nil
}

func (r *onnxTrees) classLabels() (labels []string) {
	if a := r.node.attributes["classlabels_strings"]; a != nil && len(a.texts) > 0 {
		return a.texts
	}
	for _, label := range r.integers("classlabels_int64s") {
		labels = append(labels, strconv.FormatInt(label, 10))
	}
	return labels
}

// parsed reads the trees. Those whose leaves have weights of several outputs become as many.
func (r *onnxTrees) parsed() ([]parsed, error) {
	type key struct{ tree, node int64 }
	places := make(map[key]int, len(r.tree)) // of nodes within their trees
	order := map[int64]int{}
	var members [][]int // nodes of each tree
	for i, tree := range r.tree {
		at, met := order[tree]
		if !met {
			if at = len(members); at >= MaxTrees {
				return nil, fmt.Errorf("it has more than %d trees", MaxTrees)
			}
			order[tree], members = at, append(members, nil)
		}
		k := key{tree, r.id[i]}
		if _, twice := places[k]; twice {
			return nil, fmt.Errorf("tree %d has node %d twice", tree, r.id[i])
		}
		places[k] = len(members[at])
		members[at] = append(members[at], i)
	}
	weights := make([][]int, len(members)) // of each tree
	for w, tree := range r.weightTree {
		at, known := order[tree]
		if !known {
			return nil, fmt.Errorf("a weight is of tree %d, which has no nodes", tree)
		}
		weights[at] = append(weights[at], w)
	}
	scale, err := r.aggregate(len(members))
	if err != nil {
		return nil, err
	}
	var list []parsed
	for at, nodes := range members {
		tree, err := r.oneTree(nodes, func(node int64) (int, bool) {
			place, known := places[key{r.tree[nodes[0]], node}]
			return place, known
		})
		if err != nil {
			return nil, fmt.Errorf("tree %d: %w", at, err)
		}
		outputs := map[int]int{} // among those of the tree
		for _, w := range weights[at] {
			if c := int(r.weightOutput[w]); outputs[c] == 0 {
				outputs[c] = len(outputs) + 1
			}
		}
		if err := r.take(len(nodes), max(1, len(outputs))); err != nil {
			return nil, err
		}
		if r.nodes > fewNodes+growth*(len(r.tree)+len(r.weight)) {
			return nil, fmt.Errorf("its leaves have weights of few of %d outputs each, which psi reads as %d nodes or more", r.outputs, r.nodes)
		}
		first := len(list)
		for range outputs {
			list = append(list, parsed{})
		}
		if len(list) > MaxTrees {
			return nil, fmt.Errorf("it has more than %d trees", MaxTrees)
		}
		for c, k := range outputs {
			list[first+k-1] = parsed{output: c, file: at, nodes: append([]parsedNode{}, tree...)}
		}
		for _, w := range weights[at] {
			place, known := places[key{r.weightTree[w], r.weightNode[w]}]
			if !known || tree[place].Column != Leaf {
				return nil, fmt.Errorf("tree %d: node %d has a weight, but is not a leaf", at, r.weightNode[w])
			}
			list[first+outputs[int(r.weightOutput[w])]-1].nodes[place].Value += scale * r.weight[w]
		}
	}
	return list, nil
}

// aggregate is what the values of leaves are multiplied by.
func (r *onnxTrees) aggregate(trees int) (float64, error) {
	a := r.node.attributes["aggregate_function"]
	switch {
	case a == nil || a.text == "SUM" || a.text == "":
		return 1, nil
	case a.text == "AVERAGE":
		return 1 / float64(max(1, trees)), nil
	default:
		return 0, fmt.Errorf("its trees are combined by %q, which is not a sum: psi reads SUM and AVERAGE", a.text)
	}
}

// oneTree reads the nodes of a tree, the root first.
func (r *onnxTrees) oneTree(members []int, place func(node int64) (int, bool)) ([]parsedNode, error) {
	nodes := make([]parsedNode, len(members))
	for k, i := range members {
		n := &nodes[k]
		if r.mode[i] == "LEAF" {
			n.Column = Leaf
			continue
		}
		yes, knownYes := place(r.yes[i])
		no, knownNo := place(r.no[i])
		if !knownYes || !knownNo || yes == 0 || no == 0 {
			return nil, errNoTree // its first node is no child
		}
		if err := r.decide(n, i, yes, no); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

// decide reads which way values go: to the node yes if the comparison is true. No comparison of NaN is true but ≠.
func (r *onnxTrees) decide(n *parsedNode, i, yes, no int) error {
	n.Column, n.threshold = int(r.feature[i]), r.threshold[i]
	missingYes := len(r.tracks) > 0 && r.tracks[i] != 0
	single := r.columns[n.Column].Single && float64(float32(n.threshold)) != n.threshold
	below := func() { // a number is below the threshold if it is not above the greatest number below it
		if !single && !math.IsInf(n.threshold, 0) {
			n.threshold = r.columns[n.Column].before(n.threshold)
		}
	}
	n.Left, n.Right, n.MissingLeft = no, yes, !missingYes
	switch r.mode[i] {
	case "BRANCH_LEQ":
		n.Left, n.Right, n.MissingLeft = yes, no, missingYes
	case "BRANCH_LT":
		n.Left, n.Right, n.MissingLeft = yes, no, missingYes
		below()
	case "BRANCH_GT":
	case "BRANCH_GTE":
		below()
	case "BRANCH_EQ", "BRANCH_NEQ":
		if n.equal = true; single {
			return fmt.Errorf("a split asks for the number %v of a column of 32 bits", n.threshold)
		}
		if r.mode[i] == "BRANCH_NEQ" {
			n.Left, n.Right, n.MissingLeft = yes, no, true
		}
	default:
		return fmt.Errorf("psi does not know the split %q", r.mode[i])
	}
	return nil
}

var errONNXScores = errors.New("onnxruntime gives no probabilities of these scores: convert the model with base values for each class, or none")
