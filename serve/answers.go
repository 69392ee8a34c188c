package serve

// What answers look like, for the OpenAPI document alone: they are written by others.

// Explanation is a psi.explanation/v1 document.
type Explanation struct {
	ExplanationHead
	Rows []ExplainedRow `json:"rows" nullable:"false"`
}

// V1Explanation is the answer of :explain.
type V1Explanation struct {
	ExplanationHead
	Predictions  []any          `json:"predictions" nullable:"false" doc:"a number or the likeliest class of each row"`
	Explanations []ExplainedRow `json:"explanations" nullable:"false"`
}

// ExplanationHead is what all rows of an explanation have in common.
type ExplanationHead struct {
	Schema      string   `json:"schema" enum:"psi.explanation/v1"`
	Model       string   `json:"model" doc:"digest of the model file"`
	Head        string   `json:"head" enum:"exact,learned"`
	Mode        string   `json:"mode" enum:"fast"`
	Exact       bool     `json:"exact" doc:"the attributions are the model's Shapley values, to rounding"`
	Z           float64  `json:"z"`
	Interval    string   `json:"interval" enum:"doubt,spread" doc:"what lower, upper, p_positive and p_top are by: doubt, or spread where doubt is not known"`
	Bags        int      `json:"bags" doc:"networks that tell the doubt"`
	NonNegative bool     `json:"non_negative,omitempty" doc:"no training row had a negative target: predictions below 0 are 0"`
	Outputs     []string `json:"outputs" nullable:"false"`
	Players     []string `json:"players" nullable:"false" doc:"columns, or groups of them"`
}

// ExplainedRow is what is said of a row.
type ExplainedRow struct {
	Row              int               `json:"row" doc:"of the request, from 0"`
	ProbabilitySlope float64           `json:"probability_slope,omitempty" doc:"κ of classes: a probability is that of base + κ·(prediction − base); 1 for whole rows"`
	Outputs          []ExplainedOutput `json:"outputs" nullable:"false"`
}

// ExplainedOutput is a prediction and what it is made of: base and attributions add up to it.
type ExplainedOutput struct {
	Output        string        `json:"output"`
	Scale         string        `json:"scale" enum:"identity,log-mean,log,logit,score" doc:"of base, prediction and attributions"`
	Base          float64       `json:"base"`
	Prediction    float64       `json:"prediction"`
	Clipped       bool          `json:"clipped,omitempty" doc:"the prediction is below 0 and no training row had a negative target: the model predicts 0"`
	PredictionStd float64       `json:"prediction_std"`
	RangeStd      *float64      `json:"range_std,omitempty" doc:"of a number: prediction ∓ 1.645 range_std holds 90 % of outcomes"`
	Response      *float64      `json:"response,omitempty" doc:"of a number on a scale of logs: the prediction in the target's own units"`
	ResponseLower *float64      `json:"response_lower,omitempty" doc:"of a range about it that has the probability of ∓ z standard deviations"`
	ResponseUpper *float64      `json:"response_upper,omitempty"`
	HiddenStd     *float64      `json:"hidden_std" doc:"part of prediction_std that is of missing cells"`
	Probability   *float64      `json:"probability" doc:"of a class"`
	Residual      *float64      `json:"residual" doc:"what attributions and base lack of the prediction"`
	Attributions  []Attribution `json:"attributions" nullable:"false"`
	Interactions  *[]any        `json:"interactions" doc:"not offered by the server: null"`
}

// Attribution is a player's part in a prediction.
type Attribution struct {
	Player        string   `json:"player"`
	Value         any      `json:"value" doc:"the cell of the request"`
	Observed      bool     `json:"observed"`
	Mean          float64  `json:"mean"`
	Std           float64  `json:"std" doc:"spread: how contributions of the column scatter among rows like this one"`
	Lower         float64  `json:"lower" doc:"of an interval about mean that has the probability of ∓ z standard deviations"`
	Upper         float64  `json:"upper"`
	SpreadLower   float64  `json:"spread_lower" doc:"mean − z·std"`
	SpreadUpper   float64  `json:"spread_upper" doc:"mean + z·std"`
	PPositive     *float64 `json:"p_positive" doc:"probability that it is above 0"`
	PTop          *float64 `json:"p_top" doc:"probability that it is among the K largest"`
	StandardError *float64 `json:"standard_error" doc:"of the computation"`
	ModelStd      *float64 `json:"model_std" doc:"doubt: how far other rows to learn from would have moved mean; null if it is not known"`
}

// InferResponse is an answer of the Open Inference Protocol.
type InferResponse struct {
	ModelName    string        `json:"model_name"`
	ModelVersion string        `json:"model_version"`
	ID           string        `json:"id,omitempty"`
	Outputs      []InferTensor `json:"outputs" nullable:"false"`
}

// InferTensor is an output: its numbers, or the size of what follows the JSON.
type InferTensor struct {
	Name       string         `json:"name"`
	Datatype   string         `json:"datatype" enum:"FP32"`
	Shape      []int64        `json:"shape" nullable:"false"`
	Data       []*float64     `json:"data,omitempty" nullable:"false" doc:"null if there is no number, such as p_positive of a missing cell"`
	Parameters map[string]any `json:"parameters,omitempty" doc:"binary_data_size"`
}

// ModelReady says that a model answers.
type ModelReady struct {
	Name  string `json:"name"`
	Ready bool   `json:"ready"`
}

// ModelMetadata says what a model takes and gives.
type ModelMetadata struct {
	Name       string           `json:"name"`
	Versions   []string         `json:"versions" nullable:"false"`
	Platform   string           `json:"platform" enum:"psi"`
	Inputs     []TensorMetadata `json:"inputs" nullable:"false"`
	Outputs    []TensorMetadata `json:"outputs" nullable:"false"`
	Parameters map[string]any   `json:"parameters" doc:"players and outputs in the order of the tensors' axes, columns, digest, head, task, target"`
}

// TensorMetadata is a tensor of a model.
type TensorMetadata struct {
	Name     string  `json:"name"`
	Datatype string  `json:"datatype"`
	Shape    []int64 `json:"shape" nullable:"false" doc:"-1 is the number of rows"`
}

// ModelStatistics is what models have done, as Triton has it.
type ModelStatistics struct {
	ModelStats []map[string]any `json:"model_stats" nullable:"false"`
}
