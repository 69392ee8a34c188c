package serve

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

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
