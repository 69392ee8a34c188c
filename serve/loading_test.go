package serve

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
