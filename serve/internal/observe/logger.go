// Package observe makes a server observable: [Metrics] for Prometheus, [Drift] of attributions against those of training, an
// [ExplanationLog] for auditors, [Traces] by OpenTelemetry, and log lines without cells ([NewHandler]).
//
// The package has no global state, and it never makes a request wait or fail.
package observe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// LeftOut replaces cells of callers' tables in log lines.
const LeftOut = "(left out)"

// NewHandler returns a handler that passes log lines to next without cells of callers' tables. Lines that are logged with
// the context of a traced request get its trace_id.
//
// An error about a row or a column is replaced by these two, since its message may quote a cell; row -1 means all rows.
// Tables and explanations are replaced by LeftOut. Log errors, not their text: the handler does not look into strings.
func NewHandler(next slog.Handler) slog.Handler { return handler{next} }

type handler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(leaveOutCells(a))
		return true
	})
	if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
		clean.AddAttrs(slog.String("trace_id", span.TraceID().String()))
	}
	return h.Handler.Handle(ctx, clean)
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(allWithoutCells(attrs))}
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler { return handler{h.Handler.WithGroup(name)} }

func allWithoutCells(attrs []slog.Attr) []slog.Attr {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = leaveOutCells(a)
	}
	return clean
}

// leaveOutCells replaces a value that holds cells.
func leaveOutCells(a slog.Attr) slog.Attr {
	a.Value = a.Value.Resolve()
	switch a.Value.Kind() {
	case slog.KindGroup:
		a.Value = slog.GroupValue(allWithoutCells(a.Value.Group())...)
	case slog.KindAny:
		switch v := a.Value.Any().(type) {
		case error:
			if e, ok := errors.AsType[*table.Error](v); ok && (e.Row >= 0 || e.Column != "") {
				a.Value = slog.StringValue(fmt.Sprintf("row %d, column %q: %s", e.Row, e.Column, LeftOut))
			}
		case *table.Table, *table.Column, *explain.Explanation, []*table.Table, []*table.Column, explain.Explanation, []explain.Attribution, explain.Attribution:
			a.Value = slog.StringValue(LeftOut)
		}
	}
	return a
}

// reportInterval is the minimum time between two reports of a fault.
const reportInterval = time.Minute

// throttledReport reports a recurring fault, at most once a minute.
type throttledReport struct {
	report func(error)

	mu   sync.Mutex
	last time.Time
}

func (c *throttledReport) add(err error) {
	if err == nil || c.report == nil {
		return
	}
	now := time.Now()
	c.mu.Lock()
	due := c.last.IsZero() || now.Sub(c.last) >= reportInterval
	if due {
		c.last = now
	}
	c.mu.Unlock()
	if due {
		c.report(err)
	}
}
