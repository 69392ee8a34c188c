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
