package trees

import (
	"errors"
	"fmt"
)

// Operators of trees in ai.onnx.ml.
const (
	onnxRegressor  = "TreeEnsembleRegressor"
	onnxClassifier = "TreeEnsembleClassifier"
	onnxUnified    = "TreeEnsemble" // of version 5
)

// onnxFlow is the way of values through a graph: from an input to the trees, and from them to an output.
type onnxFlow struct {
	trees  *onnxNode
	width  int64 // columns of the input; 0 if the file does not say it
	single bool  // values are rounded to 32 bits
	onnxScore
}

// onnxScore is what becomes of the trees' scores.
type onnxScore struct {
	scale      float64
	exponent   bool
	normalised bool
}

// onnxRole is what a value of the graph is.
type onnxRole struct {
	kind   onnxKind
	single bool      // of features
	width  int64     // of features
	score  onnxScore // of scores
}

type onnxKind int

const (
	onnxConstant onnxKind = iota
	onnxFeatures
	onnxScores
	onnxLabel // the predicted class, which psi does not use
)

// flow follows the values of a graph. Its nodes are in an order in which each comes after those it needs, as ONNX demands.
func (g *onnxGraph) flow() (*onnxFlow, error) {
	f := &onnxFlow{}
	for i := range g.nodes {
		switch g.nodes[i].kind {
		case onnxRegressor, onnxClassifier:
			if f.trees != nil {
				return nil, errors.New("it has several ensembles of trees, whose outputs later operators combine: convert one of them")
			}
			f.trees = &g.nodes[i]
		case onnxUnified:
			return nil, errors.New(`it has the operator TreeEnsemble: convert it with target_opset={"": 15, "ai.onnx.ml": 3}`)
		}
	}
	if f.trees == nil {
		return nil, fmt.Errorf("it has neither %s nor %s: convert a model of trees with skl2onnx or onnxmltools", onnxRegressor, onnxClassifier)
	}
	roles := map[string]onnxRole{}
	for name := range g.constants {
		roles[name] = onnxRole{}
	}
	for _, v := range g.inputs {
		if _, constant := roles[v.name]; constant {
			continue
		}
		if v.element != onnxFloat && v.element != onnxDouble && v.element != onnxInt32 && v.element != onnxInt64 {
			return nil, fmt.Errorf("the input %q has elements of the type %d: psi reads float, double, int32 and int64", v.name, v.element)
		}
		roles[v.name] = onnxRole{kind: onnxFeatures, single: v.element != onnxDouble, width: v.width}
	}
	for i := range g.nodes {
		if err := g.pass(&g.nodes[i], roles, f); err != nil {
			return nil, err
		}
	}
	found := false
	for _, name := range g.outputs {
		role := roles[name]
		if role.kind != onnxScores {
			continue
		}
		if found && role.score != f.onnxScore {
			return nil, errors.New("its outputs have different meanings: keep one of them")
		}
		f.onnxScore, found = role.score, true
	}
	if !found {
		return nil, errors.New("no output is what the trees compute")
	}
	return f, nil
}

// pass finds what the outputs of a node are.
func (g *onnxGraph) pass(n *onnxNode, roles map[string]onnxRole, f *onnxFlow) error {
	if len(n.outputs) == 0 {
		return fmt.Errorf("an operator %s has no output", n.kind)
	}
	var role onnxRole // of the first input that is not a constant
	for _, name := range n.inputs {
		other, known := roles[name]
		if !known && name != "" {
			return fmt.Errorf("an operator %s needs %q, which comes later", n.kind, name)
		}
		if other.kind == onnxConstant {
			continue
		}
		if role.kind != onnxConstant {
			return fmt.Errorf("it combines values by %s: psi reads graphs of one input and one ensemble of trees", n.kind)
		}
		role = other
	}
	if n == f.trees {
		if role.kind != onnxFeatures || len(n.inputs) != 1 {
			return errors.New("its trees do not read an input of the graph")
		}
		f.width, f.single = role.width, role.single
		scores := onnxRole{kind: onnxScores, score: onnxScore{scale: 1}}
		if n.kind == onnxRegressor {
			roles[n.outputs[0]] = scores
			return nil
		}
		roles[n.outputs[0]] = onnxRole{kind: onnxLabel}
		if len(n.outputs) > 1 {
			roles[n.outputs[1]] = scores
		}
		return nil
	}
	err := error(nil)
	switch role.kind {
	case onnxFeatures:
		err = n.passFeatures(&role)
	case onnxScores:
		err = g.passScores(n, &role.score)
	}
	for _, name := range n.outputs {
		roles[name] = role
	}
	return err
}

// passFeatures accepts what leaves numbers as they are, but for rounding.
func (n *onnxNode) passFeatures(role *onnxRole) error {
	switch to := n.attributes["to"]; {
	case n.kind == "Identity":
	case n.kind == "Cast" && to != nil && to.integer == onnxFloat:
		role.single = true
	case n.kind == "Cast" && to != nil && to.integer == onnxDouble:
	default:
		return fmt.Errorf("it applies %s before the trees: convert the trees without the steps before them, and give psi what those compute", n.kind)
	}
	return nil
}

// passScores accepts what leaves scores as they are, or is a link.
func (g *onnxGraph) passScores(n *onnxNode, s *onnxScore) error {
	switch n.kind {
	case "Identity", "ZipMap":
		return nil
	case "Cast":
		if to := n.attributes["to"]; to != nil && (to.integer == onnxFloat || to.integer == onnxDouble) {
			return nil
		}
	case "Exp":
		if !s.exponent {
			s.exponent = true
			return nil
		}
	case "Div":
		if by := g.divisor(n); by > 0 && !s.exponent {
			s.scale /= by
			return nil
		}
	case "Normalizer":
		if norm := n.attributes["norm"]; norm != nil && norm.text == "L1" {
			s.normalised = true
			return nil
		}
	}
	return fmt.Errorf("it applies %s after the trees: psi reads Identity, Cast to float or double, ZipMap, Normalizer with norm L1, Exp, and Div by a number", n.kind)
}

// divisor is the number that a Div divides by; 0 if it is none.
func (g *onnxGraph) divisor(n *onnxNode) float64 {
	if len(n.inputs) != 2 {
		return 0
	}
	if list := g.constants[n.inputs[1]]; len(list) == 1 && finite(list[0]) {
		return list[0]
	}
	return 0
}
