package observe

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/psi-shapley/psi/table"
)

func TestLogLinesHaveTheTrace(t *testing.T) {
	ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{0xab}}))
	var text strings.Builder
	logger := slog.New(NewHandler(slog.NewJSONHandler(&text, nil))).With("model", "adult")
	logger.InfoContext(ctx, "loaded", "rows", 3)
	logger.DebugContext(ctx, "too fine")
	var line map[string]any
	if err := json.Unmarshal([]byte(text.String()), &line); err != nil {
		t.Fatalf("%v in %s", err, text.String())
	}
	delete(line, "time")
	if got, want := fmt.Sprint(line), "map[level:INFO model:adult msg:loaded rows:3 trace_id:ab000000000000000000000000000000]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}

	text.Reset()
	logger.InfoContext(t.Context(), "loaded")
	if strings.Contains(text.String(), "trace_id") {
		t.Errorf("a line without a trace is %s", text.String())
	}
}

// oneCell is a value that is a cell only when it is logged.
type oneCell struct{ of *table.Column }

func (c oneCell) LogValue() slog.Value { return slog.AnyValue(c.of) }

// A number that is in no line shows that no cell is.
func TestLogLinesHaveNoCells(t *testing.T) {
	const cell = "52417.25"
	e := rowsOf([][]float64{{52417.25 - 1000}})
	if e.Values[0].Text(0) != cell {
		t.Fatalf("the cell is %s, not %s", e.Values[0].Text(0), cell)
	}
	wrong := &table.Error{Row: 4, Column: "income", Message: "the cell " + cell + " is no category"}
	for _, format := range []string{"text", "json"} {
		var text strings.Builder
		var to slog.Handler = slog.NewTextHandler(&text, nil)
		if format == "json" {
			to = slog.NewJSONHandler(&text, nil)
		}
		slog.New(NewHandler(to)).With("with", e.Values[0]).WithGroup("group").Info("asked", "late", oneCell{e.Values[0]},
			"explanation", e, "column", e.Values[0], "columns", e.Values, "table", &table.Table{Columns: e.Values}, "attributions", e.Attributions(0, 0),
			"err", fmt.Errorf("reading the body: %w", wrong), slog.Group("more", "err", wrong), "all", &table.Error{Row: -1, Column: "income", Message: "all cells are " + cell}, "plain", errors.New("no space left"))
		if strings.Contains(text.String(), cell) {
			t.Errorf("%s: a cell is in the line %s", format, text.String())
		}
		for _, want := range []string{"row 4", "row -1", "income", "no space left"} {
			if !strings.Contains(text.String(), want) {
				t.Errorf("%s: no %q in the line %s", format, want, text.String())
			}
		}
	}
}

func TestComplaintIsMadeOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []int
		start := time.Now()
		c := throttledReport{report: func(error) { at = append(at, int(math.Round(time.Since(start).Seconds()))) }}
		for range 130 {
			c.add(errors.New("no space left"))
			c.add(nil)
			time.Sleep(time.Second)
		}
		if want := []int{0, 60, 120}; !slices.Equal(at, want) {
			t.Errorf("reported after %v seconds, want %v", at, want)
		}
		(&throttledReport{}).add(errors.New("nobody listens"))
	})
}
