package serve

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/serve/internal/jsonrows"
	"github.com/psi-shapley/psi/serve/internal/observe"
	"github.com/psi-shapley/psi/serve/internal/wire"
)

// predictedBytes is the memory of the prediction of a row, and as much for each class, until it is written.
const predictedBytes = 128

// addPrediction appends the predictions of further rows, within a budget.
func addPrediction(a *wire.Prediction, p *psi.Prediction, b *budget) error {
	c := len(p.Classes)
	if err := b.Reserve(int64(p.Rows()) * int64(1+c) * predictedBytes); err != nil {
		return err
	}
	a.Classes, a.RangeStd = p.Classes, append(a.RangeStd, p.RangeStd...)
	if c == 0 {
		a.PredictionStd = append(a.PredictionStd, p.Std...) // nothing if the model does not know it
	}
	for row := range p.Rows() {
		switch {
		case c == 0:
			a.Predictions = append(a.Predictions, p.Mean[row])
		case c == 2:
			a.Predictions, a.Probabilities = append(a.Predictions, p.Classes[p.Label(row)]), append(a.Probabilities, p.Probability[row])
		default:
			a.Predictions, a.Probabilities = append(a.Predictions, p.Classes[p.Label(row)]), append(a.Probabilities, p.Probability[row*c:(row+1)*c])
		}
	}
	return nil
}

func (x *exchange) v1Predict() error { return x.v1(false) }
func (x *exchange) v1Explain() error { return x.v1(true) }

// v1 answers KServe's V1 protocol. An explanation has the fields of psi.explanation/v1, with its rows as "explanations".
func (x *exchange) v1(explaining bool) error {
	start := time.Now()
	var in wire.Instances
	if err := x.object(&in, false); err != nil {
		return err
	}
	if len(in.Instances.RawMessage) == 0 {
		return &requestError{"there are no rows", `send them as "instances"`}
	}
	v, err := x.s.registry.Lease(x.part("model"), "", x.r.Header.Get("X-Request-Id"))
	if err != nil {
		return err
	}
	defer v.Release()
	how := psi.ExplainOptions{Z: in.Parameters.Z, Top: in.Parameters.Top}
	if explaining {
		if err := x.s.setGame(v, &how, in.Parameters.Game, in.Parameters.Reference.RawMessage, x.budget.Reserve); err != nil {
			return err
		}
	}
	rows, err := x.s.shape(v, in.Parameters.Unknown, x.s.maxRows(how), x.budget.Reserve).Rows(in.Instances.RawMessage)
	if err != nil {
		return err
	}
	of(v).took(observe.Preprocess, start)
	answer, err := x.s.ask(x.r.Context(), v, question{
		id: x.id, rows: rows, unknown: in.Parameters.Unknown, depth: depthOf(explaining), how: how, budget: x.budget,
	})
	if err != nil {
		return err
	}
	defer of(v).took(observe.Postprocess, time.Now())
	var out wire.Prediction
	if !explaining {
		if err := addPrediction(&out, answer.prediction, x.budget); err != nil {
			return err
		}
		return x.json(out)
	}
	if err := addPrediction(&out, predictionOf(answer.explanation, of(v).page.Classes), x.budget); err != nil {
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

// v1Explanation renames the rows of a document to "explanations", and adds the predictions.
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

// predictionOf returns the prediction of an explanation.
func predictionOf(e *explain.Explanation, classes []string) *psi.Prediction {
	return &psi.Prediction{Mean: e.Link().Responses(e.Prediction), Std: e.Link().Deviations(e.Prediction, e.PredictionStd), RangeStd: e.RangeStd, Classes: classes, Probability: e.Probability}
}

func (x *exchange) alive() error { return x.json(wire.V1Alive{Status: "alive"}) }

func (x *exchange) v1Ready() error {
	v, err := x.version()
	if err != nil {
		return err
	}
	defer v.Release()
	return x.json(wire.V1Model{Name: v.Name, Ready: true})
}

func (x *exchange) v1List() error {
	return x.json(wire.V1Models{Models: append([]string{}, x.s.registry.Names()...)})
}
