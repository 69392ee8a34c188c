package serve

import (
	"bytes"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/serve/internal/jsonrows"
	"github.com/psi-shapley/psi/serve/internal/observe"
	"github.com/psi-shapley/psi/serve/internal/registry"
	"github.com/psi-shapley/psi/serve/internal/wire"
	"github.com/psi-shapley/psi/table"
)

// invocations answers MLflow's route.
func (x *exchange) invocations() error {
	start := time.Now()
	params := x.r.URL.Query()
	v, err := x.s.registry.Lease(params.Get("model"), params.Get("version"), x.r.Header.Get("X-Request-Id"))
	if err != nil {
		return err
	}
	defer v.Release()
	x.model = v.Name
	rows, unknown, err := x.invoked(v)
	if err != nil {
		return err
	}
	defer rows.Close()
	of(v).took(observe.Preprocess, start)
	var out wire.Prediction
	q := question{id: x.id, unknown: unknown, depth: psi.Spread, budget: x.budget}
	err = x.s.streamed(x.r.Context(), v, rows, q, func(p part) error { return addPrediction(&out, p.prediction, x.budget) })
	if err != nil {
		return err
	}
	return x.json(out)
}

// invoked returns the rows of an invocation, and the columns to treat as missing.
func (x *exchange) invoked(v *registry.Version) (table.Source, []string, error) {
	switch mediaType(x.r.Header.Get("Content-Type")) {
	case csvType:
		rows, err := x.source(v, table.CSV, x.s.config.MaxRows)
		return rows, x.r.URL.Query()["unknown"], err
	case arrowType:
		rows, err := x.source(v, table.Arrow, x.s.config.MaxRows)
		return rows, x.r.URL.Query()["unknown"], err
	}
	var in wire.Invocation
	body, err := x.body()
	if err != nil {
		return nil, nil, err
	}
	if bytes.Contains(body, []byte("NaN")) { // the copy that NullForNaN makes, and the room it grows by
		if err := x.budget.Reserve(2 * int64(len(body))); err != nil {
			return nil, nil, err
		}
	}
	if err := object(jsonrows.NullForNaN(body), &in, false, x.budget.Reserve); err != nil {
		return nil, nil, err
	}
	shape := x.s.shape(v, in.Params.Unknown, x.s.config.MaxRows, x.budget.Reserve)
	var t *table.Table
	switch {
	case in.Split != nil:
		t, err = shape.Split(in.Split.Columns, in.Split.Data.RawMessage)
	case in.Records.RawMessage != nil:
		t, err = shape.Rows(in.Records.RawMessage)
	case in.Instances.RawMessage != nil:
		t, err = shape.Rows(in.Instances.RawMessage)
	case bytes.HasPrefix(in.Inputs.RawMessage, []byte{'{'}):
		t, err = shape.ByColumn(in.Inputs.RawMessage)
	case in.Inputs.RawMessage != nil:
		t, err = shape.Rows(in.Inputs.RawMessage)
	default:
		err = &requestError{"there are no rows", "send dataframe_split, dataframe_records, instances or inputs"}
	}
	if err != nil {
		return nil, nil, err
	}
	return t.Source(), in.Params.Unknown, nil
}
