package trees

import (
	"fmt"
	"math"
)

// link sets what outputs mean, and bases for all of them. It returns the trees of these outputs.
func (r *onnxTrees) link(m *Model, flow *onnxFlow, trees []parsed) ([]parsed, error) {
	var err error
	if r.classifier && r.outputs == 2 && len(r.sets) < 2 {
		err = r.oneScore(m, trees)
	} else {
		trees, err = r.scores(m, trees)
	}
	if err != nil {
		return nil, err
	}
	if flow.exponent {
		if m.Link != Identity || r.classifier {
			return nil, fmt.Errorf("it takes the exponential of outputs with the link %s", m.Link)
		}
		m.Link = Log
	}
	if flow.normalised && m.Link != Probability && m.Link != Softmax && m.Link != Logit && m.Link != Logits {
		return nil, fmt.Errorf("it normalises outputs with the link %s", m.Link)
	}
	if flow.scale != 1 && (m.Link != Identity || flow.exponent) {
		return nil, fmt.Errorf("it divides outputs with the link %s", m.Link)
	}
	return trees, nil
}

// oneScore reads two classes with one score, that of the second class, whichever of them the weights are said to be of: onnxruntime
// completes it with that of the first.
func (r *onnxTrees) oneScore(m *Model, trees []parsed) error {
	if len(r.base) > 1 || len(r.base) == 1 && len(r.sets) == 1 && r.sets[0] == 1 {
		return errONNXScores
	}
	positive := true
	for _, x := range append(append([]float64{}, r.base...), r.weight...) {
		positive = positive && x >= 0
	}
	switch {
	case r.post == "LOGISTIC":
		m.Link = Logit
	case r.post == "NONE" && positive:
		m.Link = Probability // the first class has the rest to 1
	case r.post == "NONE":
		m.Link = Identity
	default:
		return fmt.Errorf("psi does not know the post_transform %q of one score", r.post)
	}
	for i := range trees {
		trees[i].output = 0
	}
	if len(r.base) == 0 {
		r.base = make([]float64, 1)
	}
	return nil
}

// scores reads a score for each output.
func (r *onnxTrees) scores(m *Model, trees []parsed) ([]parsed, error) {
	switch r.post {
	case "NONE":
		m.Link = Identity
	case "LOGISTIC":
		if m.Link = Logits; r.outputs == 1 {
			m.Link = Logit
		}
	case "SOFTMAX":
		if m.Link = Softmax; r.outputs == 1 {
			return nil, fmt.Errorf("its post_transform is SOFTMAX of one output")
		}
	default:
		return nil, fmt.Errorf("psi does not know the post_transform %q", r.post)
	}
	switch {
	case len(r.base) == 0:
		r.base = make([]float64, r.outputs)
	case r.classifier && r.outputs == 2 || len(r.base) != r.outputs:
		return nil, errONNXScores
	}
	if !r.classifier || r.post != "NONE" || !r.sumToOne(trees) {
		return trees, nil
	}
	if m.Link = Probability; r.outputs > 2 {
		return trees, nil
	}
	// The probability of the first class is the rest to 1.
	var second []parsed
	for _, t := range trees {
		if t.output == 1 {
			t.output = 0
			second = append(second, t)
		}
	}
	r.base = r.base[1:]
	return second, nil
}

// sumToOne says whether the outputs are probabilities: no weight is below 0, the leaves of a tree have the same sum over classes, and these
// sums and the bases add up to 1, but for rounding to 32 bits.
func (r *onnxTrees) sumToOne(trees []parsed) bool {
	const rounding = 1e-4
	total := 0.0
	for _, x := range r.base {
		total += x
	}
	for _, x := range r.weight {
		if x < 0 {
			return false
		}
	}
	// The trees of the outputs of one tree of the file stand together, and share their nodes.
	for i := 0; i < len(trees); {
		end := i + 1
		for end < len(trees) && trees[end].file == trees[i].file {
			end++
		}
		sum := math.NaN()
		for k := range trees[i].nodes {
			if trees[i].nodes[k].Column != Leaf {
				continue
			}
			leaf := 0.0
			for _, t := range trees[i:end] {
				leaf += t.nodes[k].Value
			}
			if !math.IsNaN(sum) && math.Abs(leaf-sum) > rounding*sum {
				return false
			}
			sum = leaf
		}
		total += sum
		i = end
	}
	return math.Abs(total-1) <= rounding
}
