package serve

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/serve/internal/jsonrows"
	"github.com/psi-shapley/psi/serve/internal/oip"
	"github.com/psi-shapley/psi/serve/internal/registry"
	"github.com/psi-shapley/psi/table"
)

// Query is the body of /explain and /predict.
type Query struct {
	Model   string   `json:"model,omitempty" doc:"name of the model, if there are several"`
	Version string   `json:"version,omitempty" doc:"version or label"`
	Rows    RowList  `json:"rows" doc:"a list of rows: objects by column, or lists of cells in the model's order; null is missing"`
	Unknown []string `json:"unknown,omitempty" doc:"columns to take for missing; rows may lack them"`
	Z       float64  `json:"z,omitempty" doc:"intervals are mean ∓ z·std"`
	Top     int      `json:"top,omitempty" doc:"K of p_top"`
	Output  string   `json:"output,omitempty" doc:"class to explain; all if there is none"`
	Against string   `json:"against,omitempty" doc:"why the output and not this class"`
}

// shape is what rows for a version are like.
func (s *Server) shape(v *registry.Version, unknown []string, reserve func(n int64) error) jsonrows.Shape {
	shape := jsonrows.Shape{Unknown: unknown, Most: s.config.MaxRows, Reserve: reserve}
	missing := v.Model.Manifest().Missing
	for _, c := range of(v).signature.Columns {
		shape.Columns = append(shape.Columns, jsonrows.Column{Name: c.Name, Kind: c.Kind, Labels: c.Labels, Missing: missing, Reading: c.Reading})
	}
	return shape
}

// mediaType of a header's value, without its parameters.
func mediaType(value string) string {
	kind, _, err := mime.ParseMediaType(value)
	if err != nil {
		return strings.TrimSpace(value)
	}
	return kind
}

// wantsArrow tells what an answer is to be written as: what Accept says, or as the request came.
func (x *exchange) wantsArrow() bool {
	accept := x.r.Header.Get("Accept")
	if strings.Contains(accept, arrowType) {
		return true
	}
	return x.sendsArrow() && !strings.Contains(accept, jsonType)
}

func (x *exchange) sendsArrow() bool { return mediaType(x.r.Header.Get("Content-Type")) == arrowType }

// source is the rows of a body in Arrow or CSV, some at a time. The body is read before the first of them is answered: most
// clients send all before they look for an answer, and would wait for the server while the server waits for them. Its rows
// are read and counted before that too, so that what is wrong with any of them is told instead of an answer.
func (x *exchange) source(v *registry.Version, format table.Format) (table.Source, error) {
	body, err := x.body()
	if err != nil {
		return nil, err
	}
	options := v.Model.ReadOptions()
	options.Name, options.ChunkRows, options.Reserve = "the body", min(x.s.config.MaxRows, 1000), x.budget.Reserve
	only, err := countRows(x.r.Context(), body, format, options, x.s.config.MaxRows)
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

// countRows reads all rows, which must not be more than most, and returns them if they are one chunk.
func countRows(ctx context.Context, body []byte, format table.Format, options table.Options, most int) (only *table.Table, err error) {
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
		if rows += t.Rows(); rows > most {
			return nil, &jsonrows.TooManyError{Most: most}
		}
	}
}

// cellBytes is what a table holds.
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

// readable takes the causes from errors of table's readers, which are not for callers to see, unless the cause is a limit.
func readable(err error) error {
	if cell, is := errors.AsType[*table.Error](err); is && cell.Err != nil {
		return badly(err, cell.Message, cell.Remedy)
	}
	return err
}

// part is some rows of a request, the number of the first of them, and what is said of them.
type part struct {
	first int
	*reply
}

// streamed asks about all rows of a source, some at a time.
func (s *Server) streamed(ctx context.Context, v *registry.Version, rows table.Source, q question, take func(part) error) error {
	for first := 0; ; {
		t, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			if first == 0 {
				return &wrong{"there are no rows", "send at least one"}
			}
			return nil
		}
		if err != nil {
			return readable(err)
		}
		if err := columnsThere(t, of(v).signature.Columns, q.unknown); err != nil {
			return err
		}
		q.rows = t
		answer, err := s.ask(ctx, v, q)
		if err != nil {
			return err
		}
		if answer.explanation != nil {
			answer.explanation.FirstRow = first
		} else {
			answer.prediction.FirstRow = first
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

// columnsThere refuses a table that lacks one of a model's columns that is not said to be unknown.
func columnsThere(t *table.Table, columns []oip.Column, unknown []string) error {
	for _, c := range columns {
		if t.Column(c.Name) == nil && !slices.Contains(unknown, c.Name) {
			return &table.Error{Row: -1, Column: c.Name, Message: "the column is not there", Remedy: `send it, or name it in "unknown"`}
		}
	}
	return nil
}

// tableSink writes parts of an answer as one Arrow stream, once the first is there: until then an error can still be told.
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

// depthOf is what a route finds out.
func depthOf(explaining bool) psi.Depth {
	if explaining {
		return psi.Doubt
	}
	return psi.Spread
}
