// Package wire defines the JSON documents of the server's HTTP routes, one file for each protocol. Their struct tags are also
// the source of the OpenAPI document: doc, enum, nullable and additionalProperties describe a field or an object there.
//
// The types that are answers only, such as Explanation, are for the OpenAPI document: packages explain and oip write these
// answers.
package wire

import (
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"
)

// Failure is the body of every failed request: the document of psi's commands, with the field error that clients of the Open
// Inference Protocol read.
type Failure struct {
	Schema  string  `json:"schema" enum:"psi.error/v1"`
	Error   string  `json:"error" doc:"message and remedy in one text"`
	Message string  `json:"message"`
	Row     *int    `json:"row" doc:"of the request, from 0"`
	Column  *string `json:"column"`
	Remedy  string  `json:"remedy"`
}

// RowList holds rows in JSON, unparsed.
type RowList struct{ json.RawMessage }

// Keep stores the text of the value without copying it.
func (r *RowList) Keep(text json.RawMessage) { r.RawMessage = text }

// Schema returns the schema for the OpenAPI document.
func (RowList) Schema(huma.Registry) *huma.Schema {
	cell := &huma.Schema{OneOf: []*huma.Schema{{Type: "number"}, {Type: "string"}, {Type: "boolean"}, {Type: "null"}}}
	return &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{OneOf: []*huma.Schema{
		{Type: huma.TypeObject, AdditionalProperties: cell}, {Type: huma.TypeArray, Items: cell},
	}}}
}

// Query is the body of /explain and /predict.
type Query struct {
	Model     string   `json:"model,omitempty" doc:"name of the model, if there are several"`
	Version   string   `json:"version,omitempty" doc:"version or label"`
	Rows      RowList  `json:"rows" doc:"a list of rows: objects by column, or lists of cells in the model's order; null is missing"`
	Unknown   []string `json:"unknown,omitempty" doc:"columns to take for missing; rows may lack them"`
	Z         float64  `json:"z,omitempty" doc:"intervals are mean ∓ z·std"`
	Top       int      `json:"top,omitempty" doc:"K of p_top"`
	Output    string   `json:"output,omitempty" doc:"class to explain; all if there is none"`
	Against   string   `json:"against,omitempty" doc:"why the output and not this class"`
	Game      string   `json:"game,omitempty" doc:"of an explanation: what happens to absent columns; one of the model's games, its own if there is none"`
	Reference RowList  `json:"reference,omitzero" doc:"of the games baseline (one row) and interventional: rows that absent columns have their values from, at most 100"`
}

// Prediction is the answer of /predict, :predict and /invocations. Of numbers it holds standard deviations, of classes
// probabilities.
type Prediction struct {
	Predictions   []any     `json:"predictions" doc:"a number or the likeliest class of each row"`
	PredictionStd []float64 `json:"prediction_std,omitempty" doc:"standard deviations of numbers; left out if the model does not know them"`
	RangeStd      []float64 `json:"range_std,omitempty" doc:"of numbers: prediction ∓ 1.645 range_std holds 90 % of outcomes; left out if the model does not know it"`
	Probabilities []any     `json:"probabilities,omitempty" doc:"of the positive class, or of each class"`
	Classes       []string  `json:"classes,omitempty"`
}

// Explanation is a psi.explanation/v1 document.
type Explanation struct {
	ExplanationHead
	Rows []ExplainedRow `json:"rows" nullable:"false"`
}

// ExplanationHead holds the fields that all rows of an explanation share.
type ExplanationHead struct {
	Schema      string   `json:"schema" enum:"psi.explanation/v1"`
	Model       string   `json:"model" doc:"digest of the model file"`
	Head        string   `json:"head" enum:"exact,learned,trees"`
	Game        string   `json:"game" enum:"observational,path-dependent,missing-branch,baseline,interventional" doc:"what happens to absent columns; attributions are Shapley values of this game"`
	Mode        string   `json:"mode" enum:"fast"`
	Exact       bool     `json:"exact" doc:"the attributions are the model's Shapley values, to rounding"`
	Z           float64  `json:"z"`
	Interval    string   `json:"interval" enum:"doubt,spread,none" doc:"what lower, upper, p_positive and p_top are by: doubt, or spread where doubt is not known; none if neither is known"`
	Bags        int      `json:"bags" doc:"networks that tell the doubt"`
	NonNegative bool     `json:"non_negative,omitempty" doc:"no training row had a negative target: predictions below 0 are 0"`
	Outputs     []string `json:"outputs" nullable:"false"`
	Players     []string `json:"players" nullable:"false" doc:"columns, or groups of them"`
}

// ExplainedRow holds the explained outputs of one row.
type ExplainedRow struct {
	Row              int               `json:"row" doc:"of the request, from 0"`
	ProbabilitySlope float64           `json:"probability_slope,omitempty" doc:"κ of classes: a probability is that of base + κ·(prediction − base); 1 for whole rows"`
	Outputs          []ExplainedOutput `json:"outputs" nullable:"false"`
}

// ExplainedOutput is one prediction and its attributions: base + Σ mean = prediction, up to residual.
type ExplainedOutput struct {
	Output        string        `json:"output"`
	Scale         string        `json:"scale" enum:"identity,log-mean,log,logit,score" doc:"of base, prediction and attributions"`
	Base          float64       `json:"base"`
	Prediction    float64       `json:"prediction"`
	Clipped       bool          `json:"clipped,omitempty" doc:"the prediction is below 0 and no training row had a negative target: the model predicts 0"`
	PredictionStd *float64      `json:"prediction_std" doc:"null if it is not known, as for trees imported without rows"`
	RangeStd      *float64      `json:"range_std,omitempty" doc:"of a number: prediction ∓ 1.645 range_std holds 90 % of outcomes"`
	Response      *float64      `json:"response,omitempty" doc:"of a number on a scale of logs: the prediction in the target's own units"`
	ResponseLower *float64      `json:"response_lower,omitempty" doc:"of a range about it that has the probability of ∓ z standard deviations; null if that is not known"`
	ResponseUpper *float64      `json:"response_upper,omitempty"`
	HiddenStd     *float64      `json:"hidden_std" doc:"part of prediction_std that is of missing cells"`
	Probability   *float64      `json:"probability" doc:"of a class"`
	Residual      *float64      `json:"residual" doc:"what attributions and base lack of the prediction"`
	Attributions  []Attribution `json:"attributions" nullable:"false"`
	Interactions  *[]any        `json:"interactions" doc:"not offered by the server: null"`
}

// Attribution is one player's contribution to a prediction.
type Attribution struct {
	Player        string   `json:"player"`
	Value         any      `json:"value" doc:"the cell of the request"`
	Observed      bool     `json:"observed"`
	Mean          float64  `json:"mean"`
	Std           *float64 `json:"std" doc:"spread: how contributions of the column scatter among rows like this one; null if it is not known, as for imported trees"`
	Lower         *float64 `json:"lower" doc:"of an interval about mean that has the probability of ∓ z standard deviations; null if that is not known"`
	Upper         *float64 `json:"upper"`
	SpreadLower   *float64 `json:"spread_lower" doc:"mean − z·std"`
	SpreadUpper   *float64 `json:"spread_upper" doc:"mean + z·std"`
	PPositive     *float64 `json:"p_positive" doc:"probability that it is above 0"`
	PTop          *float64 `json:"p_top" doc:"probability that it is among the K largest"`
	StandardError *float64 `json:"standard_error" doc:"of the computation"`
	ModelStd      *float64 `json:"model_std" doc:"doubt: how far other rows to learn from would have moved mean; null if it is not known"`
}
