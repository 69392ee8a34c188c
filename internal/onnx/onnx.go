// Package onnx writes a model as one ONNX graph, from the cells of a table's columns to predictions and attributions.
//
// The graph is the one that an engine evaluates: the same functions of package network build it, on a backend that
// records each operation as an ONNX node and runs nothing (record.go). What packages encode, link and the root compute
// on the host becomes further nodes: encode.go before it, answer.go after it. onnx.go prepends the
// labels of categories, which the engine does not support.
package onnx

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	onnx "github.com/gomlx/compute-onnx/support/protos"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"google.golang.org/protobuf/proto"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/network"
	"github.com/psi-shapley/psi/table"
)

// Model holds the parts of a graph.
type Model struct {
	Network form.Config // with the groups of columns that form a player
	Members []form.Member
	Units   Units

	Encoder *encode.Encoder
	Columns []int    // the encoder's index of each column, in the order of the table
	Places  []int    // the network's index of each player, in the order of explanations
	Missing []string // missing tokens, besides the default ones

	Name, Version string            // of the program
	Metadata      map[string]string // metadata of the model
}

// rowsAxis is the name of the axis of rows, whose size is dynamic.
const rowsAxis = "n"

// graph returns the model's graph without its labels: for a category it takes codes.
func (m *Model) graph() (*onnx.GraphProto, error) {
	net, err := network.New(m.Network)
	if err != nil {
		return nil, err
	}
	params := net.NewParams()
	for i, member := range m.Members {
		if err := params.Put(strconv.Itoa(i), member.Weights); err != nil {
			return nil, err
		}
	}
	inputs := make([]shapes.Shape, len(m.Columns))
	for i := range inputs {
		dtype := dtypes.Float64
		if m.column(i).Kind == table.Category {
			dtype = dtypes.Int64
		}
		inputs[i] = shapes.MakeDynamic(dtype, []int{shapes.DynamicDim}, []string{rowsAxis})
	}
	made, err := record(params.Store, inputs, func(in []*graph.Node) []*graph.Node {
		cells := make([]*graph.Node, len(in))
		for i, d := range m.Columns {
			cells[d] = in[i]
		}
		rows, observed := encoded(m.Encoder, m.missingNumbers(), cells)
		members := make([]*network.Forward, len(m.Members))
		for i := range members {
			members[i] = net.Forward(params.Lookup(strconv.Itoa(i), in[0]), rows)
		}
		return m.Units.results(m.ask(members, observed), m.Places)
	})
	if err != nil {
		return nil, err
	}
	if len(made.Input) != len(m.Columns) || len(made.Output) != len(m.Units.outputs()) {
		return nil, fmt.Errorf("the engine made a graph of %d inputs and %d outputs of %d columns", len(made.Input), len(made.Output), len(m.Columns))
	}
	return made, nil
}

func (m *Model) column(i int) *encode.Player { return &m.Encoder.Players[m.Columns[i]] }

// missingNumbers returns the missing tokens that are numbers.
func (m *Model) missingNumbers() []float64 {
	var all []float64
	for _, text := range m.Missing {
		if v, ok := table.Number.Parse([]byte(text)); ok {
			all = append(all, v)
		}
	}
	return all
}

// Format versions: the oldest that have all operators as operators.go writes them (the axes of ReduceMin are an input
// since 18).
const (
	irVersion    = 8
	operators    = 18
	mlOperators  = 2 // LabelEncoder of texts
	mlDomain     = "ai.onnx.ml"
	ownNames     = "psi/"
	columnPrefix = "input_"
)

// Bytes returns the content of the model's file.
func (m *Model) Bytes() ([]byte, error) {
	g, err := m.graph()
	if err != nil {
		return nil, err
	}
	inputs := m.inputNames()
	names := map[string]string{} // by the engine's names
	var labels []*onnx.NodeProto
	for i, in := range g.Input {
		name := inputs[i]
		if p := m.column(i); p.Kind == table.Category {
			name = fmt.Sprintf("%scode_%d", ownNames, i)
			labels = append(labels, m.labels(p, inputs[i], name))
		}
		names[in.Name] = name
	}
	for i, o := range m.Units.outputs() {
		names[g.Output[i].Name] = o.name
	}
	rename(g, names)
	g.Node = append(labels, g.Node...)
	m.describe(g, inputs)
	file := &onnx.ModelProto{
		IrVersion: irVersion, ProducerName: m.Name, ProducerVersion: m.Version, Graph: g, MetadataProps: m.about(inputs),
		OpsetImport: []*onnx.OperatorSetIdProto{{Domain: "", Version: operators}, {Domain: mlDomain, Version: mlOperators}},
	}
	if proto.Size(file) > math.MaxInt32 {
		return nil, fmt.Errorf("the file would have more than 2 GiB, which ONNX does not allow")
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(file)
}

// inputNames returns the names of the columns, except for those that the graph uses itself.
func (m *Model) inputNames() []string {
	taken := map[string]bool{}
	for _, o := range m.Units.outputs() {
		taken[o.name] = true
	}
	for i := range m.Columns {
		taken[m.column(i).Name] = true
	}
	own := m.Units.outputs()
	all := make([]string, len(m.Columns))
	for i := range all {
		name := m.column(i).Name
		if strings.HasPrefix(name, ownNames) || slices.ContainsFunc(own, func(o output) bool { return o.name == name }) {
			for name = columnPrefix + name; taken[name]; {
				name = columnPrefix + name
			}
			taken[name] = true
		}
		all[i] = name
	}
	return all
}

// rename gives all values of a graph the names in names, or names that no column has.
func rename(g *onnx.GraphProto, names map[string]string) {
	to := func(name string) string {
		if name == "" { // an omitted input
			return ""
		}
		if named, ok := names[name]; ok {
			return named
		}
		return ownNames + name
	}
	for _, n := range g.Node {
		for i := range n.Input {
			n.Input[i] = to(n.Input[i])
		}
		for i := range n.Output {
			n.Output[i] = to(n.Output[i])
		}
		n.Name = n.Output[0]
	}
	for _, t := range g.Initializer {
		t.Name, t.DocString = to(t.Name), ""
	}
}

// labels returns the operator that maps a category's texts to codes.
func (m *Model) labels(p *encode.Player, from, to string) *onnx.NodeProto {
	var texts [][]byte
	var codes []int64
	for k, label := range p.Levels {
		texts, codes = append(texts, []byte(label)), append(codes, int64(k)+1)
	}
	for _, text := range m.missingTexts() {
		if !slices.Contains(p.Levels, text) {
			texts, codes = append(texts, []byte(text)), append(codes, gapCode)
		}
	}
	return &onnx.NodeProto{
		Name: to, OpType: "LabelEncoder", Domain: mlDomain, Input: []string{from}, Output: []string{to},
		Attribute: []*onnx.AttributeProto{
			{Name: "keys_strings", Type: onnx.AttributeProto_STRINGS, Strings: texts},
			{Name: "values_int64s", Type: onnx.AttributeProto_INTS, Ints: codes},
			{Name: "default_int64", Type: onnx.AttributeProto_INT, I: 0},
		},
	}
}

// missingTexts returns the labels of missing cells: none, or one of the missing tokens.
func (m *Model) missingTexts() []string {
	all := []string{""}
	for _, text := range append(table.DefaultMissing(), m.Missing...) {
		for _, spelled := range spellings(strings.TrimSpace(text)) {
			if !slices.Contains(all, spelled) {
				all = append(all, spelled)
			}
		}
	}
	return all
}

// spellings returns a text in any case; for a long one, the usual cases.
func spellings(text string) []string {
	const short = 6
	if len(text) > short {
		return []string{text, strings.ToLower(text), strings.ToUpper(text)}
	}
	all := []string{""}
	for _, r := range text {
		var longer []string
		for _, begun := range all {
			lower, upper := begun+strings.ToLower(string(r)), begun+strings.ToUpper(string(r))
			if longer = append(longer, lower); upper != lower {
				longer = append(longer, upper)
			}
		}
		all = longer
	}
	return all
}

// describe documents inputs and outputs.
func (m *Model) describe(g *onnx.GraphProto, inputs []string) {
	g.Name = m.Name
	g.Input, g.Output, g.ValueInfo = nil, nil, nil
	for i, name := range inputs {
		kind, text := onnx.TensorProto_DOUBLE, map[table.Kind]string{
			table.Number: "a number; NaN if it is missing", table.Boolean: "0 or 1; NaN if it is missing",
			table.Time: "seconds since 1970, UTC; NaN if it is missing",
		}[m.column(i).Kind]
		if m.column(i).Kind == table.Category {
			kind, text = onnx.TensorProto_STRING, "a label; empty if it is missing"
		}
		g.Input = append(g.Input, value(name, text, kind))
	}
	for _, o := range m.Units.outputs() {
		dims := []int{len(m.Units.Base)}
		if o.perPlayer {
			dims = append(dims, len(m.Places))
		}
		g.Output = append(g.Output, value(o.name, "", onnx.TensorProto_FLOAT, dims...))
	}
}

// value describes a tensor [n, dims].
func value(name, text string, kind onnx.TensorProto_DataType, dims ...int) *onnx.ValueInfoProto {
	shape := &onnx.TensorShapeProto{Dim: []*onnx.TensorShapeProto_Dimension{{Value: &onnx.TensorShapeProto_Dimension_DimParam{DimParam: rowsAxis}}}}
	for _, d := range dims {
		shape.Dim = append(shape.Dim, &onnx.TensorShapeProto_Dimension{Value: &onnx.TensorShapeProto_Dimension_DimValue{DimValue: int64(d)}})
	}
	return &onnx.ValueInfoProto{
		Name: name, DocString: text,
		Type: &onnx.TypeProto{Value: &onnx.TypeProto_TensorType{TensorType: &onnx.TypeProto_Tensor{ElemType: int32(kind), Shape: shape}}},
	}
}

// column is the metadata of an input.
type column struct {
	Name  string     `json:"name"`
	Input string     `json:"input"`
	Kind  table.Kind `json:"kind"`
	Gap   bool       `json:"missing_as_level"`
}

// about returns the metadata of the model, sorted by key.
func (m *Model) about(inputs []string) []*onnx.StringStringEntryProto {
	list := make([]column, len(inputs))
	for i, name := range inputs {
		p := m.column(i)
		list[i] = column{p.Name, name, p.Kind, p.Gap}
	}
	text, err := json.Marshal(list)
	if err != nil {
		panic(err) // cannot fail: names and kinds were checked
	}
	entries := make([]*onnx.StringStringEntryProto, 1, 1+len(m.Metadata))
	entries[0] = &onnx.StringStringEntryProto{Key: "psi.columns", Value: string(text)}
	for key, value := range m.Metadata {
		entries = append(entries, &onnx.StringStringEntryProto{Key: "psi." + key, Value: value})
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Key < entries[j].Key })
	return entries
}
