package serve

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spanpb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"

	"github.com/psi-shapley/psi/serve/internal/oip/inference"
)

// While a place of models does not answer, the server is live and not ready, models of other places answer, and it ends
// when it is told to.
func TestHealthWhileModelsLoad(t *testing.T) {
	ended := make(chan struct{})
	bucket := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-ended:
		case <-r.Context().Done():
		}
	}))
	defer bucket.Close()
	defer close(ended)
	r := begin(t, func(c *Config) {
		c.Models = append(c.Models, "s3://b/m/?use_path_style=true&region=us-east-1&anonymous=true&endpoint="+bucket.URL)
		c.Drain = 10 * time.Second
	})
	eventually(t, "the model of the directory", func() bool {
		status, _, _ := r.sent(t, http.MethodGet, "/v2/models/shop/ready", nil)
		return status == http.StatusOK
	})
	if status, _, _ := r.sent(t, http.MethodGet, "/v2/health/live", nil); status != http.StatusOK {
		t.Errorf("live: %d", status)
	}
	if status, answer, _ := r.sent(t, http.MethodGet, "/v2/health/ready", nil); status != http.StatusServiceUnavailable || !strings.Contains(string(answer), "models are being loaded") {
		t.Errorf("ready: %d %s", status, answer)
	}
	ready, err := r.calls.ServerReady(t.Context(), &inference.ServerReadyRequest{})
	if err != nil || ready.Ready {
		t.Errorf("gRPC: %v %v", ready, err)
	}
	for _, want := range []string{"file_bytes=", "seconds=", "memory_bytes="} {
		if !strings.Contains(r.log.String(), want) {
			t.Errorf("the log lacks %s", want)
		}
	}
	start := time.Now()
	r.stop()
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %v to end", took)
	}
}

// A single file that is named must be a model: if it is damaged, missing or named otherwise, the server fails.
func TestNamedFilesMustBeModels(t *testing.T) {
	damaged := filepath.Join(t.TempDir(), "m.psi")
	check(t, os.WriteFile(damaged, []byte("PK nonsense"), 0o600))
	for _, location := range []string{damaged, damaged + ".none", filepath.Join(t.TempDir(), "none.psi")} {
		started := false
		s, err := New(t.Context(), Config{Models: []string{location}, HTTP: "127.0.0.1:0", Started: func() error { started = true; return nil }})
		check(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		if err := s.Run(ctx); err == nil || !strings.Contains(err.Error(), location) || started {
			t.Errorf("%s: %v", location, err)
		}
		cancel()
	}
}

// A handler in a program's own server answers while the server runs, and lets nobody load models.
func TestHandler(t *testing.T) {
	content, err := trained()
	check(t, err)
	server, err := New(t.Context(), Config{Models: []string{modelIn(t, content)}})
	check(t, err)
	own := httptest.NewServer(http.StripPrefix("/psi", server.Handler()))
	defer own.Close()
	r := &running{Server: server, url: own.URL + "/psi"}
	if status, answer, header := r.sent(t, http.MethodGet, "/v2/health/ready", nil); status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" {
		t.Errorf("before Run: %d %s", status, answer)
	}
	r.begin(t)
	eventually(t, "ready", func() bool { return r.Server.ready() == nil })
	rows := people(3, 5)
	if got := r.asked(t, "/explain", map[string]any{"rows": objects(rows)}); len(got["rows"].([]any)) != 3 {
		t.Errorf("%v", got)
	}
	if status, answer, _ := r.sent(t, http.MethodPost, "/v2/repository/models/shop/unload", nil); status != http.StatusForbidden {
		t.Errorf("unload: %d %s", status, answer)
	}
	r.stop()
	if status, answer, _ := r.sent(t, http.MethodPost, "/explain", []byte("{}")); status != http.StatusServiceUnavailable {
		t.Errorf("after Run: %d %s", status, answer)
	}
}

// A server that nothing can reach does not run.
func TestNothingToListenAt(t *testing.T) {
	s, err := New(t.Context(), Config{Models: []string{t.TempDir()}})
	check(t, err)
	if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "nothing to listen at") {
		t.Error(err)
	}
}

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

// A shadow sees the rows of requests that others answer: of the same model, its predictions lie at no distance.
func TestShadowSeesTheSameRows(t *testing.T) {
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	check(t, os.WriteFile(rules, []byte("models: {shop: {default: '1', shadow: '2'}}\n"), 0o600))
	r := start(t, func(c *Config) {
		content, err := trained()
		check(t, err)
		check(t, os.WriteFile(filepath.Join(c.Models[0], "shop@2.psi"), content, 0o600))
		c.Rules = rules
	})
	r.asked(t, "/explain", map[string]any{"rows": objects(people(7, 1))})
	_, _, metrics := r.Addresses()
	eventually(t, "the shadow is counted", func() bool {
		response, err := http.Get("http://" + metrics + "/metrics")
		check(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		check(t, err)
		return strings.Contains(string(text), `psi_shadow_predictions_total{model="shop",version="2"} 7`) &&
			strings.Contains(string(text), `psi_shadow_distance_total{model="shop",version="2"} 0`)
	})
}
