package serve

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/psi-shapley/psi/serve/internal/auth"
	"github.com/psi-shapley/psi/serve/internal/oip/inference"
	"github.com/psi-shapley/psi/serve/internal/wire"
	"github.com/psi-shapley/psi/table"
)

// refused sends a body that must be answered with one of some statuses, in the usual form.
func (r *running) refused(t *testing.T, what, path string, body []byte, statuses []int, headers ...string) wire.Failure {
	t.Helper()
	got, answer, header := r.sent(t, http.MethodPost, path, body, headers...)
	var f wire.Failure
	if err := json.Unmarshal(answer, &f); err != nil || f.Schema != "psi.error/v1" || f.Message == "" {
		t.Errorf("%s: %d %.200s", what, got, answer)
	}
	if !slices.Contains(statuses, got) {
		t.Errorf("%s: status %d (%s), want one of %v", what, got, f.Message, statuses)
	}
	if got == http.StatusTooManyRequests && header.Get("Retry-After") == "" {
		t.Errorf("%s: no Retry-After", what)
	}
	return f
}

// inferring are all routes that read rows.
func inferring() []string {
	return []string{"/explain", "/predict", "/invocations", "/v1/models/shop:predict", "/v1/models/shop:explain", "/v2/models/shop/infer"}
}

func TestBodyLimits(t *testing.T) {
	r := start(t, func(c *Config) { c.MaxBody, c.MaxRows = 1<<20, 100 })
	for _, path := range inferring() {
		r.refused(t, "a large body at "+path, path, repeat(" ", 1<<21), []int{413})
		r.refused(t, "an empty body at "+path, path, nil, []int{400})
	}
	r.refused(t, "many rows", "/explain", asJSON(t, map[string]any{"rows": objects(people(101, 1))}), []int{413})
	r.refused(t, "many instances", "/v1/models/shop:predict", asJSON(t, map[string]any{"instances": objects(people(101, 1))}), []int{413})
	r.refused(t, "no rows", "/explain", []byte(`{"rows":[]}`), []int{400})
	for _, rows := range []int{100, 101, 3000} {
		want := map[bool]int{true: 200, false: 413}[rows <= 100]
		for contentType, format := range map[string]table.Format{arrowType: table.Arrow, csvType: table.CSV} {
			for _, path := range []string{"/explain", "/predict", "/invocations"} {
				if format == table.CSV && path != "/invocations" {
					continue
				}
				var body bytes.Buffer
				write(t, &body, format, people(rows, 1))
				if got, answer, _ := r.sent(t, http.MethodPost, path, body.Bytes(), "Content-Type", contentType); got != want {
					t.Errorf("%d rows of %s at %s: %d %.200s, want %d", rows, contentType, path, got, answer, want)
				}
			}
		}
	}
	_, err := r.calls.ModelInfer(t.Context(), &inference.ModelInferRequest{ModelName: "shop", RawInputContents: [][]byte{make([]byte, 2<<20)}})
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a large message: %v", err)
	}
	r.asked(t, "/explain", map[string]any{"rows": objects(people(100, 1))}) // the limit itself, and the server still answers
}

func asJSON(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	check(t, err)
	return text
}

// What is held of requests is bounded over all of them.
func TestMemoryOfAllRequests(t *testing.T) {
	r := start(t, func(c *Config) { c.MaxHeld = 1 << 20 })
	r.refused(t, "more than may be held", "/explain", repeat(" ", 1<<21), []int{429})
	eventually(t, "the memory is given back", func() bool { return r.memory.inUse() == 0 })
	r.asked(t, "/explain", map[string]any{"rows": objects(people(10, 1))})
}

// A small body that unpacks to a huge one is refused, and its memory stays small.
func TestGzipBomb(t *testing.T) {
	r := start(t, func(c *Config) { c.MaxBody = 1 << 20 })
	var bomb bytes.Buffer
	zip := gzip.NewWriter(&bomb)
	for range 1 << 10 {
		_, err := zip.Write(make([]byte, 1<<20))
		check(t, err)
	}
	check(t, zip.Close())
	t.Logf("%d bytes unpack to %d", bomb.Len(), 1<<30)
	before := allocated()
	for _, path := range inferring() {
		r.refused(t, "a bomb at "+path, path, bomb.Bytes()[:1<<19], []int{413}, "Content-Encoding", "gzip")
	}
	if grown := allocated() - before; grown > 200<<20 {
		t.Errorf("%d bytes were allocated", grown)
	}
	r.refused(t, "what is no gzip", "/explain", []byte("{}"), []int{400}, "Content-Encoding", "gzip")
	r.refused(t, "another coding", "/explain", []byte("{}"), []int{400}, "Content-Encoding", "br")
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

func TestDeepJSON(t *testing.T) {
	r := start(t, nil)
	for _, open := range []string{"[", `{"a":`, `{"rows":[`, `{"inputs":[`} {
		for _, path := range inferring() {
			r.refused(t, "nested "+open+" at "+path, path, repeat(open, 1<<20), []int{400})
		}
	}
	for _, body := range []string{`{"rows":1}`, `{"rows":[[[1]]]}`, `{"rows":[{"age":{}}]}`, `[]`, `null`, `"rows"`, `{"rows":[{"age":1,"age":2,"town":"a","member":true,"day":null}]}`, "{\"rows\":[[\"\xff\"]]}", `{"rows":[[NaN,null,null,null]]}`, `{"rows":[[Infinity,null,null,null]]}`, `{"rows":[[1e999,null,null,null]]}`, `{"rows":[["inf",null,null,null]]}`, `{"z":"wide","rows":[]}`, `{"z":-1,"rows":[[1,"Bath",true,null]]}`, `{"output":"maybe","rows":[[1,"Bath",true,null]]}`, `{"rows":[[1,"Bath",3,null]]}`, `{"rows":[[1,"Bath",true,"some day"]]}`} {
		r.refused(t, body, "/explain", []byte(body), []int{400})
	}
}

func TestManyColumns(t *testing.T) {
	r := start(t, nil)
	var row, tensors strings.Builder
	for i := range 1_000_000 {
		fmt.Fprintf(&row, `"c%d":%d,`, i, i)
		fmt.Fprintf(&tensors, `{"name":"c%d","datatype":"FP32","shape":[1],"data":[1]},`, i)
	}
	r.refused(t, "a row of a million cells", "/explain", []byte(`{"rows":[{`+strings.TrimSuffix(row.String(), ",")+`}]}`), []int{400})
	r.refused(t, "a million tensors", "/v2/models/shop/infer", []byte(`{"inputs":[`+strings.TrimSuffix(tensors.String(), ",")+`]}`), []int{400, 413})
}

// Connections that send their request byte by byte are ended in time, and others are served meanwhile.
func TestSlowClients(t *testing.T) {
	r := start(t, func(c *Config) { c.Timeout = time.Second })
	var slow []net.Conn
	address := strings.TrimPrefix(r.url, "http://")
	for range 200 {
		c, err := net.Dial("tcp", address)
		check(t, err)
		t.Cleanup(func() { _ = c.Close() })
		_, err = io.WriteString(c, "POST /explain HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
		check(t, err)
		slow = append(slow, c)
	}
	start := time.Now()
	r.asked(t, "/explain", map[string]any{"rows": objects(people(1, 1))})
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("others waited for %v", took)
	}
	for _, c := range slow {
		check(t, c.SetReadDeadline(time.Now().Add(10*time.Second)))
		if _, err := io.ReadAll(c); err != nil {
			t.Fatalf("a slow connection is not ended: %v", err)
		}
	}
}

// More requests than the model can take soon are refused at once, with a time to try again; the others are answered.
func TestBackPressure(t *testing.T) {
	r := start(t, func(c *Config) { c.MaxWaiting, c.Backend = 60, "go" }) // whose passes take longer than requests
	body := asJSON(t, map[string]any{"rows": objects(people(50, 1))})
	r.crowded(t, body)
}

// A request whose time is over is told so, and the server goes on.
func TestDeadlines(t *testing.T) {
	r := start(t, func(c *Config) { c.Timeout = time.Nanosecond })
	r.refused(t, "no time", "/explain", asJSON(t, map[string]any{"rows": objects(people(1, 1))}), []int{504, 408, 499})
	short, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	inputs, raw := tensors(people(1, 1))
	if _, err := r.calls.ModelInfer(short, &inference.ModelInferRequest{ModelName: "shop", Inputs: inputs, RawInputContents: raw}); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("%v", err)
	}
}

// No answer names a file or holds a trace of the program's stack.
func TestErrorsTellNoPaths(t *testing.T) {
	r := start(t, nil)
	check(t, os.WriteFile(filepath.Join(r.dir, "broken.psi"), []byte("PK nonsense"), 0o600))
	eventually(t, "the broken file is seen", func() bool { return strings.Contains(r.log.String(), "broken") })
	for _, request := range []struct{ method, path, body string }{
		{http.MethodPost, "/v2/repository/models/broken/load", ""},
		{http.MethodPost, "/v2/repository/index", ""},
		{http.MethodGet, "/v2/models/broken", ""},
		{http.MethodPost, "/explain", `{"rows":[{"age":"x"}]}`},
		{http.MethodPost, "/explain?model=../../etc/passwd", `{"rows":[[1,2,3,4]]}`},
		{http.MethodGet, "/../../etc/passwd", ""},
		{http.MethodGet, "/v2/models/%2e%2e%2fshop", ""},
	} {
		got, answer, _ := r.sent(t, request.method, request.path, []byte(request.body))
		if strings.Contains(string(answer), r.dir) || strings.Contains(string(answer), "goroutine") || strings.Contains(string(answer), ".go:") || got >= 500 {
			t.Errorf("%s %s: %d %s", request.method, request.path, got, answer)
		}
	}
	if strings.Contains(r.log.String(), "goroutine ") {
		t.Errorf("the log has a panic: %s", r.log.String())
	}
}

// Requests in progress when the server is told to end are answered; it says that it is not ready, and ends.
func TestDrain(t *testing.T) {
	r := start(t, func(c *Config) { c.Drain = time.Minute })
	body := asJSON(t, map[string]any{"rows": objects(people(100, 1))})
	var all sync.WaitGroup
	const requests = 20
	began := make(chan struct{}, requests)
	for range requests {
		all.Go(func() {
			// The server says "continue" once a handler reads the body: from then on the request is under way.
			trace := &httptrace.ClientTrace{Got100Continue: func() { began <- struct{}{} }}
			request, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodPost, r.url+"/explain", bytes.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			request.Header.Set("Content-Type", jsonType)
			request.Header.Set("Expect", "100-continue")
			response, err := (&http.Transport{ExpectContinueTimeout: time.Minute}).RoundTrip(request)
			if err != nil {
				t.Error(err)
				return
			}
			defer response.Body.Close()
			if answer, err := io.ReadAll(response.Body); err != nil || response.StatusCode != 200 {
				t.Errorf("%d %v %.200s", response.StatusCode, err, answer)
			}
		})
	}
	for range requests {
		select {
		case <-began:
		case <-time.After(time.Minute):
			t.Fatal("a request is not begun within a minute")
		}
	}
	r.stop()
	all.Wait()
	if r.Server.ready() == nil {
		t.Error("it is ready after its end")
	}
}

// What a stranger may ask for is made once, and at a limited rate; health is not limited.
func TestPublicAnswers(t *testing.T) {
	r := start(t, func(c *Config) { c.UI = true })
	r.asked(t, "/explain", map[string]any{"rows": objects(people(1, 1))}) // so that the connection is read as fast as it may
	for _, path := range []string{"/openapi.json", "/ui"} {
		_, plain, _ := r.sent(t, http.MethodGet, path, nil, "Accept-Encoding", "identity")
		for _, encoding := range []string{gzipped, deflated} {
			code, answer, header := r.sent(t, http.MethodGet, path, nil, "Accept-Encoding", encoding)
			if code != 200 || header.Get("Content-Encoding") != encoding || header.Get("Vary") == "" {
				t.Fatalf("%s as %s: %d %v", path, encoding, code, header)
			}
			unpacked, err := unpacking(encoding, bytes.NewReader(answer))
			check(t, err)
			whole, err := io.ReadAll(unpacked)
			check(t, err)
			if !bytes.Equal(whole, plain) {
				t.Errorf("%s as %s is another", path, encoding)
			}
		}
	}
	before := allocated()
	const asked = 20
	for range asked {
		r.sent(t, http.MethodGet, "/openapi.json", nil, "Accept-Encoding", gzipped)
	}
	if each := (allocated() - before) / asked; each > 200_000 {
		t.Errorf("%d bytes are allocated for each answer", each)
	}
	counts := map[int]int{}
	for range 4 * auth.DefaultPublicRate {
		code, _, _ := r.sent(t, http.MethodGet, "/version", nil)
		counts[code]++
		if health, _, _ := r.sent(t, http.MethodGet, "/v2/health/live", nil); health != 200 {
			t.Fatalf("health: %d", health)
		}
	}
	if counts[429] == 0 || counts[200] == 0 || counts[200]+counts[429] != 4*auth.DefaultPublicRate {
		t.Errorf("%v", counts)
	}
}

// A document that is closed has no other field, and none twice: which of two counts would be a guess.
func TestClosedDocuments(t *testing.T) {
	r := start(t, nil)
	const row = `[40,"Bath",true,null]`
	for _, path := range []string{"/explain", "/predict"} {
		for _, body := range []string{
			`{"rows":[` + row + `],"rows":[` + row + `]}`,
			`{"ROWS":[` + row + `]}`,
			`{"rows":[` + row + `],"Rows":[]}`,
			`{"rows":[` + row + `],"z":1,"Z":2}`,
			`{"rows":[` + row + `],"model":"shop","model":"other"}`,
			`{"rows":[` + row + `],"\u0072ows":[` + row + `]}`,
			`{"rows":[` + row + `],"unknown":["day"],"unknown":[]}`,
			`{"rows":[` + row + `],"unknown":[1]}`,
			`{"rows":[` + row + `],"unknown":"day"}`,
			`{"rows":[` + row + `],"top":"many"}`,
			`{"rows":[` + row + `],"other":1}`,
			`{"rows":[{"age":40,"town":"Bath","member":true,"day":null,"age":40}]}`,
		} {
			r.refused(t, body, path, []byte(body), []int{400})
		}
		r.asked(t, path, json.RawMessage(` {"\u0072ows" : [`+row+`], "z": 2, "top": null, "unknown": ["day"], "model": null} `))
	}
	// Protocols of others may have more fields; those that count may not be doubled either.
	r.refused(t, "doubled instances", "/v1/models/shop:predict", []byte(`{"instances":[`+row+`],"instances":[`+row+`]}`), []int{400})
	r.refused(t, "a doubled column", "/invocations", []byte(`{"inputs":{"age":[1],"age":[2],"town":["a"],"member":[true],"day":[null]}}`), []int{400})
	r.asked(t, "/v1/models/shop:predict", json.RawMessage(`{"instances":[`+row+`],"INSTANCES":1,"signature_name":"x","parameters":null}`))
}
