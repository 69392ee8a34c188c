package observe

import (
	"context"
	"encoding/hex"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spanpb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// receiver is an OTLP collector that keeps what it is sent.
type receiver struct {
	collector.UnimplementedTraceServiceServer
	mu    sync.Mutex
	sent  []*spanpb.ResourceSpans
	spans map[string]*spanpb.Span // by name
}

func (r *receiver) Export(_ context.Context, request *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range request.GetResourceSpans() {
		r.sent = append(r.sent, resource)
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				r.spans[span.GetName()] = span
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

func (r *receiver) has(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.spans[name] != nil
}

func listen(t *testing.T, address string) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() }) // may be closed already
	return listener
}

// receive starts a collector.
func receive(t *testing.T, listener net.Listener) *receiver {
	t.Helper()
	r := &receiver{spans: map[string]*spanpb.Span{}}
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, r)
	go func() { _ = server.Serve(listener) }() // ends with Stop
	t.Cleanup(server.Stop)
	return r
}

func openTraces(t *testing.T, o TraceOptions) *Traces {
	t.Helper()
	if o.Report == nil {
		o.Report = func(err error) { t.Error(err) }
	}
	traces, err := OpenTraces(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return traces
}

func TestSpansArrive(t *testing.T) {
	listener := listen(t, "127.0.0.1:0")
	r := receive(t, listener)
	traces := openTraces(t, TraceOptions{Endpoint: "http://" + listener.Addr().String(), Version: "1.2.3"})
	tracer := traces.Tracer()

	const (
		caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		other  = "00-11111111111111111111111111111111-2222222222222222-01"
	)
	ctx, http1 := tracer.Start(traces.FromHTTP(t.Context(), http.Header{"Traceparent": {caller}}), "http", trace.WithSpanKind(trace.SpanKindServer))
	_, read := tracer.Start(ctx, "read", trace.WithAttributes(attribute.Int("rows", 3)))
	read.End()
	incoming := metadata.NewIncomingContext(t.Context(), metadata.Pairs("traceparent", other))
	_, grpc1 := tracer.Start(traces.FromGRPC(incoming), "grpc")
	_, pass := tracer.Start(t.Context(), "pass", trace.WithNewRoot(), trace.WithLinks(trace.Link{SpanContext: http1.SpanContext()}, trace.Link{SpanContext: grpc1.SpanContext()}))
	_, alone := tracer.Start(traces.FromHTTP(t.Context(), http.Header{"Traceparent": {"nonsense"}}), "alone")
	for _, span := range []trace.Span{pass, http1, grpc1, alone} {
		span.End()
	}
	if err := traces.Close(t.Context()); err != nil {
		t.Fatal(err)
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.spans) != 5 {
		t.Fatalf("%d spans arrived, want 5", len(r.spans))
	}
	for name, want := range map[string][2]string{ // trace, parent
		"http":  {caller[3:35], caller[36:52]},
		"read":  {caller[3:35], hex.EncodeToString(r.spans["http"].GetSpanId())},
		"grpc":  {other[3:35], other[36:52]},
		"pass":  {hex.EncodeToString(r.spans["pass"].GetTraceId()), ""},
		"alone": {hex.EncodeToString(r.spans["alone"].GetTraceId()), ""},
	} {
		if got := [2]string{hex.EncodeToString(r.spans[name].GetTraceId()), hex.EncodeToString(r.spans[name].GetParentSpanId())}; got != want {
			t.Errorf("%s has trace and parent %v, want %v", name, got, want)
		}
	}
	links := r.spans["pass"].GetLinks()
	if len(links) != 2 || hex.EncodeToString(links[0].GetSpanId()) != hex.EncodeToString(r.spans["http"].GetSpanId()) || hex.EncodeToString(links[1].GetTraceId()) != other[3:35] {
		t.Errorf("the pass links to %v", links)
	}
	if got := r.spans["read"].GetAttributes(); len(got) != 1 || got[0].GetKey() != "rows" || got[0].GetValue().GetIntValue() != 3 {
		t.Errorf("attributes %v", got)
	}
	about := map[string]string{}
	for _, a := range r.sent[0].GetResource().GetAttributes() {
		about[a.GetKey()] = a.GetValue().GetStringValue()
	}
	if about["service.name"] != "psi" || about["service.version"] != "1.2.3" {
		t.Errorf("the resource is %v", about)
	}
}

// A collector that refuses connections, and one that takes them and never answers.
func TestCollectorDown(t *testing.T) {
	refusing := listen(t, "127.0.0.1:0")
	_ = refusing.Close()
	silent := listen(t, "127.0.0.1:0")
	for _, endpoint := range []string{refusing.Addr().String(), silent.Addr().String()} {
		var reports atomic.Int32
		traces := openTraces(t, TraceOptions{Endpoint: "http://" + endpoint, Report: func(error) { reports.Add(1) }})
		const requests = 4 * queueSpans
		slowest, start := time.Duration(0), time.Now()
		for range requests {
			before := time.Now()
			ctx, span := traces.Tracer().Start(t.Context(), "request")
			_, child := traces.Tracer().Start(ctx, "pass")
			child.End()
			span.End()
			slowest = max(slowest, time.Since(before))
		}
		took := time.Since(start)
		t.Logf("%s: two spans take %v, at most %v", endpoint, took/requests, slowest)
		if took/requests > 200*time.Microsecond || slowest > time.Second {
			t.Errorf("two spans take %v, at most %v", took/requests, slowest)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		before := time.Now()
		err := traces.Close(ctx)
		cancel()
		if took := time.Since(before); took > 2*time.Second || err == nil {
			t.Errorf("closing took %v of 300 ms and said %v, want an error", took, err)
		}
		for deadline := time.Now().Add(5 * time.Second); reports.Load() == 0 && time.Now().Before(deadline); {
			time.Sleep(10 * time.Millisecond)
		}
		if err := traces.Close(t.Context()); err != nil {
			t.Errorf("closing once more: %v", err)
		}
		if n := reports.Load(); n != 1 {
			t.Errorf("%d reports, want 1", n)
		}
	}
}

// A collector that comes back gets what is made from then on.
func TestCollectorComesBack(t *testing.T) {
	listener := listen(t, "127.0.0.1:0")
	address := listener.Addr().String()
	_ = listener.Close()
	traces := openTraces(t, TraceOptions{Endpoint: "http://" + address, Report: func(error) {}})
	_, span := traces.Tracer().Start(t.Context(), "early")
	span.End()
	flushed, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	_ = traces.provider.ForceFlush(flushed) // fails: nobody is there
	cancel()

	r := receive(t, listen(t, address))
	deadline := time.Now().Add(30 * time.Second)
	for !r.has("late") && time.Now().Before(deadline) {
		_, span := traces.Tracer().Start(t.Context(), "late")
		span.End()
		_ = traces.provider.ForceFlush(t.Context()) // may fail at first
	}
	if !r.has("late") {
		t.Error("nothing arrived in half a minute")
	}
	if err := traces.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTracesWithoutEndpoint(t *testing.T) {
	traces := openTraces(t, TraceOptions{})
	ctx := traces.FromGRPC(traces.FromHTTP(t.Context(), http.Header{"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}))
	if _, span := traces.Tracer().Start(ctx, "request"); span.IsRecording() || span.SpanContext().IsValid() {
		t.Error("spans are made for nobody")
	}
	if err := traces.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestEndpoints(t *testing.T) {
	for endpoint, want := range map[string]string{
		"http://collector:4318":   "collector:4318",
		"https://collector":       "collector:4317",
		"http://[::1]:4317/":      "[::1]:4317",
		"collector:4317":          "",
		"grpc://collector:4317":   "",
		"http://":                 "",
		"http://:4317":            "",
		"http://c:4317/v1/traces": "",
		"http://me:secret@c:4317": "",
		"http://c:4317?x=secret":  "",
		"\x00":                    "",
	} {
		address, insecure, err := parseEndpoint(endpoint)
		if address != want || (err == nil) != (want != "") || insecure != (err == nil && strings.HasPrefix(endpoint, "http:")) {
			t.Errorf("%q is read as %q, without TLS %v, %v", endpoint, address, insecure, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error tells the secret: %v", endpoint, err)
		}
	}
	if _, err := OpenTraces(t.Context(), TraceOptions{Endpoint: "collector:4317"}); err == nil {
		t.Error("an endpoint without http:// is taken")
	}
}

func BenchmarkSpanForNobody(b *testing.B) {
	traces, err := OpenTraces(b.Context(), TraceOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		_, span := traces.Tracer().Start(b.Context(), "request")
		span.End()
	}
}
