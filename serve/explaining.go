package serve

import (
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/serve/internal/observe"
	"github.com/psi-shapley/psi/serve/internal/registry"
	"github.com/psi-shapley/psi/serve/internal/wire"
	"github.com/psi-shapley/psi/table"
)

// explainRows answers /explain with a psi.explanation/v1 document, or a table in Arrow.
func (x *exchange) explainRows() error { return x.plain(true) }

// predictRows answers /predict.
func (x *exchange) predictRows() error { return x.plain(false) }

// plain answers /explain and /predict, in JSON or Arrow.
func (x *exchange) plain(explaining bool) error {
	start := time.Now()
	params := x.r.URL.Query()
	q := wire.Query{Model: params.Get("model"), Version: params.Get("version"), Unknown: params["unknown"], Output: params.Get("output"), Against: params.Get("against")}
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
	v, err := x.s.registry.Lease(q.Model, q.Version, x.r.Header.Get("X-Request-Id"))
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
	of(v).took(observe.Preprocess, start)
	asked := question{id: x.id, unknown: q.Unknown, depth: depthOf(explaining), how: psi.ExplainOptions{Z: q.Z, Top: q.Top, Output: q.Output, Against: q.Against}, budget: x.budget}
	if x.wantsArrow() {
		return x.arrow(v, rows, asked, layout)
	}
	var predicted wire.Prediction
	document := buffer{budget: x.budget}
	writer := explain.NewJSONWriter(&document)
	err = x.s.streamed(x.r.Context(), v, rows, asked, func(p part) error {
		if p.explanation != nil {
			return writer.Write(p.explanation)
		}
		return addPrediction(&predicted, p.prediction, x.budget)
	})
	if err != nil {
		return err
	}
	defer of(v).took(observe.Postprocess, time.Now())
	if !explaining {
		return x.json(predicted)
	}
	if err := writer.Close(); err != nil {
		return err
	}
	return x.answer(jsonType, document.bytes)
}

// rowsOf returns the rows of a body in JSON or Arrow.
func (x *exchange) rowsOf(v *registry.Version, q *wire.Query) (table.Source, error) {
	if x.sendsArrow() {
		return x.source(v, table.Arrow)
	}
	if len(q.Rows.RawMessage) == 0 {
		return nil, &wrong{"there are no rows", `send them as "rows"`}
	}
	t, err := x.s.shape(v, q.Unknown, x.budget.Reserve).Rows(q.Rows.RawMessage)
	if err != nil {
		return nil, err
	}
	return t.Source(), nil
}

// arrow answers with an Arrow table of explanations, wide or long, or of predictions.
func (x *exchange) arrow(v *registry.Version, rows table.Source, q question, layout string) error {
	out := tableSink{x: x}
	err := x.s.streamed(x.r.Context(), v, rows, q, func(p part) error {
		held := p.tableBytes(layout)
		if err := x.budget.Reserve(held); err != nil {
			return err
		}
		t, err := p.table(layout)
		if err != nil {
			return err
		}
		if err := out.write(x.r.Context(), t); err != nil {
			return err
		}
		return x.budget.Reserve(-held)
	})
	if err == nil {
		return out.sink.Close()
	}
	if out.sink != nil {
		x.s.abort(x, err) // the caller must not take half of a table for the whole
	}
	return err
}

// tableBytes returns the memory of a part of an answer as columns and as Arrow.
func (p part) tableBytes(layout string) int64 {
	if p.explanation == nil {
		return int64(p.prediction.Rows()) * int64(64+32*len(p.prediction.Classes))
	}
	e := p.explanation
	cells := int64(e.Rows) * int64(len(e.Outputs)) * int64(len(e.Players)+4)
	if layout == "long" {
		return 320 * cells
	}
	return 48 * cells
}

// table returns a part of an answer as columns.
func (p part) table(layout string) (*table.Table, error) {
	switch {
	case p.explanation == nil:
		return p.prediction.Table()
	case layout == "long":
		return p.explanation.Long()
	}
	return p.explanation.Wide()
}
