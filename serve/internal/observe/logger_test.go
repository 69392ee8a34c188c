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

func TestLogLinesHaveTheRequest(t *testing.T) {
	ctx := trace.ContextWithSpanContext(WithRequestID(t.Context(), "id-1"), trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{0xab}}))
	if RequestID(ctx) != "id-1" || RequestID(t.Context()) != "" {
		t.Errorf("the context's request is %q, without one %q", RequestID(ctx), RequestID(t.Context()))
	}
	var text strings.Builder
	logger, err := NewLogger(&text, "json", slog.LevelInfo)
	if err != nil {
		t.Fatal(err)
	}
	logger = logger.With("model", "adult")
	logger.InfoContext(ctx, "loaded", "rows", 3)
	logger.DebugContext(ctx, "too fine")
	var line map[string]any
	if err := json.Unmarshal([]byte(text.String()), &line); err != nil {
		t.Fatalf("%v in %s", err, text.String())
	}
	delete(line, "time")
	if got, want := fmt.Sprint(line), "map[level:INFO model:adult msg:loaded request_id:id-1 rows:3 trace_id:ab000000000000000000000000000000]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}

	text.Reset()
	logger, err = NewLogger(&text, "text", slog.LevelInfo)
	if err != nil {
		t.Fatal(err)
	}
	logger.InfoContext(t.Context(), "loaded")
	logger.InfoContext(ctx, "asked")
	got := strings.Split(text.String(), "\n")
	if strings.Contains(got[0], "request_id") || !strings.Contains(got[1], "msg=asked request_id=id-1") {
		t.Errorf("lines\n%s", text.String())
	}
	if _, err := NewLogger(&text, "xml", slog.LevelInfo); err == nil {
		t.Error("xml is taken")
	}
}

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
		logger, err := NewLogger(&text, format, slog.LevelInfo)
		if err != nil {
			t.Fatal(err)
		}
		logger.Info("asked",
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
		c := complaint{report: func(error) { at = append(at, int(math.Round(time.Since(start).Seconds()))) }}
		for range 130 {
			c.about(errors.New("no space left"))
			c.about(nil)
			time.Sleep(time.Second)
		}
		if want := []int{0, 60, 120}; !slices.Equal(at, want) {
			t.Errorf("reported after %v seconds, want %v", at, want)
		}
		(&complaint{}).about(errors.New("nobody listens"))
	})
}
