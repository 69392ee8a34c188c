package observe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"go.opentelemetry.io/otel/trace"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// LeftOut stands in log lines where cells of a caller's table would.
const LeftOut = "(left out)"

// NewLogger writes log lines as text or json. Lines that are logged with the context of a request have its request_id,
// and trace_id if it is traced.
//
// Log lines hold no cells of callers' tables: of an error about a row or a column only these are
// written (row -1 is all rows), for its message may quote a cell, and tables and explanations are left out. Hand the logger errors, not
// their text.
func NewLogger(w io.Writer, format string, level slog.Leveler) (*slog.Logger, error) {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: leaveOutCells}
	switch format {
	case "text":
		return slog.New(requestHandler{slog.NewTextHandler(w, options)}), nil
	case "json":
		return slog.New(requestHandler{slog.NewJSONHandler(w, options)}), nil
	}
	return nil, fmt.Errorf("log lines cannot be written as %q: text and json are known", format)
}

type requestIDKey struct{}

// WithRequestID is a context of the request of that id.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestID is that of the context's request, or empty.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// requestHandler adds what the context says of the request.
type requestHandler struct{ slog.Handler }

// Handle is of slog.Handler.
func (h requestHandler) Handle(ctx context.Context, r slog.Record) error {
	if id := RequestID(ctx); id != "" {
		r.AddAttrs(slog.String("request_id", id))
	}
	if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
		r.AddAttrs(slog.String("trace_id", span.TraceID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs is of slog.Handler.
func (h requestHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return requestHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup is of slog.Handler.
func (h requestHandler) WithGroup(name string) slog.Handler {
	return requestHandler{h.Handler.WithGroup(name)}
}

// leaveOutCells replaces values that hold cells.
func leaveOutCells(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() != slog.KindAny {
		return a
	}
	switch v := a.Value.Any().(type) {
	case error:
		if e, ok := errors.AsType[*table.Error](v); ok && (e.Row >= 0 || e.Column != "") {
			a.Value = slog.StringValue(fmt.Sprintf("row %d, column %q: %s", e.Row, e.Column, LeftOut))
		}
	case *table.Table, *table.Column, *explain.Explanation, []*table.Table, []*table.Column, explain.Explanation, []explain.Attribution, explain.Attribution:
		a.Value = slog.StringValue(LeftOut)
	}
	return a
}
