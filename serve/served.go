package serve

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/psi-shapley/psi/serve/internal/observe"
	"github.com/psi-shapley/psi/serve/internal/oip"
	"github.com/psi-shapley/psi/serve/internal/registry"
	"github.com/psi-shapley/psi/serve/internal/ui"
)

// served is the data of the server for a version in service.
type served struct {
	signature *oip.Signature
	page      ui.Model // for the interactive page
	base      []float64
	counts    *observe.ModelMetrics
	drift     *observe.DriftWindow
	since     time.Time
	waiting   int // rows, as of the last call of Waiting

	requests, rows, passes, nanoseconds atomic.Int64 // counted since then
}

func of(v *registry.Version) *served { return v.Tag.(*served) }

// observer passes events of the registry to metrics, traces and the log.
type observer struct{ *Server }

func (o observer) Prepare(v *registry.Version) (any, error) {
	page, err := ui.Describe(v.Name, v.Version, v.Model)
	if err != nil {
		return nil, err
	}
	s := &served{page: page, base: v.Model.Base(), since: time.Now()}
	s.signature = s.describe(v, []string{v.Version})
	s.counts = o.metrics.Loaded(observe.ModelInfo{Model: v.Name, Version: v.Version, Digest: v.Model.Digest(), Head: v.Model.Head(), Backend: string(v.Model.Backend())})
	var reference [][]float64
	if audit := v.Model.StoredAudit(); audit != nil {
		for _, output := range audit.Outputs {
			if output.Importance != nil {
				reference = append(reference, output.Importance)
			}
		}
	}
	if s.drift, err = o.drift.Watch(v.Name, s.signature.Outputs, s.signature.Players, reference); err != nil {
		s.counts.Unloaded()
	}
	return s, err
}

// describe returns the signature of a version. versions lists all versions of the model in service.
func (s *served) describe(v *registry.Version, versions []string) *oip.Signature {
	sig := &oip.Signature{
		Name: v.Name, Version: v.Version, Versions: versions,
		Players: v.Model.Players(), Outputs: s.page.Outputs, Classes: s.page.Classes != nil,
		Parameters: map[string]string{
			"digest": v.Model.Digest(), "head": v.Model.Head(), "game": string(v.Model.Game()), "task": string(s.page.Task), "target": s.page.Target, "backend": string(v.Model.Backend()),
		},
	}
	for _, game := range v.Model.Games() {
		sig.Games = append(sig.Games, string(game))
	}
	for _, in := range v.Model.Inputs() {
		sig.Columns = append(sig.Columns, oip.Column{Name: in.Name, Kind: in.Kind, Labels: in.Labels, Reading: in.Reading})
	}
	for _, l := range v.Model.Manifest().LeftOut {
		sig.Ignored = append(sig.Ignored, l.Name)
	}
	return sig
}

func (o observer) Passing(v *registry.Version, p registry.Pass) (end func(error)) {
	s := of(v)
	for _, waited := range p.Waited {
		s.counts.Waited(waited)
	}
	start := time.Now()
	endSpan := o.traces.pass(p, v)
	return func(err error) {
		took := time.Since(start)
		s.counts.Pass(p.Depth.String(), p.Rows, took)
		s.requests.Add(int64(len(p.Requests)))
		s.rows.Add(int64(p.Rows))
		s.passes.Add(1)
		s.nanoseconds.Add(int64(took))
		endSpan(err)
	}
}

// Waiting implements registry.Observer. The queue holds its lock, so calls are sequential.
func (o observer) Waiting(v *registry.Version, rows int) {
	s := of(v)
	s.counts.Queued(rows - s.waiting)
	s.waiting = rows
}

func (o observer) Loaded(v *registry.Version) {
	o.config.Log.Info("model loaded", "model", v.Name, "version", v.Version, "digest", v.Model.Digest(), "backend", v.Model.Backend(),
		"file_bytes", v.Cost.File, "seconds", v.Cost.Took.Seconds(), "memory_bytes", v.Cost.Memory)
}

func (o observer) Unloaded(v *registry.Version) {
	of(v).counts.Unloaded()
	of(v).drift.Close()
	o.shadowCounts.drop(v.Name, v.Version)
	o.config.Log.Info("model unloaded", "model", v.Name, "version", v.Version, "digest", v.Model.Digest())
}

func (o observer) Failed(name, version string, err error, pause time.Duration) {
	o.metrics.LoadFailed(name)
	again := "when the file changes"
	if pause > 0 {
		again = "in " + pause.String()
	}
	o.config.Log.Error("cannot load a model; the version served before, if any, stays in service", "model", name, "version", version, "error", err, "retry", again)
}

func (o observer) Unlisted(err error) {
	o.config.Log.Error("cannot list the models of a location; models in service stay in service", "error", err)
}

// took records the duration of a stage.
func (s *served) took(stage observe.Stage, start time.Time) { s.counts.Took(stage, time.Since(start)) }

// tracing makes the spans of requests and of the passes they share.
type tracing struct{ *observe.Traces }

// request starts the span of an HTTP request.
func (t tracing) request(ctx context.Context, header http.Header, name, id string) (context.Context, func(error)) {
	return t.span(t.FromHTTP(ctx, header), name, id)
}

// call starts the span of a gRPC call.
func (t tracing) call(ctx context.Context, name, id string) (context.Context, func(error)) {
	return t.span(t.FromGRPC(ctx), name, id)
}

func (t tracing) span(ctx context.Context, name, id string) (context.Context, func(error)) {
	ctx, span := t.Tracer().Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attribute.String("psi.request_id", id)))
	return ctx, func(err error) { end(span, err) }
}

func end(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, http.StatusText(failure(err).status)) // a message may quote a cell
	}
	span.End()
}

// pass starts the span of a pass. It belongs to the trace of the first request, and links to all requests that share it.
func (t tracing) pass(p registry.Pass, v *registry.Version) func(error) {
	if !trace.SpanContextFromContext(p.Requests[0]).IsSampled() {
		return func(error) {}
	}
	links := make([]trace.Link, len(p.Requests))
	for i, ctx := range p.Requests {
		links[i] = trace.LinkFromContext(ctx)
	}
	_, span := t.Tracer().Start(p.Requests[0], "pass", trace.WithLinks(links...), trace.WithAttributes(
		attribute.String("psi.model", v.Name), attribute.String("psi.version", v.Version), attribute.String("psi.depth", p.Depth.String()),
		attribute.Int("psi.rows", p.Rows), attribute.Int("psi.requests", len(p.Requests))))
	return func(err error) { end(span, err) }
}
