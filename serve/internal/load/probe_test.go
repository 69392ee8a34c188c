package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// runProbe asks for some time, of which the second half counts.
func runProbe(t *testing.T, s *scene, length time.Duration, more ...string) *probed {
	t.Helper()
	in, stdin := io.Pipe()
	go func() {
		time.Sleep(length / 2)
		_, _ = stdin.Write([]byte("\n"))
		time.Sleep(length / 2)
		_ = stdin.Close()
	}()
	var out bytes.Buffer
	args := slices.Concat([]string{"probe", "-every", "20ms", "-for", "1m"}, s.flags, more)
	check(t, run(t.Context(), args, in, &out))
	found := &probed{}
	check(t, json.Unmarshal(out.Bytes(), found))
	return found
}

func TestProbe(t *testing.T) {
	s := start(t)
	found := runProbe(t, s, 2*time.Second, s.first, s.rows)
	for name, got := range map[string]seen{"HTTP": found.HTTP, "gRPC": found.GRPC, "health over HTTP": found.HealthHTTP, "health over gRPC": found.HealthGRPC} {
		expected := 50 // in the second that counts
		if strings.HasPrefix(name, "health") {
			expected /= healthEvery
		}
		if got.Asked != got.Answered || got.Asked < expected/2 || got.Asked > 3*expected/2 || got.P50 <= 0 || got.P50 > got.P99 || got.P99 > got.Max {
			t.Errorf("%s: %+v", name, got)
		}
	}
	// What another model predicts is wrong, and counts as such.
	other := filepath.Join(t.TempDir(), "shop.psi")
	content, err := os.ReadFile(s.second)
	check(t, err)
	check(t, os.WriteFile(other, content, 0o600))
	found = runProbe(t, s, 200*time.Millisecond, other, s.rows)
	if found.HTTP.Answered != 0 || found.HTTP.Outcomes[wrong] == 0 || found.GRPC.Outcomes[wrong] == 0 || !strings.Contains(found.First, "predictions") {
		t.Errorf("answers of another model: %+v", found)
	}
}

// Calls that never finish are held; their bytes arrive.
func TestHold(t *testing.T) {
	s := start(t)
	for _, method := range []string{"ModelInfer", "ModelStreamInfer"} {
		args := slices.Concat([]string{"hold", "-calls", "6", "-connections", "2", "-claim", "1000000", "-bytes", "1000", "-for", "500ms"}, s.flags, []string{method})
		found := ran[held](t, args...)
		if found.Calls != 6 || found.Ends[stillHeld] != 6 || found.Sent != 6*1005 || found.Seconds > 5 {
			t.Errorf("%s: %+v", method, found)
		}
	}
	// A message that claims too much is refused when its length is read.
	found := ran[held](t, slices.Concat([]string{"hold", "-claim", "2000000000", "-bytes", "100", "-for", "10s"}, s.flags, []string{"ModelInfer"})...)
	if found.Ends[refused] != 1 || found.Seconds > 5 {
		t.Errorf("too long: %+v", found)
	}
}

// Messages that grow when they are decoded arrive whole, whatever the server makes of them.
func TestHostileMessages(t *testing.T) {
	s := start(t)
	for kind, size := range map[string]int{"inputs": 1000, "texts": 1000, "varints": 1000} {
		r := ran[refusal](t, slices.Concat([]string{"hostile", "-bytes", "1000", "-calls", "3"}, s.flags, []string{kind})...)
		if ends := r.Ends["gRPC NotFound"] + r.Ends["gRPC InvalidArgument"] + r.Ends[refused]; ends != 3 || r.Sent < 3*size || r.Sent > 3*(size+100) {
			t.Errorf("%s: %+v", kind, r)
		}
	}
}

// Without the token the same requests are refused, except for the questions for health.
func TestProbeWithoutToken(t *testing.T) {
	s := start(t)
	s.flags = s.flags[:len(s.flags)-2]
	found := runProbe(t, s, 200*time.Millisecond, s.first, s.rows)
	if found.HTTP.Outcomes["HTTP 401"] == 0 || found.GRPC.Outcomes["gRPC Unauthenticated"] == 0 || found.HealthHTTP.Answered == 0 || found.HealthGRPC.Answered == 0 {
		t.Errorf("%+v", found)
	}
	if err := run(t.Context(), []string{"hold", "-token-file", "missing", "ModelInfer"}, nil, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a token file that is not there: %v", err)
	}
}
