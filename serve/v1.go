package serve

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/serve/internal/jsonrows"
	"github.com/psi-shapley/psi/serve/internal/observe"
)

// prediction is the answer of V1 and MLflow: numbers or labels, and what is known of their doubt.
type prediction struct {
	Predictions   []any     `json:"predictions" doc:"a number or the likeliest class of each row"`
	PredictionStd []float64 `json:"prediction_std,omitempty" doc:"standard deviations of numbers"`
	RangeStd      []float64 `json:"range_std,omitempty" doc:"of numbers: prediction ∓ 1.645 range_std holds 90 % of outcomes"`
	Probabilities []any     `json:"probabilities,omitempty" doc:"of the positive class, or of each class"`
	Classes       []string  `json:"classes,omitempty"`
}

// predictedBytes is what the prediction of a row holds, and as much for each class, until it is written.
const predictedBytes = 128

// add takes in the prediction of further rows, within a budget.
func (a *prediction) add(p *psi.Prediction, b *budget) error {
	c := len(p.Classes)
	if err := b.Reserve(int64(p.Rows()) * int64(1+c) * predictedBytes); err != nil {
		return err
	}
	a.Classes, a.RangeStd = p.Classes, append(a.RangeStd, p.RangeStd...)
	for row := range p.Rows() {
		switch {
		case c == 0:
			a.Predictions, a.PredictionStd = append(a.Predictions, p.Mean[row]), append(a.PredictionStd, p.Std[row])
		case c == 2:
			a.Predictions, a.Probabilities = append(a.Predictions, p.Classes[p.Label(row)]), append(a.Probabilities, p.Probability[row])
		default:
			a.Predictions, a.Probabilities = append(a.Predictions, p.Classes[p.Label(row)]), append(a.Probabilities, p.Probability[row*c:(row+1)*c])
		}
	}
	return nil
}

// Instances is the body of V1's calls.
type Instances struct {
	_ struct{} `json:"-" additionalProperties:"true"`

	Instances  RowList            `json:"instances" doc:"a list of rows: lists of cells or objects by column; null is missing"`
	Parameters InstanceParameters `json:"parameters,omitzero"`
}

// InstanceParameters say how rows are to be explained.
type InstanceParameters struct {
	_ struct{} `json:"-" additionalProperties:"true"`

	Unknown []string `json:"unknown,omitempty" doc:"columns to take for missing; rows may lack them"`
	Z       float64  `json:"z,omitempty" doc:"intervals are mean ∓ z·std"`
	Top     int      `json:"top,omitempty" doc:"K of p_top"`
}

func (x *exchange) v1Predict() error { return x.v1(false) }
func (x *exchange) v1Explain() error { return x.v1(true) }

// v1 answers KServe's first protocol. An explanation has the fields of psi.explanation/v1, its rows as "explanations".
func (x *exchange) v1(explaining bool) error {
	start := time.Now()
	var in Instances
	if err := x.object(&in, false); err != nil {
		return err
	}
	if len(in.Instances.RawMessage) == 0 {
		return &wrong{"there are no rows", `send them as "instances"`}
	}
	v, err := x.s.registry.Lease(x.part("model"), "", x.r.Header.Get("X-Request-Id"))
	if err != nil {
		return err
	}
	defer v.Release()
	rows, err := x.s.shape(v, in.Parameters.Unknown, x.budget.Reserve).Rows(in.Instances.RawMessage)
	if err != nil {
		return err
	}
	of(v).took(observe.Preprocess, start)
	answer, err := x.s.ask(x.r.Context(), v, question{
		id: x.id, rows: rows, unknown: in.Parameters.Unknown, depth: depthOf(explaining), how: psi.ExplainOptions{Z: in.Parameters.Z, Top: in.Parameters.Top}, budget: x.budget,
	})
	if err != nil {
		return err
	}
	defer of(v).took(observe.Postprocess, time.Now())
	var out prediction
	if !explaining {
		if err := out.add(answer.prediction, x.budget); err != nil {
			return err
		}
		return x.json(out)
	}
	if err := out.add(predictionOf(answer.explanation, of(v).page.Classes), x.budget); err != nil {
		return err
	}
	predictions, err := json.Marshal(out.Predictions)
	if err != nil {
		return err
	}
	document := buffer{budget: x.budget}
	w := explain.NewJSONWriter(&document)
	if err := errors.Join(w.Write(answer.explanation), w.Close()); err != nil {
		return err
	}
	body, err := v1Explanation(document.bytes, predictions, x.budget)
	if err != nil {
		return err
	}
	return x.answer(jsonType, body)
}

// v1Explanation is a document with its rows as "explanations", and the predictions beside them.
func v1Explanation(document, predictions []byte, b *budget) ([]byte, error) {
	out := buffer{budget: b}
	if err := out.grow(len(document)+len(predictions)+minBuffer, maxInt); err != nil {
		return nil, err
	}
	text := append(append(out.bytes[:0:cap(out.bytes)], `{"predictions":`...), predictions...)
	err := jsonrows.Fields(document, maxFields, func(name, value []byte) error {
		if string(name) == "rows" {
			name = []byte("explanations")
		}
		text = append(append(append(append(text, `,"`...), name...), `":`...), value...)
		return nil
	})
	return append(text, '}'), err
}

// predictionOf is the prediction that an explanation explains.
func predictionOf(e *explain.Explanation, classes []string) *psi.Prediction {
	return &psi.Prediction{Mean: e.Link().Responses(e.Prediction), Std: e.Link().Deviations(e.Prediction, e.PredictionStd), RangeStd: e.RangeStd, Classes: classes, Probability: e.Probability}
}

// V1Alive is how a server of KServe says that it is there.
type V1Alive struct {
	Status string `json:"status" enum:"alive"`
}

func (x *exchange) alive() error { return x.json(V1Alive{"alive"}) }

// V1Model says whether a model answers.
type V1Model struct {
	Name  string `json:"name"`
	Ready bool   `json:"ready"`
}

func (x *exchange) v1Ready() error {
	v, err := x.version()
	if err != nil {
		return err
	}
	defer v.Release()
	return x.json(V1Model{v.Name, true})
}

// V1Models are the names of the models.
type V1Models struct {
	Models []string `json:"models"`
}

func (x *exchange) v1List() error {
	return x.json(V1Models{append([]string{}, x.s.registry.Names()...)})
}
