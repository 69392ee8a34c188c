package serve

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/psi-shapley/psi/serve/internal/observe"
	"github.com/psi-shapley/psi/serve/internal/registry"
)

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
