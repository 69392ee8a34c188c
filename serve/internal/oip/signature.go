package oip

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/psi-shapley/psi/serve/internal/oip/inference"
	"github.com/psi-shapley/psi/table"
)

// Signature describes the inputs and outputs of a model to callers. It must not change while it is in use.
type Signature struct {
	Name, Version string
	Versions      []string // versions in service, including Version

	Columns []Column // inputs, in the model's order
	Ignored []string // columns that training left out: callers may send them
	Players []string // the last axis of attributions
	Outputs []string // the second axis of outputs: classes, or the target
	Classes bool     // the outputs are scores of classes, which have probabilities
	Games   []string // whose Shapley values attributions can be

	Parameters map[string]string // further entries of the metadata

	once   sync.Once
	places map[string]int   // of columns, by name
	labels []map[string]int // by categorical column, positions of its labels

	counters sync.Pool // of *counter
}

// Column is an input of a model.
type Column struct {
	Name   string
	Kind   table.Kind
	Labels []string // labels of a category that the model knows

	Reading *table.Reading // how text is parsed; nil means plain numbers only
}

// Names of tensors that stand for no single column.
const (
	rowsName     = "rows"
	observedName = "observed"
)

func (s *Signature) index() {
	s.once.Do(func() {
		s.places = make(map[string]int, len(s.Columns))
		s.labels = make([]map[string]int, len(s.Columns))
		largest := 0
		for j, c := range s.Columns {
			s.places[c.Name] = j
			s.labels[j] = make(map[string]int, len(c.Labels))
			for k, label := range c.Labels {
				s.labels[j][label] = k
			}
			largest = max(largest, len(c.Labels))
		}
		s.counters.New = func() any { return newCounter(largest) }
	})
}

// category returns the first categorical column, nil if there is none.
func (s *Signature) category() *Column {
	i := slices.IndexFunc(s.Columns, func(c Column) bool { return c.Kind == table.Category })
	if i < 0 {
		return nil
	}
	return &s.Columns[i]
}

// takes reports whether a tensor name that is not a column stands for all columns.
func (s *Signature) takes(name string) bool {
	s.index()
	if _, column := s.places[name]; column {
		return false
	}
	return name == observedName || name == rowsName && s.category() == nil
}

const platform = "psi"

// datatypesOf returns the datatypes that a column of the kind accepts. Metadata names the first.
func datatypesOf(kind table.Kind) []string {
	switch kind {
	case table.Category:
		return []string{"BYTES"}
	case table.Boolean:
		return []string{"BOOL", "UINT8", "INT8", "INT32", "INT64", "FP32", "FP64", "BYTES"}
	case table.Time:
		return []string{"INT64", "FP64", "INT32", "UINT32", "UINT64", "BYTES"}
	default:
		return []string{"FP64", "FP32", "FP16", "INT64", "INT32", "INT16", "INT8", "UINT64", "UINT32", "UINT16", "UINT8", "BOOL", "BYTES"}
	}
}

// tensorMetadata is the protocol's description of a tensor.
type tensorMetadata struct {
	Name     string  `json:"name"`
	Datatype string  `json:"datatype"`
	Shape    []int64 `json:"shape"`
}

// columnMetadata describes a column, in the parameters.
type columnMetadata struct {
	Name      string     `json:"name"`
	Kind      table.Kind `json:"kind"`
	Datatypes []string   `json:"datatypes"`
}

// allColumns describes a tensor that stands for all columns, in the parameters.
type allColumns struct {
	Datatypes []string `json:"datatypes"`
	Shape     []int64  `json:"shape"`
}

func (s *Signature) inputs() []tensorMetadata {
	list := make([]tensorMetadata, len(s.Columns))
	for j, c := range s.Columns {
		list[j] = tensorMetadata{Name: c.Name, Datatype: datatypesOf(c.Kind)[0], Shape: []int64{-1}}
	}
	return list
}

func (s *Signature) outputs() []tensorMetadata {
	var list []tensorMetadata
	for o := range outputNames {
		if o := output(o); o != probability || s.Classes {
			shape := s.shape(o, -1)
			list = append(list, tensorMetadata{Name: outputNames[o], Datatype: "FP32", Shape: shape})
		}
	}
	return list
}

// parameters returns what metadata states beside the tensors.
func (s *Signature) parameters() map[string]any {
	all := map[string]any{"players": s.Players, "outputs": s.Outputs, "games": s.Games}
	columns := make([]columnMetadata, len(s.Columns))
	for j, c := range s.Columns {
		columns[j] = columnMetadata{Name: c.Name, Kind: c.Kind, Datatypes: datatypesOf(c.Kind)}
	}
	all["columns"] = columns
	shape := []int64{-1, int64(len(s.Columns))}
	if s.takes(rowsName) {
		all[rowsName] = allColumns{Datatypes: []string{"FP32", "FP64"}, Shape: shape}
	}
	if s.takes(observedName) {
		all[observedName] = allColumns{Datatypes: []string{"BOOL"}, Shape: shape}
	}
	for name, value := range s.Parameters {
		all[name] = value
	}
	return all
}

// texts returns the parameters as strings, for messages that allow no other values. Other values are encoded as JSON.
func (s *Signature) texts() (map[string]string, error) {
	texts := make(map[string]string)
	for name, value := range s.parameters() {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		texts[name] = string(text)
	}
	maps.Copy(texts, s.Parameters)
	return texts, nil
}

// MetadataHTTP returns the JSON document that describes the model.
func (s *Signature) MetadataHTTP() ([]byte, error) {
	return json.Marshal(struct {
		Name       string           `json:"name"`
		Versions   []string         `json:"versions"`
		Platform   string           `json:"platform"`
		Inputs     []tensorMetadata `json:"inputs"`
		Outputs    []tensorMetadata `json:"outputs"`
		Parameters map[string]any   `json:"parameters"`
	}{s.Name, s.Versions, platform, s.inputs(), s.outputs(), s.parameters()})
}

// MetadataGRPC returns the message that describes the model. Its properties hold, as JSON, what HTTP has in "parameters".
func (s *Signature) MetadataGRPC() (*inference.ModelMetadataResponse, error) {
	properties, err := s.texts()
	if err != nil {
		return nil, err
	}
	m := &inference.ModelMetadataResponse{Name: s.Name, Versions: s.Versions, Platform: platform, Properties: properties}
	message := func(t tensorMetadata) *inference.ModelMetadataResponse_TensorMetadata {
		return &inference.ModelMetadataResponse_TensorMetadata{Name: t.Name, Datatype: t.Datatype, Shape: t.Shape}
	}
	for _, t := range s.inputs() {
		m.Inputs = append(m.Inputs, message(t))
	}
	for _, t := range s.outputs() {
		m.Outputs = append(m.Outputs, message(t))
	}
	return m, nil
}

// Config returns the model configuration of Triton. HTTP uses the field names of the message.
func (s *Signature) Config() (*inference.ModelConfig, error) {
	texts, err := s.texts()
	if err != nil {
		return nil, err
	}
	c := &inference.ModelConfig{Name: s.Name, Platform: platform, Backend: platform, Parameters: make(map[string]*inference.ModelParameter)}
	for name, text := range texts {
		c.Parameters[name] = &inference.ModelParameter{StringValue: text}
	}
	for _, t := range s.inputs() {
		c.Input = append(c.Input, &inference.ModelInput{Name: t.Name, DataType: configType(t.Datatype), Dims: t.Shape})
	}
	for _, t := range s.outputs() {
		c.Output = append(c.Output, &inference.ModelOutput{Name: t.Name, DataType: configType(t.Datatype), Dims: t.Shape})
	}
	return c, nil
}

// configType returns the name of a datatype in model configurations.
func configType(datatype string) inference.DataType {
	if datatype == "BYTES" {
		return inference.DataType_TYPE_STRING
	}
	return inference.DataType(inference.DataType_value["TYPE_"+datatype])
}
