package wire

import "github.com/danielgtaylor/huma/v2"

// The Open Inference Protocol, with Triton's repository and statistics.

// ServerMetadata names the server, its version and the protocol extensions that it supports.
type ServerMetadata struct {
	Name       string   `json:"name"`
	Version    string   `json:"version"`
	Extensions []string `json:"extensions"`
}

// ModelReady is the answer of a model that is ready.
type ModelReady struct {
	Name  string `json:"name"`
	Ready bool   `json:"ready"`
}

// ModelMetadata describes the inputs and outputs of a model.
type ModelMetadata struct {
	Name       string           `json:"name"`
	Versions   []string         `json:"versions" nullable:"false"`
	Platform   string           `json:"platform" enum:"psi"`
	Inputs     []TensorMetadata `json:"inputs" nullable:"false"`
	Outputs    []TensorMetadata `json:"outputs" nullable:"false"`
	Parameters map[string]any   `json:"parameters" doc:"players and outputs in the order of the tensors' axes, columns, game and games, digest, head, task, target"`
}

// TensorMetadata describes one input or output tensor of a model.
type TensorMetadata struct {
	Name     string  `json:"name"`
	Datatype string  `json:"datatype"`
	Shape    []int64 `json:"shape" nullable:"false" doc:"-1 is the number of rows"`
}

// ModelStatistics holds the request counts and durations of models, with Triton's field names.
type ModelStatistics struct {
	ModelStats []map[string]any `json:"model_stats" nullable:"false"`
}

// InferRequest is the body of infer.
type InferRequest struct {
	_ struct{} `json:"-" additionalProperties:"true"`

	ID         string        `json:"id,omitempty"`
	Parameters Parameters    `json:"parameters,omitempty" doc:"z, unknown, game, reference, binary_data_output"`
	Inputs     []InferInput  `json:"inputs" nullable:"false" minItems:"1"`
	Outputs    []InferOutput `json:"outputs,omitempty" doc:"prediction, prediction_std, probability, base, attribution_mean, attribution_std, attribution_model_std, attribution_lower, attribution_upper, p_positive"`
}

// InferInput is an input tensor.
type InferInput struct {
	_ struct{} `json:"-" additionalProperties:"true"`

	Name       string     `json:"name"`
	Shape      []int64    `json:"shape" nullable:"false"`
	Datatype   string     `json:"datatype" enum:"BOOL,UINT8,UINT16,UINT32,UINT64,INT8,INT16,INT32,INT64,FP16,FP32,FP64,BYTES"`
	Parameters Parameters `json:"parameters,omitempty"`
	Data       []any      `json:"data,omitempty"`
}

// InferOutput names an output tensor that the caller wants.
type InferOutput struct {
	_ struct{} `json:"-" additionalProperties:"true"`

	Name       string     `json:"name"`
	Parameters Parameters `json:"parameters,omitempty"`
}

// Parameters are the free-form parameters of a request or a tensor. Null means none.
type Parameters map[string]any

// Schema returns the schema for the OpenAPI document.
func (Parameters) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true, Nullable: true}
}

// InferResponse is the answer of infer.
type InferResponse struct {
	ModelName    string        `json:"model_name"`
	ModelVersion string        `json:"model_version"`
	ID           string        `json:"id,omitempty"`
	Parameters   *InferGame    `json:"parameters,omitempty" doc:"of an answer with attributions"`
	Outputs      []InferTensor `json:"outputs" nullable:"false"`
}

// InferGame names the game whose Shapley values the attributions of an answer are.
type InferGame struct {
	Game string `json:"game"`
}

// InferTensor is an output tensor: its numbers, or the size of its binary data after the JSON.
type InferTensor struct {
	Name       string         `json:"name"`
	Datatype   string         `json:"datatype" enum:"FP32"`
	Shape      []int64        `json:"shape" nullable:"false"`
	Data       []*float64     `json:"data,omitempty" nullable:"false" doc:"null if there is no number, such as p_positive of a missing cell"`
	Parameters map[string]any `json:"parameters,omitempty" doc:"binary_data_size"`
}

// RepositoryRequest is the body of the repository calls. It may be empty.
type RepositoryRequest struct {
	_ struct{} `json:"-" additionalProperties:"true"`

	Ready      bool       `json:"ready,omitempty" nullable:"true" doc:"of an index: list what is ready alone"`
	Parameters Parameters `json:"parameters,omitempty" doc:"of a load: none, for models come from files"`
}

// RepositoryIndex lists model versions.
type RepositoryIndex []RepositoryModel

// RepositoryModel is one model version and its state.
type RepositoryModel struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	State   string `json:"state" enum:"READY,UNAVAILABLE"`
	Reason  string `json:"reason" doc:"why it cannot answer"`
}
