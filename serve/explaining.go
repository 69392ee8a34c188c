package serve

import (
	"encoding/json"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/serve/internal/fleet"
	"github.com/psi-shapley/psi/serve/internal/watch"
	"github.com/psi-shapley/psi/table"
)

// explainRows answers /explain with a psi.explanation/v1 document, or a table in Arrow.
func (x *exchange) explainRows() error { return x.plain(true) }

// predictRows answers /predict.
func (x *exchange) predictRows() error { return x.plain(false) }

// plain answers rows in JSON or Arrow, in one of the two.
func (x *exchange) plain(explaining bool) error {
	start := time.Now()
	params := x.r.URL.Query()
	q := Query{Model: params.Get("model"), Version: params.Get("version"), Unknown: params["unknown"], Output: params.Get("output"), Against: params.Get("against")}
	layout := params.Get("layout")
	if layout != "" && layout != "wide" && layout != "long" {
		return &wrong{"the layout is neither wide nor long", "choose one of them"}
	}
	if !x.sendsArrow() {
		if err := x.object(&q, true); err != nil {
			return err
		}
	}
	x.model = q.Model
	v, err := x.s.fleet.Lease(q.Model, q.Version, x.r.Header.Get("X-Request-Id"))
	if err != nil {
		return err
	}
	defer v.Release()
	x.model = v.Name
	rows, err := x.rowsOf(v, &q)
	if err != nil {
		return err
	}
	defer rows.Close()
	of(v).took(watch.Preprocess, start)
	asked := question{id: x.id, unknown: q.Unknown, depth: depthOf(explaining), how: psi.Explain{Z: q.Z, Top: q.Top, Output: q.Output, Against: q.Against}}
	if x.wantsArrow() {
		return x.arrow(v, rows, asked, layout)
	}
	var predicted prediction
	var document text
	writer := explain.NewJSONWriter(&document)
	err = x.s.streamed(x.r.Context(), v, rows, asked, func(p part) error {
		if p.explanation != nil {
			return writer.Write(p.explanation)
		}
		predicted.add(p.prediction)
		return nil
	})
	if err != nil {
		return err
	}
	defer of(v).took(watch.Postprocess, time.Now())
	if !explaining {
		return x.json(predicted)
	}
	if err := writer.Close(); err != nil {
		return err
	}
	return x.answer(jsonType, document.Bytes())
}

// rowsOf are the rows of a body, in JSON or in Arrow.
func (x *exchange) rowsOf(v *fleet.Version, q *Query) (table.Source, error) {
	if x.sendsArrow() {
		return x.source(v, table.Arrow)
	}
	if len(q.Rows.RawMessage) == 0 {
		return nil, &wrong{"there are no rows", `send them as "rows"`}
	}
	t, err := x.s.shape(v, q.Unknown).Rows(q.Rows.RawMessage)
	if err != nil {
		return nil, err
	}
	return t.Source(), nil
}

// arrow answers with a table in Arrow: of explanations, wide or long, or of predictions.
func (x *exchange) arrow(v *fleet.Version, rows table.Source, q question, layout string) error {
	out := tableSink{x: x}
	err := x.s.streamed(x.r.Context(), v, rows, q, func(p part) error {
		t, err := p.table(layout)
		if err != nil {
			return err
		}
		return out.write(x.r.Context(), t)
	})
	if err == nil {
		return out.sink.Close()
	}
	if out.sink != nil {
		x.s.abort(x, err) // half of a table was sent: the caller must not take it for the whole
	}
	return err
}

// table is a part of an answer as columns.
func (p part) table(layout string) (*table.Table, error) {
	switch {
	case p.explanation == nil:
		return p.prediction.Table()
	case layout == "long":
		return p.explanation.Long()
	}
	return p.explanation.Wide()
}

// prediction is the answer of V1 and MLflow: numbers or labels, and what is known of their doubt.
type prediction struct {
	Predictions   []any     `json:"predictions" doc:"a number or the likeliest class of each row"`
	PredictionStd []float64 `json:"prediction_std,omitempty" doc:"standard deviations of numbers"`
	Probabilities []any     `json:"probabilities,omitempty" doc:"of the positive class, or of each class"`
	Classes       []string  `json:"classes,omitempty"`
}

// add takes in the prediction of further rows.
func (a *prediction) add(p *psi.Prediction) {
	a.Classes = p.Classes
	c := len(p.Classes)
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
	v, err := x.s.fleet.Lease(x.part("model"), "", x.r.Header.Get("X-Request-Id"))
	if err != nil {
		return err
	}
	defer v.Release()
	rows, err := x.s.shape(v, in.Parameters.Unknown).Rows(in.Instances.RawMessage)
	if err != nil {
		return err
	}
	of(v).took(watch.Preprocess, start)
	answer, err := x.s.ask(x.r.Context(), v, question{
		id: x.id, rows: rows, unknown: in.Parameters.Unknown, depth: depthOf(explaining), how: psi.Explain{Z: in.Parameters.Z, Top: in.Parameters.Top},
	})
	if err != nil {
		return err
	}
	defer of(v).took(watch.Postprocess, time.Now())
	var out prediction
	if !explaining {
		out.add(answer.prediction)
		return x.json(out)
	}
	var document text
	w := explain.NewJSONWriter(&document)
	if err := w.Write(answer.explanation); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(document.Bytes(), &fields); err != nil {
		return err
	}
	out.add(predictionOf(answer.explanation, of(v).page.Classes))
	if fields["predictions"], err = json.Marshal(out.Predictions); err != nil {
		return err
	}
	fields["explanations"] = fields["rows"]
	delete(fields, "rows")
	return x.json(fields)
}

// predictionOf is the prediction that an explanation explains.
func predictionOf(e *explain.Explanation, classes []string) *psi.Prediction {
	return &psi.Prediction{Mean: e.Prediction, Std: e.PredictionStd, Classes: classes, Probability: e.Probability}
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
	return x.json(V1Models{append([]string{}, x.s.fleet.Names()...)})
}
