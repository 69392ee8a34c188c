package trees

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ReadLightGBM reads the text that Booster.save_model writes.
func ReadLightGBM(content []byte) (*Model, error) {
	sections, err := lightGBMSections(content)
	if err != nil {
		return nil, err
	}
	r := lightGBM{head: sections[0], zero: map[int]bool{}, whole: map[int]map[int]Code{}}
	if err := r.columns(content); err != nil {
		return nil, err
	}
	classes, err := r.head.count("num_class", MaxOutputs)
	if err != nil {
		return nil, err
	}
	perIteration, err := r.head.count("num_tree_per_iteration", MaxOutputs)
	if err != nil {
		return nil, err
	}
	if perIteration == 0 || classes != perIteration && classes != 1 {
		return nil, fmt.Errorf("%d trees an iteration for %d classes", perIteration, classes)
	}
	if (len(sections)-1)%perIteration != 0 {
		return nil, fmt.Errorf("%d trees are not a multiple of %d", len(sections)-1, perIteration)
	}
	scale := 1.0
	if _, averaged := r.head["average_output"]; averaged {
		scale = float64(perIteration) / float64(max(1, len(sections)-1))
	}
	trees := make([]parsed, len(sections)-1)
	for i, s := range sections[1:] {
		if trees[i].nodes, err = r.tree(s, scale); err != nil {
			return nil, fmt.Errorf("tree %d: %w", i, err)
		}
		trees[i].output = i % perIteration
	}
	e, err := assemble(r.list, make([]float64, perIteration), trees)
	if err != nil {
		return nil, err
	}
	for d := range r.zero {
		c := &e.Columns[d]
		c.Zero = c.Number(0)
	}
	m := &Model{Ensemble: *e}
	if err := m.lightGBMObjective(r.head["objective"]); err != nil {
		return nil, err
	}
	return m, nil
}

// section is a block of lines KEY=VALUE.
type section map[string]string

// lightGBMSections are the head of a model's text, and its trees.
func lightGBMSections(content []byte) ([]section, error) {
	lines := bufio.NewScanner(bytes.NewReader(content))
	lines.Buffer(nil, len(content)+1)
	if !lines.Scan() || lines.Text() != "tree" {
		return nil, errors.New(`it does not begin with the line "tree"`)
	}
	sections := []section{{}}
	for lines.Scan() {
		line := lines.Text()
		if line == "end of trees" {
			return sections, nil
		}
		key, value, _ := strings.Cut(line, "=")
		if key == "Tree" {
			if len(sections) > MaxTrees {
				return nil, fmt.Errorf("it has more than %d trees", MaxTrees)
			}
			sections = append(sections, section{})
		} else if key != "" {
			sections[len(sections)-1][key] = value
		}
	}
	return nil, errors.New(`it ends before the line "end of trees"`)
}

func (s section) count(key string, limit int) (int, error) {
	n, err := strconv.Atoi(s[key])
	if err != nil || n < 0 || n > limit {
		return 0, fmt.Errorf("%s is %q", key, s[key])
	}
	return n, nil
}

// numbers are the values of a key, which must be n.
func (s section) numbers(key string, n int) ([]float64, error) {
	words := strings.Fields(s[key])
	if len(words) != n {
		return nil, fmt.Errorf("%s has %d numbers, not %d", key, len(words), n)
	}
	list := make([]float64, n)
	for i, word := range words {
		var err error
		if list[i], err = strconv.ParseFloat(word, 64); err != nil && !errors.Is(err, strconv.ErrRange) {
			return nil, fmt.Errorf("%s has %q", key, word)
		}
	}
	return list, nil
}

// integers are the whole numbers of a key, which must be n within 32 bits.
func (s section) integers(key string, n int) ([]int, error) {
	words := strings.Fields(s[key])
	if len(words) != n {
		return nil, fmt.Errorf("%s has %d numbers, not %d", key, len(words), n)
	}
	list := make([]int, n)
	for i, word := range words {
		x, err := strconv.ParseInt(word, 10, 64)
		if err != nil || x < math.MinInt32 || x > math.MaxUint32 {
			return nil, fmt.Errorf("%s has %q", key, word)
		}
		list[i] = int(x)
	}
	return list, nil
}

type lightGBM struct {
	head section
	list []Column
	zero map[int]bool // columns with splits that take 0 for missing

	whole map[int]map[int]Code // codes of columns whose labels are whole numbers
}

// columns reads names and kinds. A column of labels is one whose feature_infos are a list; pandas_categorical gives its labels, and
// without it they are the whole numbers themselves.
func (r *lightGBM) columns(content []byte) error {
	names, infos := strings.Fields(r.head["feature_names"]), strings.Fields(r.head["feature_infos"])
	last, err := r.head.count("max_feature_idx", MaxColumns-1)
	if err != nil {
		return err
	}
	if len(names) != last+1 || len(infos) != len(names) {
		return fmt.Errorf("%d columns have %d names and %d ranges", last+1, len(names), len(infos))
	}
	labels, err := pandasLabels(content)
	if err != nil {
		return err
	}
	for d, name := range names {
		c := Column{Name: name, Inclusive: true, Zero: Missing}
		if isCategorical(infos[d]) {
			var codes map[int]Code
			if len(labels) > 0 {
				c.Labels, labels = labels[0], labels[1:]
			} else if c.Labels, codes, err = wholeLabels(infos[d]); err != nil {
				return fmt.Errorf("column %s: %w", name, err)
			}
			r.whole[d] = codes
		}
		r.list = append(r.list, c)
	}
	if len(labels) > 0 {
		return fmt.Errorf("pandas_categorical lists %d columns more than there are", len(labels))
	}
	return nil
}

// isCategorical says whether feature_infos are a list of categories, such as -1:2:0:1:3. The others are [least:most] or none.
func isCategorical(info string) bool { return info != "none" && !strings.HasPrefix(info, "[") }

// wholeLabels are the categories of a list, which are whole numbers, and their codes. Those below 0 stand for missing values.
func wholeLabels(info string) ([]string, map[int]Code, error) {
	labels, codes := []string{}, map[int]Code{}
	for word := range strings.SplitSeq(info, ":") {
		n, err := strconv.Atoi(word)
		if err != nil {
			return nil, nil, fmt.Errorf("its categories are %.100q", info)
		}
		if _, twice := codes[n]; n >= 0 && !twice {
			codes[n] = Code(len(labels))
			labels = append(labels, word)
		}
	}
	return labels, codes, nil
}

// pandasLabels are the categories of columns that were pandas', in order; nil if there were none.
func pandasLabels(content []byte) ([][]string, error) {
	_, text, found := bytes.Cut(content, []byte("\npandas_categorical:"))
	if !found {
		return nil, nil
	}
	text, _, _ = bytes.Cut(text, []byte("\n"))
	var lists [][]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&lists); err != nil {
		return nil, fmt.Errorf("pandas_categorical: %w", err)
	}
	labels := make([][]string, len(lists))
	for i, list := range lists {
		labels[i] = []string{}
		for _, label := range list {
			labels[i] = append(labels[i], fmt.Sprint(label))
		}
	}
	return labels, nil
}

// Bits of decision_type.
const (
	categoricalBit = 1
	defaultLeftBit = 2
	missingShift   = 2
	missingZero    = 1
	missingNaN     = 2
)

// tree reads a tree, whose values are multiplied by scale. Children ≥ 0 are splits, others are ^leaf.
func (r *lightGBM) tree(s section, scale float64) ([]parsedNode, error) {
	leaves, err := s.count("num_leaves", MaxNodes)
	if err != nil {
		return nil, err
	}
	if s["is_linear"] == "1" {
		return nil, errors.New("it has linear leaves, which are not constants: train with linear_tree=false")
	}
	if leaves == 0 {
		return nil, errors.New("it has no leaves")
	}
	values, err := s.numbers("leaf_value", leaves)
	if err != nil {
		return nil, err
	}
	if leaves == 1 {
		return []parsedNode{{Node: Node{Column: Leaf, Value: scale * values[0]}}}, nil
	}
	counts, err := s.numbers("leaf_count", leaves)
	if err != nil {
		return nil, err
	}
	splits := leaves - 1
	lists := map[string][]int{}
	for _, key := range []string{"split_feature", "decision_type", "left_child", "right_child"} {
		if lists[key], err = s.integers(key, splits); err != nil {
			return nil, err
		}
	}
	thresholds, err := s.numbers("threshold", splits)
	if err != nil {
		return nil, err
	}
	covers, err := s.numbers("internal_count", splits)
	if err != nil {
		return nil, err
	}
	sets, err := r.sets(s)
	if err != nil {
		return nil, err
	}
	nodes := make([]parsedNode, splits+leaves)
	child := func(n int) int {
		if n < 0 {
			return splits + ^n
		}
		return n
	}
	for i := range splits {
		n := parsedNode{threshold: thresholds[i], Node: Node{Column: lists["split_feature"][i], Left: child(lists["left_child"][i]), Right: child(lists["right_child"][i]), Cover: covers[i]}}
		kind := lists["decision_type"][i]
		if err := r.decide(&n, kind, sets); err != nil {
			return nil, err
		}
		nodes[i] = n
	}
	for i, v := range values {
		nodes[splits+i] = parsedNode{Node: Node{Column: Leaf, Cover: counts[i], Value: scale * v}}
	}
	return nodes, nil
}

// decide reads which way values go. A missing number is 0 unless the split knows missing values; a missing or unknown label goes right.
func (r *lightGBM) decide(n *parsedNode, kind int, sets [][]int) error {
	if n.Column < 0 || n.Column >= len(r.list) {
		return fmt.Errorf("it splits column %d of %d", n.Column, len(r.list))
	}
	c := &r.list[n.Column]
	if categorical := kind&categoricalBit != 0; categorical != (c.Labels != nil) {
		return fmt.Errorf("column %s is split as numbers and as labels", c.Name)
	}
	if c.Labels != nil {
		at := int(n.threshold)
		if n.threshold != float64(at) || at < 0 || at >= len(sets) {
			return fmt.Errorf("it splits by list %v of %d", n.threshold, len(sets))
		}
		n.Set, n.SetLeft = []Code{}, true
		for _, number := range sets[at] {
			code, known := Code(number), number < len(c.Labels)
			if codes := r.whole[n.Column]; codes != nil {
				code, known = codes[number]
			}
			if known {
				n.Set = append(n.Set, code)
			}
		}
		slices.Sort(n.Set)
		return nil
	}
	n.MissingLeft = kind&defaultLeftBit != 0
	switch kind >> missingShift & 3 {
	case missingZero:
		if n.Zero = true; !r.zero[n.Column] {
			r.zero[n.Column] = true
			c.Edges = []float64{math.Nextafter(-zeroThreshold, -1), zeroThreshold}
		}
	case missingNaN:
	default:
		n.MissingLeft = 0 <= n.threshold
	}
	return nil
}

// sets are the lists of labels that go left, each in increasing order.
func (r *lightGBM) sets(s section) ([][]int, error) {
	n, err := s.count("num_cat", MaxNodes)
	if err != nil || n == 0 {
		return nil, err
	}
	ends, err := s.integers("cat_boundaries", n+1)
	if err != nil {
		return nil, err
	}
	words, err := s.integers("cat_threshold", len(strings.Fields(s["cat_threshold"])))
	if err != nil {
		return nil, err
	}
	sets := make([][]int, n)
	for i := range sets {
		from, to := ends[i], ends[i+1]
		if from < 0 || to < from || to > len(words) {
			return nil, fmt.Errorf("cat_boundaries has %d, %d", from, to)
		}
		for k, word := range words[from:to] {
			for bit := range 32 {
				if uint32(word)>>bit&1 == 1 { //nolint:gosec // 32 bits, as integers checked
					sets[i] = append(sets[i], 32*k+bit)
				}
			}
		}
	}
	return sets, nil
}

// lightGBMObjective sets what outputs mean.
func (m *Model) lightGBMObjective(text string) error {
	words := strings.Fields(text)
	if len(words) == 0 {
		return errors.New("it has no objective")
	}
	m.Objective, m.Slope = words[0], 1
	options := map[string]string{}
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, ":")
		options[key] = value
	}
	if _, root := options["sqrt"]; root {
		return errors.New("it predicts the root of the target (reg_sqrt): train without it")
	}
	switch m.Objective {
	case "binary", "multiclassova", "cross_entropy":
		if m.Link = Logit; m.Objective == "multiclassova" {
			m.Link = Logits
		}
		if text, given := options["sigmoid"]; given {
			var err error
			if m.Slope, err = strconv.ParseFloat(text, 64); err != nil || !(m.Slope > 0) || !finite(m.Slope) {
				return fmt.Errorf("its objective has sigmoid %q", text)
			}
		}
	case "multiclass":
		m.Link = Softmax
	case "poisson", "gamma", "tweedie":
		m.Link = Log
	case "regression", "regression_l1", "huber", "fair", "quantile", "mape", "lambdarank", "rank_xendcg":
		m.Link = Identity
	default:
		return fmt.Errorf("psi does not know the objective %q", m.Objective)
	}
	return nil
}
