package trees

import (
	"maps"
	"math"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// message appends a field of bytes.
func message(to []byte, number protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, number, protowire.BytesType), content)
}

func varint(to []byte, number protowire.Number, x uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(to, number, protowire.VarintType), x)
}

// onnxAttributeOf writes an AttributeProto.
func onnxAttributeOf(name string, value any) []byte {
	a := message(nil, 1, []byte(name))
	switch x := value.(type) {
	case int:
		a = varint(a, 3, uint64(x))
	case string:
		a = message(a, 4, []byte(x))
	case []float32:
		var packed []byte
		for _, v := range x {
			packed = protowire.AppendFixed32(packed, math.Float32bits(v))
		}
		a = message(a, 7, packed)
	case []int:
		var packed []byte
		for _, v := range x {
			packed = protowire.AppendVarint(packed, uint64(v))
		}
		a = message(a, 8, packed)
	case []string:
		for _, v := range x {
			a = message(a, 9, []byte(v))
		}
	}
	return a
}

type attributes map[string]any

// onnxNodeOf writes a NodeProto. Inputs and outputs are names with spaces between.
func onnxNodeOf(kind, inputs, outputs string, list attributes) []byte {
	n := message(nil, 4, []byte(kind))
	for name := range strings.FieldsSeq(inputs) {
		n = message(n, 1, []byte(name))
	}
	for name := range strings.FieldsSeq(outputs) {
		n = message(n, 2, []byte(name))
	}
	for name, value := range list {
		n = message(n, 5, onnxAttributeOf(name, value))
	}
	return n
}

// onnxModelOf writes a ModelProto with an input x [rows, 2] of elements.
func onnxModelOf(element uint64, outputs string, nodes ...[]byte) []byte {
	dims := message(message(nil, 1, nil), 1, varint(nil, 1, 2))
	input := message(message(nil, 1, []byte("x")), 2, message(nil, 1, message(varint(nil, 1, element), 2, dims)))
	g := message(nil, 11, input)
	for _, n := range nodes {
		g = message(g, 1, n)
	}
	for name := range strings.FieldsSeq(outputs) {
		g = message(g, 12, message(nil, 1, []byte(name)))
	}
	return message(varint(nil, 1, 8), 7, g)
}

// stump is a node of one split of column 1 at 0.5, with weights of outputs: those of the left leaf, then those of the right.
func stump(kind string, ids []int, weights []float32, more attributes) []byte {
	list := attributes{
		"nodes_treeids": []int{0, 0, 0}, "nodes_nodeids": []int{0, 1, 2}, "nodes_featureids": []int{1, 0, 0}, "nodes_values": []float32{0.5, 0, 0},
		"nodes_modes": []string{"BRANCH_LEQ", "LEAF", "LEAF"}, "nodes_truenodeids": []int{1, 0, 0}, "nodes_falsenodeids": []int{2, 0, 0},
	}
	var trees, nodes, outputs []int
	for leaf := 1; leaf <= 2; leaf++ {
		for _, id := range ids {
			trees, nodes, outputs = append(trees, 0), append(nodes, leaf), append(outputs, id)
		}
	}
	prefix, values := "target", "y"
	if kind == onnxClassifier {
		prefix, values = "class", "label y"
	}
	list[prefix+"_treeids"], list[prefix+"_nodeids"], list[prefix+"_ids"], list[prefix+"_weights"] = trees, nodes, outputs, weights
	maps.Copy(list, more)
	return onnxNodeOf(kind, "x", values, list)
}

// Meanings of ONNX's scores, as onnxruntime 1.31.1 has them, and operators around the trees.
func TestONNXGraphs(t *testing.T) {
	two, three := attributes{"classlabels_strings": []string{"a", "b"}}, attributes{"classlabels_int64s": []int{3, 4, 5}}
	with := func(list attributes, name string, value any) attributes {
		other := attributes{name: value}
		maps.Copy(other, list)
		return other
	}
	regressor := stump(onnxRegressor, []int{0}, []float32{-1, 2}, nil)
	after := func(kind string, list attributes, node []byte) []byte {
		return onnxModelOf(onnxFloat, "z", node, onnxNodeOf(kind, "y", "z", list))
	}
	half := message(message(varint(nil, 2, onnxFloat), 8, []byte("two")), 9, protowire.AppendFixed32(nil, math.Float32bits(2)))
	divided := onnxModelOf(onnxFloat, "z", regressor, onnxNodeOf("Div", "y two", "z", nil))
	logistic := with(two, "post_transform", "LOGISTIC")
	for _, c := range []struct {
		name    string
		content []byte
		link    Link
		right   []float64 // outputs of a row that goes right
		classes []string
		refused string
	}{
		{name: "number", content: onnxModelOf(onnxFloat, "y", regressor), link: Identity, right: []float64{2}},
		{name: "exponential", content: after("Exp", nil, regressor), link: Log, right: []float64{2}},
		{name: "identity", content: after("Identity", nil, regressor), link: Identity, right: []float64{2}},
		{name: "half", content: append(message(nil, 7, message(nil, 5, half)), divided...), link: Identity, right: []float64{1}},
		{name: "divided by what is not there", content: divided, refused: "comes later"},
		{name: "cast", content: after("Cast", attributes{"to": onnxDouble}, regressor), link: Identity, right: []float64{2}},
		{name: "whole numbers", content: after("Cast", attributes{"to": onnxInt64}, regressor), refused: "Cast after the trees"},
		{name: "root", content: after("Sqrt", nil, regressor), refused: "Sqrt after the trees"},
		{name: "normalised number", content: after("Normalizer", attributes{"norm": "L1"}, regressor), refused: "normalises"},
		{name: "scaled before", content: onnxModelOf(onnxFloat, "y", onnxNodeOf("Scaler", "x", "s", nil), regressor), refused: "Scaler before the trees"},
		{name: "texts", content: onnxModelOf(8, "y", regressor), refused: "elements of the type 8"},
		{name: "unknown output", content: onnxModelOf(onnxFloat, "other", regressor), refused: "no output"},
		{name: "two meanings", content: onnxModelOf(onnxFloat, "y z", regressor, onnxNodeOf("Exp", "y", "z", nil)), refused: "different meanings"},
		{name: "two ensembles", content: onnxModelOf(onnxFloat, "y", regressor, regressor), refused: "several ensembles"},
		{name: "version 5", content: onnxModelOf(onnxFloat, "y", onnxNodeOf("TreeEnsemble", "x", "y", nil)), refused: "target_opset"},
		{name: "no trees", content: onnxModelOf(onnxFloat, "y", onnxNodeOf("MatMul", "x", "y", nil)), refused: "neither"},
		{name: "largest", content: onnxModelOf(onnxFloat, "y", stump(onnxRegressor, []int{0}, []float32{-1, 2}, attributes{"aggregate_function": "MAX"})), refused: "not a sum"},
		{name: "probit", content: onnxModelOf(onnxFloat, "y", stump(onnxRegressor, []int{0}, []float32{-1, 2}, attributes{"post_transform": "PROBIT"})), refused: "PROBIT"},
		{name: "logistic number", content: onnxModelOf(onnxFloat, "y", stump(onnxRegressor, []int{0}, []float32{-1, 2}, attributes{"post_transform": "LOGISTIC"})), link: Logit, right: []float64{2}},
		{name: "leaf as a split", content: onnxModelOf(onnxFloat, "y", stump(onnxRegressor, []int{0}, []float32{-1, 2}, attributes{"nodes_modes": []string{"BRANCH_LEQ", "BRANCH_LT", "LEAF"}})), refused: "not one tree"},
		{name: "weight of a split", content: onnxModelOf(onnxFloat, "y", stump(onnxRegressor, []int{0}, []float32{-1, 2}, attributes{"target_nodeids": []int{0, 2}})), refused: "not a leaf"},
		{name: "column beyond", content: onnxModelOf(onnxFloat, "y", stump(onnxRegressor, []int{0}, []float32{-1, 2}, attributes{"nodes_featureids": []int{2, 0, 0}})), refused: "splits column 2 of 2"},

		{name: "probability of the second", content: onnxModelOf(onnxFloat, "label y", stump(onnxClassifier, []int{0}, []float32{0.2, 0.75}, two)), link: Probability, right: []float64{0.75}, classes: []string{"a", "b"}},
		{name: "score of the second", content: onnxModelOf(onnxFloat, "label y", stump(onnxClassifier, []int{0}, []float32{-0.2, 0.75}, two)), link: Identity, right: []float64{0.75}},
		{name: "logit of the second", content: onnxModelOf(onnxFloat, "label y", stump(onnxClassifier, []int{1}, []float32{0.2, 0.75}, logistic)), link: Logit, right: []float64{0.75}, classes: []string{"a", "b"}},
		{name: "base", content: onnxModelOf(onnxFloat, "label y", stump(onnxClassifier, []int{0}, []float32{0.2, 0.75}, with(logistic, "base_values", []float32{0.5}))), link: Logit, right: []float64{1.25}, classes: []string{"a", "b"}},
		{name: "unused base", content: onnxModelOf(onnxFloat, "label y", stump(onnxClassifier, []int{1}, []float32{0.2, 0.75}, with(logistic, "base_values", []float32{0.5}))), refused: "no probabilities"},
		{name: "both probabilities", content: onnxModelOf(onnxFloat, "label y", stump(onnxClassifier, []int{0, 1}, []float32{0.75, 0.25, 0.5, 0.5}, two)), link: Probability, right: []float64{0.5}, classes: []string{"a", "b"}},
		{name: "two scores", content: onnxModelOf(onnxFloat, "label y", stump(onnxClassifier, []int{0, 1}, []float32{0.75, 0.25, 0.5, 1.5}, two)), link: Identity, right: []float64{0.5, 1.5}},
		{name: "two logits", content: onnxModelOf(onnxFloat, "label y", stump(onnxClassifier, []int{0, 1}, []float32{0.75, 0.25, 0.5, 1.5}, logistic)), link: Logits, right: []float64{0.5, 1.5}, classes: []string{"a", "b"}},
		{name: "two scores and bases", content: onnxModelOf(onnxFloat, "label y", stump(onnxClassifier, []int{0, 1}, []float32{0.75, 0.25, 0.5, 1.5}, with(logistic, "base_values", []float32{1, 1}))), refused: "no probabilities"},
		{name: "probabilities of three", content: after("Normalizer", attributes{"norm": "L1"}, stump(onnxClassifier, []int{0, 1, 2}, []float32{0.5, 0.25, 0.25, 0, 0.5, 0.5}, three)), link: Probability, right: []float64{0, 0.5, 0.5}, classes: []string{"3", "4", "5"}},
		{name: "scores of three", content: onnxModelOf(onnxFloat, "label y", stump(onnxClassifier, []int{0, 1, 2}, []float32{1, 0.5, 0.5, 0, 1, 1}, three)), link: Identity, right: []float64{0, 1, 1}},
		{name: "softmax", content: onnxModelOf(onnxFloat, "label y", stump(onnxClassifier, []int{0, 2}, []float32{1, 2, 3, 4}, with(three, "post_transform", "SOFTMAX"))), link: Softmax, right: []float64{3, 0, 4}, classes: []string{"3", "4", "5"}},
		{name: "softmax of one", content: onnxModelOf(onnxFloat, "label y", stump(onnxClassifier, []int{0}, []float32{1, 2}, with(two, "post_transform", "SOFTMAX"))), refused: "SOFTMAX"},
		{name: "largest entry", content: after("Normalizer", attributes{"norm": "MAX"}, stump(onnxClassifier, []int{0}, []float32{0.2, 0.75}, two)), refused: "Normalizer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := ReadONNX(c.content)
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("the error is %v, without %q", err, c.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if m.Link != c.link || !reflect.DeepEqual(m.Classes, c.classes) {
				t.Errorf("the link is %s and the classes %q, not %s and %q", m.Link, m.Classes, c.link, c.classes)
			}
			if got := m.NewGame(Cover).Values([]Code{m.Columns[0].Number(9), m.Columns[1].Number(0.6)}, nil); !reflect.DeepEqual(got, c.right) {
				t.Errorf("the outputs are %v, not %v", got, c.right)
			}
		})
	}
}

// Casts say in how many bits numbers are compared.
func TestONNXCasts(t *testing.T) {
	x := math.Nextafter(0.5, 1) // which is 0.5 in 32 bits
	trees := stump(onnxRegressor, []int{0}, []float32{-1, 2}, nil)
	for _, c := range []struct {
		name    string
		element uint64
		casts   []int
		want    float64
		refused string
	}{
		{"32 bits", onnxFloat, nil, -1, ""},
		{"64 bits", onnxDouble, nil, 2, ""},
		{"64 bits, then 32", onnxDouble, []int{onnxFloat}, -1, ""},
		{"32 bits, then 64", onnxFloat, []int{onnxDouble}, -1, ""},
		{"whole numbers between", onnxDouble, []int{onnxInt64}, 0, "Cast before the trees"},
	} {
		nodes, name := [][]byte{}, "x"
		for _, to := range c.casts {
			nodes = append(nodes, onnxNodeOf("Cast", name, "c", attributes{"to": to}))
			name = "c"
		}
		read := strings.Replace(string(trees), string(message(nil, 1, []byte("x"))), string(message(nil, 1, []byte(name))), 1)
		m, err := ReadONNX(onnxModelOf(c.element, "y", append(nodes, []byte(read))...))
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: the error is %v, without %q", c.name, err, c.refused)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := m.NewGame(Cover).Values([]Code{0, m.Columns[1].Number(x)}, nil)[0]; got != c.want {
			t.Errorf("%s: the output is %v, not %v", c.name, got, c.want)
		}
	}
}
