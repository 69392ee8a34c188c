package observe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/metadata"
)

// Limits of the spans in memory. Spans beyond them are dropped.
const (
	queueSpans    = 4096
	sendEvery     = 5 * time.Second
	sendTimeout   = 10 * time.Second
	otlpPort      = "4317"
	maxBackoff    = 10 * time.Second // before a collector that was away is tried again
	tracesService = "psi"
)

// TraceOptions configure Traces.
type TraceOptions struct {
	Endpoint string // http://HOST:PORT or https://HOST:PORT of a collector that speaks OTLP over gRPC; empty means none
	Version  string // of the program

	Report func(error) // called when spans cannot be sent, at most once a minute; may be nil
}

// Traces sends spans to an OpenTelemetry collector, in batches and in the background. Spans that cannot be sent in time are
// dropped. Without an endpoint it does nothing.
//
// OpenTelemetry's environment variables set the rest: headers, certificates, sampling, attributes.
type Traces struct {
	tracer   trace.Tracer
	provider *sdktrace.TracerProvider // nil if there is no endpoint
	sender   *sender
}

// OpenTraces returns Traces without waiting for the collector, which may be unreachable.
func OpenTraces(ctx context.Context, o TraceOptions) (*Traces, error) {
	if o.Endpoint == "" {
		return &Traces{tracer: noop.NewTracerProvider().Tracer(tracesService)}, nil
	}
	address, insecure, err := parseEndpoint(o.Endpoint)
	if err != nil {
		return nil, err
	}
	options := []otlptracegrpc.Option{
		otlptracegrpc.WithEndpoint(address),
		otlptracegrpc.WithTimeout(sendTimeout),
		otlptracegrpc.WithDialOption(grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: time.Second, Multiplier: 1.6, Jitter: .2, MaxDelay: maxBackoff}, MinConnectTimeout: maxBackoff,
		})),
	}
	if insecure {
		options = append(options, otlptracegrpc.WithInsecure())
	}
	exporter, err := otlptracegrpc.New(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("traces to %s: %w", o.Endpoint, err)
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithHost(),
		resource.WithAttributes(attribute.String("service.name", tracesService), attribute.String("service.version", o.Version)),
		resource.WithFromEnv(),
	)
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("traces to %s: %w", o.Endpoint, err)
	}
	s := &sender{SpanExporter: exporter, endpoint: o.Endpoint, fault: throttledReport{report: o.Report}, stop: make(chan struct{})}
	provider := sdktrace.NewTracerProvider(sdktrace.WithResource(about), sdktrace.WithBatcher(s,
		sdktrace.WithMaxQueueSize(queueSpans), sdktrace.WithBatchTimeout(sendEvery), sdktrace.WithExportTimeout(sendTimeout),
	))
	return &Traces{provider.Tracer(tracesService, trace.WithInstrumentationVersion(o.Version)), provider, s}, nil
}

// parseEndpoint returns the address of a collector, and whether to connect without TLS.
func parseEndpoint(endpoint string) (address string, insecure bool, err error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil {
		return "", false, errors.New("the endpoint of traces is no http://HOST:PORT or https://HOST:PORT; headers for a collector that asks for a name are given in OTEL_EXPORTER_OTLP_HEADERS")
	}
	port := u.Port()
	if port == "" {
		port = otlpPort
	}
	return net.JoinHostPort(u.Hostname(), port), u.Scheme == "http", nil
}

// Tracer returns the tracer. The span of a pass that several requests share links to the spans of all of them.
func (t *Traces) Tracer() trace.Tracer { return t.tracer }

// FromHTTP returns a context whose spans have the caller's span as parent, if the header traceparent (W3C) names one.
func (t *Traces) FromHTTP(ctx context.Context, header http.Header) context.Context {
	if t.provider == nil {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(header))
}

// FromGRPC is FromHTTP for the metadata of a gRPC call.
func (t *Traces) FromGRPC(ctx context.Context) context.Context {
	if t.provider == nil {
		return ctx
	}
	incoming, _ := metadata.FromIncomingContext(ctx)
	header := propagation.MapCarrier{}
	for _, name := range (propagation.TraceContext{}).Fields() {
		if values := incoming.Get(name); len(values) > 0 {
			header[name] = values[0]
		}
	}
	return propagation.TraceContext{}.Extract(ctx, header)
}

// Close sends the remaining spans until the context ends.
func (t *Traces) Close(ctx context.Context) error {
	if t.provider == nil {
		return nil
	}
	err := t.provider.Shutdown(ctx)
	t.sender.ended.Do(func() { close(t.sender.stop) })
	if err != nil {
		return fmt.Errorf("the last traces were not sent: %w", err)
	}
	return nil
}

// sender reports errors to a callback instead of the library's global handler, and stops when it is closed.
type sender struct {
	sdktrace.SpanExporter
	endpoint string
	fault    throttledReport
	stop     chan struct{}
	ended    sync.Once
}

// ExportSpans implements sdktrace.SpanExporter.
func (s *sender) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-s.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := s.SpanExporter.ExportSpans(ctx, spans); err != nil {
		s.fault.add(fmt.Errorf("spans cannot be sent to %s and are dropped: %w", s.endpoint, err))
	}
	return nil
}
