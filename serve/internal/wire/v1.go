package wire

// KServe's first protocol.

// Instances is the body of :predict and :explain.
type Instances struct {
	_ struct{} `json:"-" additionalProperties:"true"`

	Instances  RowList            `json:"instances" doc:"a list of rows: lists of cells or objects by column; null is missing"`
	Parameters InstanceParameters `json:"parameters,omitzero"`
}

// InstanceParameters say how to explain the rows.
type InstanceParameters struct {
	_ struct{} `json:"-" additionalProperties:"true"`

	Unknown   []string `json:"unknown,omitempty" doc:"columns to take for missing; rows may lack them"`
	Z         float64  `json:"z,omitempty" doc:"intervals are mean ∓ z·std"`
	Top       int      `json:"top,omitempty" doc:"K of p_top"`
	Game      string   `json:"game,omitempty" doc:"of an explanation: what happens to absent columns; one of the model's games, its own if there is none"`
	Reference RowList  `json:"reference,omitzero" doc:"of the games baseline (one row) and interventional: rows that absent columns have their values from, at most 100"`
}

// V1Explanation is the answer of :explain: the fields of Explanation with its rows as explanations, and the predictions.
type V1Explanation struct {
	ExplanationHead
	Predictions  []any          `json:"predictions" nullable:"false" doc:"a number or the likeliest class of each row"`
	Explanations []ExplainedRow `json:"explanations" nullable:"false"`
}

// V1Alive is the answer of /, by which V1 clients probe a server.
type V1Alive struct {
	Status string `json:"status" enum:"alive"`
}

// V1Model states whether a model is ready.
type V1Model struct {
	Name  string `json:"name"`
	Ready bool   `json:"ready"`
}

// V1Models lists the names of the models.
type V1Models struct {
	Models []string `json:"models"`
}
