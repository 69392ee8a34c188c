package wire

import (
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"
)

// Invocation is the body of /invocations. Exactly one of the first four fields must be set.
type Invocation struct {
	_ struct{} `json:"-" additionalProperties:"true"`

	Split     *InvocationSplit `json:"dataframe_split,omitempty" doc:"as pandas writes with orient=split"`
	Records   RowList          `json:"dataframe_records,omitzero" doc:"rows as objects, as pandas writes with orient=records"`
	Instances RowList          `json:"instances,omitzero" doc:"rows as lists or objects"`
	Inputs    Inputs           `json:"inputs,omitzero" doc:"lists of cells by column, or rows"`
	Params    InvocationParams `json:"params,omitzero"`
}

// InvocationSplit holds column names, and rows in their order.
type InvocationSplit struct {
	_ struct{} `json:"-" additionalProperties:"true"`

	Columns []string `json:"columns" nullable:"false"`
	Data    RowList  `json:"data"`
}

// InvocationParams say how to read the rows.
type InvocationParams struct {
	_ struct{} `json:"-" additionalProperties:"true"`

	Unknown []string `json:"unknown,omitempty" doc:"columns to take for missing; rows may lack them"`
}

// Inputs holds rows, or lists of cells by column, unparsed.
type Inputs struct{ json.RawMessage }

// Keep stores the text of the value without copying it.
func (i *Inputs) Keep(text json.RawMessage) { i.RawMessage = text }

// Schema returns the schema for the OpenAPI document.
func (Inputs) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{RowList{}.Schema(r), {Type: huma.TypeObject}}}
}
