package serve

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spanpb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
)

// receiver is a collector that keeps what it is sent.
type receiver struct {
	collector.UnimplementedTraceServiceServer
	mu    sync.Mutex
	spans map[string]*spanpb.Span // by name
}

func (r *receiver) Export(_ context.Context, request *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range request.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				r.spans[span.Name] = span
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// A pass is a span within that of the request, and linked to it; the request's is within the caller's.
func TestPassIsASpan(t *testing.T) {
	seen := &receiver{spans: map[string]*spanpb.Span{}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	g := grpc.NewServer()
	collector.RegisterTraceServiceServer(g, seen)
	go func() { _ = g.Serve(l) }() // ends with Stop
	defer g.Stop()
	r := start(t, func(c *Config) { c.OTLP = "http://" + l.Addr().String() })
	body := asJSON(t, map[string]any{"rows": objects(people(3, 1))})
	status, _, _ := r.sent(t, post, "/explain", body, "traceparent", "00-0102030405060708090a0b0c0d0e0f10-0102030405060708-01")
	if status != 200 {
		t.Fatal(status)
	}
	r.stop() // which sends what is left
	seen.mu.Lock()
	defer seen.mu.Unlock()
	request, pass := seen.spans["POST /explain"], seen.spans["pass"]
	if request == nil || pass == nil {
		t.Fatalf("%v", seen.spans)
	}
	if !bytes.Equal(request.ParentSpanId, []byte{1, 2, 3, 4, 5, 6, 7, 8}) || !bytes.Equal(pass.ParentSpanId, request.SpanId) ||
		len(pass.Links) != 1 || !bytes.Equal(pass.Links[0].SpanId, request.SpanId) {
		t.Errorf("request %v, pass %v", request, pass)
	}
	for _, a := range pass.Attributes {
		if a.Key == "psi.rows" && a.Value.GetIntValue() != 3 {
			t.Errorf("%v", a)
		}
	}
}
