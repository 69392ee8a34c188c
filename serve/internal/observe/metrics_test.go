package observe

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// scrape is what the handler answers.
func scrape(t testing.TB, m *Metrics, accept string) (body, contentType string) {
	t.Helper()
	server := httptest.NewServer(m.Handler())
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", accept)
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v: %s", response.StatusCode, err, text)
	}
	return string(text), response.Header.Get("Content-Type")
}

// lines are those of the answer that start so.
func lines(body, start string) []string {
	var list []string
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, start) {
			list = append(list, strings.TrimSpace(line))
		}
	}
	return list
}

func expect(t *testing.T, body, start string, want ...string) {
	t.Helper()
	if got := lines(body, start); !slices.Equal(got, want) {
		t.Errorf("lines %s…:\n  %s\nwant\n  %s", start, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

var adult = ModelInfo{Model: "adult", Version: "2", Digest: "sha256:00ff", Head: "exact", Backend: "onnx"}

// busy is metrics of which every one has counted something.
func busy() (*Metrics, *ModelMetrics) {
	m := NewMetrics()
	x := m.Loaded(adult)
	r := m.Route("http", "/v2/models/{model}/infer")
	r.Started()
	r.Started()
	r.Ended("adult", "200", 3*time.Millisecond)
	m.Refused(QueueFull)
	m.HeldBytes(100)
	m.HeldBytes(-25)
	x.Pass("attributions", 48, 7*time.Millisecond)
	x.Pass("values", 2, time.Millisecond)
	x.Queued(5)
	x.Queued(-2)
	x.Waited(2 * time.Millisecond)
	for stage := range Stage(stageCount) {
		x.Took(stage, time.Millisecond)
	}
	return m, x
}

func TestMetricsCount(t *testing.T) {
	m, _ := busy()
	m.LoadFailed("adult")
	m.LoadFailed("of nobody")
	body, _ := scrape(t, m, "text/plain")
	expect(t, body, "psi_requests_total", `psi_requests_total{code="200",model="adult",protocol="http",route="/v2/models/{model}/infer"} 1`)
	expect(t, body, "psi_request_duration_seconds_count", `psi_request_duration_seconds_count{protocol="http",route="/v2/models/{model}/infer"} 1`)
	expect(t, body, "psi_request_duration_seconds_sum", `psi_request_duration_seconds_sum{protocol="http",route="/v2/models/{model}/infer"} 0.003`)
	expect(t, body, "psi_rows_total",
		`psi_rows_total{depth="attributions",model="adult",version="2"} 48`,
		`psi_rows_total{depth="values",model="adult",version="2"} 2`)
	expect(t, body, "psi_pass_duration_seconds_sum", `psi_pass_duration_seconds_sum{model="adult"} 0.008`)
	expect(t, body, "psi_pass_rows_sum", `psi_pass_rows_sum{model="adult"} 50`)
	expect(t, body, "psi_pass_rows_count", `psi_pass_rows_count{model="adult"} 2`)
	expect(t, body, "psi_queue_rows", `psi_queue_rows{model="adult"} 3`)
	expect(t, body, "psi_queue_wait_seconds_sum", `psi_queue_wait_seconds_sum{model="adult"} 0.002`)
	expect(t, body, `psi_refused_total{reason="queue_full"}`, `psi_refused_total{reason="queue_full"} 1`)
	if got := len(lines(body, "psi_refused_total")); got != len(refusals) {
		t.Errorf("%d reasons are shown, want all %d from the start", got, len(refusals))
	}
	expect(t, body, "psi_inflight_requests", "psi_inflight_requests 1")
	expect(t, body, "psi_inflight_bytes", "psi_inflight_bytes 75")
	expect(t, body, "psi_model_info", `psi_model_info{backend="onnx",digest="sha256:00ff",head="exact",model="adult",version="2"} 1`)
	expect(t, body, "psi_model_loads_total",
		`psi_model_loads_total{model="adult",outcome="failed"} 1`,
		`psi_model_loads_total{model="adult",outcome="loaded"} 1`,
		`psi_model_loads_total{model="unknown",outcome="failed"} 1`)
	for _, stage := range []string{"preprocess", "predict", "explain", "postprocess"} {
		expect(t, body, "request_"+stage+"_seconds_sum", "request_"+stage+`_seconds_sum{model_name="adult"} 0.001`)
	}
	for _, start := range []string{"go_goroutines", "process_resident_memory_bytes"} {
		if len(lines(body, start)) != 1 {
			t.Errorf("no %s", start)
		}
	}
}

// Callers choose the models that they ask for; they must not choose labels.
func TestCallersCannotMakeLabels(t *testing.T) {
	m, x := busy()
	r := m.Route("grpc", "ModelInfer")
	for _, model := range []string{"a", "b\xff", strings.Repeat("c", 1000), "adult", ""} {
		r.Started()
		r.Ended(model, "NotFound", time.Millisecond)
	}
	body, _ := scrape(t, m, "text/plain")
	expect(t, body, `psi_requests_total{code="NotFound"`,
		`psi_requests_total{code="NotFound",model="",protocol="grpc",route="ModelInfer"} 1`,
		`psi_requests_total{code="NotFound",model="adult",protocol="grpc",route="ModelInfer"} 1`,
		`psi_requests_total{code="NotFound",model="unknown",protocol="grpc",route="ModelInfer"} 3`)

	x.Unloaded()
	x.Unloaded() // once is all that counts
	x.Pass("values", 1, time.Millisecond)
	r.Started()
	r.Ended("adult", "NotFound", time.Millisecond)
	body, _ = scrape(t, m, "text/plain")
	if left := regexp.MustCompile(`(?m)^.*"adult".*$`).FindAllString(body, -1); left != nil {
		t.Errorf("a model that is gone still has labels:\n%s", strings.Join(left, "\n"))
	}
}

// While another version is there, what the versions share stays.
func TestUnloadOneVersion(t *testing.T) {
	m, x := busy()
	next := adult
	next.Version = "3"
	y := m.Loaded(next)
	y.Pass("values", 7, time.Millisecond)
	x.Unloaded()
	body, _ := scrape(t, m, "text/plain")
	expect(t, body, "psi_rows_total", `psi_rows_total{depth="values",model="adult",version="3"} 7`)
	expect(t, body, "psi_model_info", `psi_model_info{backend="onnx",digest="sha256:00ff",head="exact",model="adult",version="3"} 1`)
	expect(t, body, "psi_pass_rows_sum", `psi_pass_rows_sum{model="adult"} 57`)

	// A file that was written anew: the same version with another digest.
	again := next
	again.Digest = "sha256:1"
	m.Loaded(again)
	y.Unloaded()
	body, _ = scrape(t, m, "text/plain")
	expect(t, body, "psi_rows_total", `psi_rows_total{depth="values",model="adult",version="3"} 7`)
	expect(t, body, "psi_model_info", `psi_model_info{backend="onnx",digest="sha256:1",head="exact",model="adult",version="3"} 1`)
}

// Requests that end while models come and go leave no labels of models that are gone.
func TestMetricsConcurrently(t *testing.T) {
	m := NewMetrics()
	r := m.Route("http", "/explain")
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 300 {
				x := m.Loaded(adult)
				r.Started()
				x.Pass("values", 1, time.Microsecond)
				x.Unloaded()
				r.Ended("adult", "200", time.Microsecond)
				x.Pass("values", 1, time.Microsecond)
			}
		})
	}
	wait.Go(func() {
		for range 20 {
			scrape(t, m, "text/plain")
		}
	})
	wait.Wait()
	body, _ := scrape(t, m, "text/plain")
	if strings.Contains(body, `"adult"`) {
		t.Errorf("a model that is gone still has labels")
	}
	expect(t, body, "psi_inflight_requests", "psi_inflight_requests 0")
}

func TestHandlerSpeaksOpenMetrics(t *testing.T) {
	m, _ := busy()
	body, contentType := scrape(t, m, "application/openmetrics-text; version=1.0.0")
	if !strings.HasPrefix(contentType, "application/openmetrics-text") || !strings.HasSuffix(body, "# EOF\n") {
		t.Errorf("%s ends in %q", contentType, body[len(body)-20:])
	}
}

// Prometheus's own tool finds nothing wrong with names, types and help.
func TestPromtoolAccepts(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed; it is part of the package prometheus")
	}
	m, _ := busy()
	drift := NewDrift(time.Now)
	log := openLog(t, LogOptions{Dir: t.TempDir()})
	m.Register(drift, log)
	w, err := drift.Watch("adult", []string{"y"}, []string{"x0", "x1"}, [][]float64{{1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	w.Observe(rowsOf([][]float64{{1, -2}}))
	body, _ := scrape(t, m, "text/plain")
	for _, name := range []string{
		"psi_requests_total", "psi_request_duration_seconds", "psi_rows_total", "psi_pass_duration_seconds", "psi_pass_rows", "psi_queue_rows",
		"psi_queue_wait_seconds", "psi_refused_total", "psi_inflight_requests", "psi_inflight_bytes", "psi_model_info", "psi_model_loads_total",
		"psi_attribution_abs_mean", "psi_attribution_std_mean", "psi_missing_ratio", "psi_importance_ndcg", "psi_drift_rows",
		"psi_explanation_log_rows_total", "request_preprocess_seconds", "request_predict_seconds", "request_explain_seconds", "request_postprocess_seconds",
	} {
		if len(lines(body, "# TYPE "+name+" ")) != 1 {
			t.Errorf("no metric %s", name)
		}
	}
	check := exec.CommandContext(t.Context(), promtool, "check", "metrics")
	check.Stdin = strings.NewReader(body)
	if said, err := check.CombinedOutput(); err != nil || len(said) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, said)
	}
}

func BenchmarkRequestEnded(b *testing.B) {
	m, _ := busy()
	r := m.Route("http", "/explain")
	b.ReportAllocs()
	for b.Loop() {
		r.Started()
		r.Ended("adult", "200", time.Millisecond)
	}
}

func BenchmarkPassCounted(b *testing.B) {
	_, x := busy()
	b.ReportAllocs()
	for b.Loop() {
		x.Pass("attributions", 64, time.Millisecond)
	}
}
