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

// ReadLightGBM reads the text that Booster.save_model writes, or the JSON of what Booster.dump_model returns.
func ReadLightGBM(content []byte) (*Model, error) {
	if bytes.HasPrefix(bytes.TrimLeft(content, " \t\r\n"), []byte("{")) {
		return readLightGBMDump(content)
	}
	sections, err := lightGBMSections(content)
	if err != nil {
		return nil, err
	}
	r := lightGBM{zero: map[int]bool{}, whole: map[int]map[int]Code{}}
	head := sections[0]
	if err := r.columns(head, content); err != nil {
		return nil, err
	}
	classes, err := head.count("num_class", MaxOutputs)
	if err != nil {
		return nil, err
	}
	perIteration, err := head.count("num_tree_per_iteration", MaxOutputs)
	if err != nil {
		return nil, err
	}
	_, averaged := head["average_output"]
	scale, err := lightGBMScale(len(sections)-1, perIteration, classes, averaged)
	if err != nil {
		return nil, err
	}
	trees := make([]parsed, len(sections)-1)
	for i, s := range sections[1:] {
		if trees[i].nodes, err = r.tree(s, scale); err != nil {
			return nil, fmt.Errorf("tree %d: %w", i, err)
		}
		trees[i].output = i % perIteration
	}
	return r.model(trees, perIteration, head["objective"])
}

// lightGBMScale is what the values of leaves are multiplied by: outputs are sums over iterations, or means.
func lightGBMScale(trees, perIteration, classes int, averaged bool) (float64, error) {
	if perIteration <= 0 || classes != perIteration && classes != 1 {
		return 0, fmt.Errorf("%d trees an iteration for %d classes", perIteration, classes)
	}
	if trees%perIteration != 0 {
		return 0, fmt.Errorf("%d trees are not a multiple of %d", trees, perIteration)
	}
	if averaged {
		return float64(perIteration) / float64(max(1, trees)), nil
	}
	return 1, nil
}

// model assembles what was read.
func (r *lightGBM) model(trees []parsed, outputs int, objective string) (*Model, error) {
	e, err := assemble(r.list, make([]float64, outputs), trees)
	if err != nil {
		return nil, err
	}
	for d := range r.zero {
		c := &e.Columns[d]
		c.Zero = c.Number(0)
	}
	m := &Model{Ensemble: *e}
	if err := m.lightGBMObjective(objective); err != nil {
		return nil, err
	}
	return m.checked()
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
	list []Column
	zero map[int]bool // columns with splits that take 0 for missing

	whole map[int]map[int]Code // codes of columns whose labels are whole numbers
}

// columns reads names and kinds.
func (r *lightGBM) columns(head section, content []byte) error {
	names, infos := strings.Fields(head["feature_names"]), strings.Fields(head["feature_infos"])
	last, err := head.count("max_feature_idx", MaxColumns-1)
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
	kinds := make([]lightGBMKind, len(names))
	for d, info := range infos {
		if kinds[d].unused = info == "none"; !isCategorical(info) {
			continue
		}
		if kinds[d].numbers, err = categories(info); err != nil {
			return fmt.Errorf("column %s: %w", names[d], err)
		}
	}
	return r.addColumns(names, kinds, labels, listedCategories(content))
}

// lightGBMKind is what the file says of a column's values.
type lightGBMKind struct {
	numbers []int // categories, as whole numbers; nil of numbers
	unused  bool  // it has one value, so the file does not say whether that is a number or a label
}

// addColumns gives columns of labels their names. labels are those of pandas, for the columns that pandas had as categories, and listed
// the columns that the parameters have as categories. Without labels of pandas, they are whole numbers.
func (r *lightGBM) addColumns(names []string, kinds []lightGBMKind, labels [][]string, listed []int) error {
	texts, err := pandasColumns(kinds, labels, listed)
	if err != nil {
		return err
	}
	for d, name := range names {
		c := Column{Name: name, Inclusive: true, Zero: Missing, Labels: texts[d]}
		if kinds[d].numbers != nil && c.Labels == nil {
			c.Labels, r.whole[d] = wholeLabels(kinds[d].numbers)
		}
		r.list = append(r.list, c)
	}
	return nil
}

// pandasColumns finds the columns that pandas had as categories. The file has their labels in order, but not their numbers: they are the
// columns that the parameters list or, in a file without parameters, those with categories or also those with one value.
func pandasColumns(kinds []lightGBMKind, labels [][]string, listed []int) ([][]string, error) {
	texts := make([][]string, len(kinds))
	if len(labels) == 0 {
		return texts, nil
	}
	candidates := [][]int{listed}
	if len(listed) == 0 {
		var split, possible []int
		for d, kind := range kinds {
			if kind.numbers != nil {
				split = append(split, d)
			}
			if kind.numbers != nil || kind.unused {
				possible = append(possible, d)
			}
		}
		candidates = [][]int{split, possible}
	}
	for _, columns := range candidates {
		if len(columns) != len(labels) {
			continue
		}
		for k, d := range columns {
			if d >= len(kinds) || len(kinds[d].numbers) > 0 && slices.Max(kinds[d].numbers) >= len(labels[k]) {
				return nil, errPandasColumns
			}
			texts[d] = labels[k]
		}
		return texts, nil
	}
	return nil, errPandasColumns
}

var errPandasColumns = errors.New("pandas_categorical has labels, but not of which columns: " +
	"give all columns of labels the dtype category before training, and save the text of Booster.save_model")

// listedCategories are the columns that the parameters in a model's text say are categories; nil if there are none.
func listedCategories(content []byte) (columns []int) {
	_, text, found := bytes.Cut(content, []byte("\n[categorical_feature: "))
	if !found {
		return nil
	}
	text, _, _ = bytes.Cut(text, []byte("]"))
	for word := range strings.SplitSeq(string(text), ",") {
		d, err := strconv.Atoi(word)
		if err != nil || d < 0 || len(columns) > 0 && d <= columns[len(columns)-1] {
			return nil // names, or none
		}
		columns = append(columns, d)
	}
	return columns
}

// isCategorical says whether feature_infos are a list of categories, such as -1:2:0:1:3. The others are [least:most] or none.
func isCategorical(info string) bool { return info != "none" && !strings.HasPrefix(info, "[") }

// categories are the whole numbers of a list.
func categories(info string) (list []int, err error) {
	for word := range strings.SplitSeq(info, ":") {
		n, err := strconv.Atoi(word)
		if err != nil {
			return nil, fmt.Errorf("its categories are %.100q", info)
		}
		list = append(list, n)
	}
	return list, nil
}

// wholeLabels are labels that are whole numbers, and their codes. Those below 0 stand for missing values.
func wholeLabels(numbers []int) ([]string, map[int]Code) {
	labels, codes := []string{}, map[int]Code{}
	for _, n := range numbers {
		if _, twice := codes[n]; n >= 0 && !twice {
			codes[n] = Code(len(labels)) //nolint:gosec // as many as the file has
			labels = append(labels, strconv.Itoa(n))
		}
	}
	return labels, codes
}

// pandasLabels are the categories of columns that were pandas', in order; nil if there were none.
func pandasLabels(content []byte) ([][]string, error) {
	_, text, found := bytes.Cut(content, []byte("\npandas_categorical:"))
	if !found {
		return nil, nil
	}
	text, _, _ = bytes.Cut(text, []byte("\n"))
	lists, err := labelLists(text)
	if err != nil {
		return nil, fmt.Errorf("pandas_categorical: %w", err)
	}
	return lists, nil
}

// labelLists reads lists of labels, which may be numbers.
func labelLists(content []byte) ([][]string, error) {
	var lists [][]any
	d := json.NewDecoder(bytes.NewReader(content))
	d.UseNumber()
	if err := d.Decode(&lists); err != nil {
		return nil, err
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
		return nil, errLinearLeaves
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
		return errors.New("it has no objective: train with one of LightGBM's own")
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
