package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/serve/internal/jsonrows"
	"github.com/psi-shapley/psi/serve/internal/observe"
	"github.com/psi-shapley/psi/serve/internal/oip"
	"github.com/psi-shapley/psi/serve/internal/registry"
	"github.com/psi-shapley/psi/serve/internal/wire"
	"github.com/psi-shapley/psi/table"
)

// shape describes the rows that a version takes, at most limit.
func (s *Server) shape(v *registry.Version, unknown []string, limit int, reserve func(n int64) error) jsonrows.Shape {
	shape := jsonrows.Shape{Unknown: unknown, MaxRows: limit, Reserve: reserve}
	missing := v.Model.Manifest().Missing
	for _, c := range of(v).signature.Columns {
		shape.Columns = append(shape.Columns, jsonrows.Column{Name: c.Name, Kind: c.Kind, Labels: c.Labels, Missing: missing, Reading: c.Reading})
	}
	return shape
}

// mediaType returns the media type of a header without its parameters.
func mediaType(value string) string {
	kind, _, err := mime.ParseMediaType(value)
	if err != nil {
		return strings.TrimSpace(value)
	}
	return kind
}

// wantsArrow reports whether to answer in Arrow: if Accept asks for it, or if the request is in Arrow and Accept does not
// ask for JSON.
func (x *exchange) wantsArrow() bool {
	accept := x.r.Header.Get("Accept")
	if strings.Contains(accept, arrowType) {
		return true
	}
	return x.sendsArrow() && !strings.Contains(accept, jsonType)
}

func (x *exchange) sendsArrow() bool { return mediaType(x.r.Header.Get("Content-Type")) == arrowType }

// source returns the rows of a body in Arrow or CSV, at most limit, chunk by chunk. It reads the whole body first: most clients send
// everything before they read an answer, and would block while the server waits for them. It also parses and counts all rows
// first, so that an error in any row is reported instead of an answer.
func (x *exchange) source(v *registry.Version, format table.Format, limit int) (table.Source, error) {
	body, err := x.body()
	if err != nil {
		return nil, err
	}
	options := v.Model.ReadOptions()
	options.Name, options.ChunkRows, options.Reserve = "the body", min(limit, 1000), x.budget.Reserve
	only, err := countRows(x.r.Context(), body, format, options, limit)
	if err != nil {
		return nil, readable(err)
	}
	if only != nil {
		return only.Source(), x.budget.Reserve(cellBytes(only))
	}
	source, err := table.OpenReader(bytes.NewReader(body), format, options)
	if err != nil {
		return nil, readable(err)
	}
	return source, nil
}

// countRows parses all rows, which must not be more than most. If they are a single chunk, it returns that.
func countRows(ctx context.Context, body []byte, format table.Format, options table.Options, limit int) (only *table.Table, err error) {
	source, err := table.OpenReader(bytes.NewReader(body), format, options)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	for rows, chunks := 0, 0; ; chunks++ {
		t, err := source.Next(ctx)
		if errors.Is(err, io.EOF) {
			return only, nil
		}
		if err != nil {
			return nil, err
		}
		if only = t; chunks > 0 {
			only = nil
		}
		if rows += t.Rows(); rows > limit {
			return nil, &jsonrows.TooManyError{Limit: limit}
		}
	}
}

// cellBytes returns the memory of a table.
func cellBytes(t *table.Table) int64 {
	n := 0
	for _, c := range t.Columns {
		n += 8*len(c.Numbers) + 4*len(c.Codes) + len(c.Observed)
		for _, level := range c.Levels {
			n += 16 + len(level)
		}
	}
	return int64(n)
}

// readable removes the cause from errors of table readers, since callers must not see it, unless the cause is a limit.
func readable(err error) error {
	if cell, is := errors.AsType[*table.Error](err); is && cell.Err != nil {
		return bodyError(err, cell.Message, cell.Remedy)
	}
	return err
}

// part is the answer for some rows of a request. first is the number of the first row.
type part struct {
	first int
	*reply
}

// streamed asks about all rows of a source, chunk by chunk.
func (s *Server) streamed(ctx context.Context, v *registry.Version, rows table.Source, q question, take func(part) error) error {
	for first := 0; ; {
		t, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			if first == 0 {
				return &requestError{"there are no rows", "send at least one"}
			}
			return nil
		}
		if err != nil {
			return readable(err)
		}
		if err := columnsThere(t, of(v).signature.Columns, q.unknown); err != nil {
			return err
		}
		q.rows, q.first = t, first
		answer, err := s.ask(ctx, v, q)
		if err != nil {
			return err
		}
		if err := take(part{first, answer}); err != nil {
			return err
		}
		if err := q.budget.Reserve(-workBytes(of(v).signature, t.Rows(), q.depth)); err != nil {
			return err
		}
		first += t.Rows()
	}
}

// columnsThere returns an error if a table lacks a column of the model that is not in unknown.
func columnsThere(t *table.Table, columns []oip.Column, unknown []string) error {
	for _, c := range columns {
		if t.Column(c.Name) == nil && !slices.Contains(unknown, c.Name) {
			return &table.Error{Row: -1, Column: c.Name, Message: "the column is not there", Remedy: `send it, or name it in "unknown"`}
		}
	}
	return nil
}

// tableSink writes parts of an answer as one Arrow stream. It begins with the first part, so that errors before that can
// still be answered.
type tableSink struct {
	x    *exchange
	sink table.Sink
}

func (t *tableSink) write(ctx context.Context, rows *table.Table) error {
	if t.sink == nil {
		t.x.status = http.StatusOK
		t.x.w.Header().Set("Content-Type", arrowType)
		sink, err := table.NewSink(t.x.w, table.Arrow)
		if err != nil {
			return err
		}
		t.sink = sink
	}
	return t.sink.Write(ctx, rows)
}

// depthOf returns the depth of a route.
func depthOf(explaining bool) psi.Depth {
	if explaining {
		return psi.Doubt
	}
	return psi.Spread
}

// explainRows answers /explain with a psi.explanation/v1 document, or a table in Arrow.
func (x *exchange) explainRows() error { return x.plain(true) }

// predictRows answers /predict.
func (x *exchange) predictRows() error { return x.plain(false) }

// plain answers /explain and /predict, in JSON or Arrow.
func (x *exchange) plain(explaining bool) error {
	start := time.Now()
	params := x.r.URL.Query()
	q := wire.Query{Model: params.Get("model"), Version: params.Get("version"), Unknown: params["unknown"], Output: params.Get("output"), Against: params.Get("against"), Game: params.Get("game")}
	q.Reference.RawMessage = json.RawMessage(params.Get("reference"))
	layout := params.Get("layout")
	if layout != "" && layout != "wide" && layout != "long" {
		return &requestError{"the layout is neither wide nor long", "choose one of them"}
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
	how := psi.ExplainOptions{Z: q.Z, Top: q.Top, Output: q.Output, Against: q.Against}
	if explaining {
		if err := x.s.setGame(v, &how, q.Game, q.Reference.RawMessage, x.budget.Reserve); err != nil {
			return err
		}
	}
	rows, err := x.rowsOf(v, &q, x.s.maxRows(how))
	if err != nil {
		return err
	}
	defer rows.Close()
	of(v).took(observe.Preprocess, start)
	request := question{id: x.id, unknown: q.Unknown, depth: depthOf(explaining), how: how, budget: x.budget}
	if x.wantsArrow() {
		return x.arrow(v, rows, request, layout)
	}
	var predicted wire.Prediction
	document := buffer{budget: x.budget}
	writer := explain.NewJSONWriter(&document)
	err = x.s.streamed(x.r.Context(), v, rows, request, func(p part) error {
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

// rowsOf returns the rows of a body in JSON or Arrow, at most limit.
func (x *exchange) rowsOf(v *registry.Version, q *wire.Query, limit int) (table.Source, error) {
	if x.sendsArrow() {
		return x.source(v, table.Arrow, limit)
	}
	if len(q.Rows.RawMessage) == 0 {
		return nil, &requestError{"there are no rows", `send them as "rows"`}
	}
	t, err := x.s.shape(v, q.Unknown, limit, x.budget.Reserve).Rows(q.Rows.RawMessage)
	if err != nil {
		return nil, err
	}
	return t.Source(), nil
}

// gameHeader is the header of the game of an answer in Arrow, whose columns have no place for it.
const gameHeader = "Psi-Game"

// arrow answers with an Arrow table of explanations, wide or long, or of predictions.
func (x *exchange) arrow(v *registry.Version, rows table.Source, q question, layout string) error {
	out := tableSink{x: x}
	err := x.s.streamed(x.r.Context(), v, rows, q, func(p part) error {
		if p.explanation != nil && out.sink == nil {
			x.w.Header().Set(gameHeader, string(p.explanation.Game))
		}
		size := p.tableBytes(layout)
		if err := x.budget.Reserve(size); err != nil {
			return err
		}
		t, err := p.table(layout)
		if err != nil {
			return err
		}
		if err := out.write(x.r.Context(), t); err != nil {
			return err
		}
		return x.budget.Reserve(-size)
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
