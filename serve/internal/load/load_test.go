package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/serve"
	"github.com/psi-shapley/psi/table"
)

// shop is rows of a CSV file that two models are of.
func shop() string {
	var text strings.Builder
	text.WriteString("age,town,pays\n")
	for i := range 400 {
		age := i%60 + 18
		pays := map[bool]string{true: "yes", false: "no"}[age*(1+i%4)+i%7 > 90]
		fmt.Fprintf(&text, "%d,%s,%s\n", age, []string{"Ayr", "Bath", "Cork", ""}[i%4], pays)
	}
	return text.String()
}

// trained are two model files, made once for all tests.
var trained = sync.OnceValues(func() (models [2][]byte, err error) {
	dir, err := os.MkdirTemp("", "psi-load")
	if err != nil {
		return models, err
	}
	defer os.RemoveAll(dir)
	for i, steps := range []int{5, 60} {
		rows, err := table.OpenReader(strings.NewReader(shop()), table.CSV, table.Options{})
		if err != nil {
			return models, err
		}
		m, err := psi.Train(context.Background(), rows, psi.Config{Target: "pays", Backend: "go", Change: func(s *psi.Settings) {
			s.Channels, s.Embedding, s.Bins, s.Frequencies, s.Width = 8, 8, 12, 4, 16
			s.Batch, s.Steps, s.RefitSteps, s.PolishSteps, s.SpreadSteps = 64, steps, 10, 10, 10
		}})
		if err != nil {
			return models, err
		}
		defer m.Close()
		path := filepath.Join(dir, "m.psi")
		if err := m.Save(path); err != nil {
			return models, err
		}
		if models[i], err = os.ReadFile(path); err != nil {
			return models, err
		}
	}
	return models, nil
})

// scene is a server and the files of a test.
type scene struct {
	dir, first, second, rows string
	token                    string
	flags                    []string
}

func start(t *testing.T) *scene {
	t.Helper()
	models, err := trained()
	check(t, err)
	s := &scene{dir: t.TempDir()}
	write := func(name string, content []byte) string {
		path := filepath.Join(s.dir, name)
		check(t, os.MkdirAll(filepath.Dir(path), 0o700))
		check(t, os.WriteFile(path, content, 0o600))
		return path
	}
	s.first, s.second, s.rows = write("shop.psi", models[0]), write("second.psi", models[1]), write("rows.csv", []byte(shop()))
	served := write("served/shop.psi", models[0])
	secret, line, err := serve.NewToken("tester", "infer,metrics")
	check(t, err)
	token, tokens := write("token", []byte(secret+"\n")), write("tokens", []byte(line+"\n"))
	ready := make(chan struct{})
	server, err := serve.New(t.Context(), serve.Config{
		Models: []string{filepath.Dir(served)}, PollInterval: 50 * time.Millisecond,
		HTTP: "127.0.0.1:0", GRPC: "127.0.0.1:0", Metrics: "127.0.0.1:0", TokenFile: tokens,
		Started: func() error { close(ready); return nil },
	})
	check(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		check(t, <-ended)
	})
	<-ready
	web, calls, metrics := server.Addresses()
	s.token = secret
	s.flags = []string{"-http", web, "-grpc", calls, "-metrics", metrics, "-replace", served, "-samples", filepath.Join(s.dir, "samples.csv"), "-token-file", token}
	return s
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ran runs a command and reads what it prints.
func ran[T any](t *testing.T, args ...string) *T {
	t.Helper()
	var out bytes.Buffer
	check(t, run(t.Context(), args, nil, &out))
	var v T
	check(t, json.Unmarshal(out.Bytes(), &v))
	return &v
}

func TestLoops(t *testing.T) {
	s := start(t)
	for _, f := range []form{gRPC, jsonForm, binaryForm, rowsForm} {
		for _, ask := range []string{"values", "attributions"} {
			args := slices.Concat([]string{"closed", "-form", string(f), "-ask", ask, "-warm", "50ms", "-for", "200ms", "-rows", "3", "-connections", "2", "-pid", fmt.Sprint(os.Getpid())}, s.flags, []string{s.first, s.rows})
			r := ran[result](t, args...)
			if r.Outcomes[answered] == 0 || len(r.Outcomes) != 1 || r.Rows != 3*r.Requests || r.P50 <= 0 || r.P50 > r.P99 || r.P99 > r.P999 {
				t.Errorf("%s %s: %+v", f, ask, r)
			}
		}
	}
	r := ran[result](t, slices.Concat([]string{"open", "-rate", "50", "-warm", "100ms", "-for", "1s", "-rows", "1"}, s.flags, []string{s.first, s.rows})...)
	if n := r.Outcomes[answered]; n < 35 || n > 60 {
		t.Errorf("%d requests in a second at a rate of 50: %+v", n, r)
	}
}

// A server that stands still for a while makes all requests late that were to start meanwhile, not just those it holds.
func TestNoRequestIsLeftOutWhileTheServerStands(t *testing.T) {
	s := start(t)
	var standing sync.Mutex
	var once sync.Once
	asked := 0
	stands := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		standing.Lock()
		defer standing.Unlock()
		if asked++; asked > 1 { // the first comes before the clock starts
			once.Do(func() { time.Sleep(500 * time.Millisecond) })
		}
		_, _ = w.Write([]byte("{}"))
	}))
	defer stands.Close()
	r := ran[result](t, "open", "-form", "json", "-http", stands.Listener.Addr().String(), "-rate", "100", "-warm", "0s", "-for", "1s", "-connections", "2", s.first, s.rows)
	if r.Outcomes[answered] < 90 || r.P99 < 400 || r.P50 > 300 {
		t.Errorf("a server that stood for half of a second: %+v", r)
	}
	var l log
	l.start = time.Now()
	paced(t.Context(), l.start.Add(500*time.Millisecond), func(time.Duration) float64 { return 100 }, func(i int, meant time.Time) {
		if late := time.Since(l.start); late < 300*time.Millisecond {
			time.Sleep(300*time.Millisecond - late)
		}
		l.add(meant, nil)
	})
	got := l.result(0, time.Second, 1)
	if n := got.Outcomes[answered]; n != 50 || got.P99 < 250 || got.P50 < 20 {
		t.Errorf("%d requests, p50 %.0f ms, p99 %.0f ms: want 50, about 50 and 300", n, got.P50, got.P99)
	}
}

func TestBare(t *testing.T) {
	s := start(t)
	c := ran[bareCost](t, "bare", "-warm", "10ms", "-for", "100ms", "-rows", "20", s.first, s.rows)
	for _, d := range depths() {
		if c.CPU[d.String()] <= 0 || c.Wall[d.String()] <= 0 {
			t.Errorf("%s: %+v", d, c)
		}
	}
}

func TestSoak(t *testing.T) {
	s := start(t)
	found := ran[soaked](t, slices.Concat([]string{"soak", "-for", "4s", "-every", "500ms", "-rate", "60", "-bursts", "0", "-slow", "3", "-aborted", "0.1"}, s.flags, []string{s.first, s.second, s.rows})...)
	for o := range found.Outcomes {
		if o != answered && o != cancelled && o != refused {
			t.Errorf("outcome %s: %+v", o, found)
		}
	}
	if found.Silent > 0 || found.Answers[0] == 0 || found.Answers[1] == 0 || found.Swaps < 4 || found.Aborted == 0 {
		t.Errorf("%+v", found)
	}
	samples, err := os.ReadFile(filepath.Join(s.dir, "samples.csv"))
	check(t, err)
	lines := strings.Split(strings.TrimSpace(string(samples)), "\n")
	if len(lines) < 3 || strings.Contains(lines[1], ",0,0,0,0,0,0,0") || strings.Count(lines[0], ",") != strings.Count(lines[1], ",") {
		t.Errorf("samples: %s", samples)
	}
}

// An answer of another model is found out, and so are attributions that do not sum to the prediction.
func TestWrongAnswers(t *testing.T) {
	s := start(t)
	set := &settings{place: s.first, seed: 1, connections: 1}
	set.http, set.grpc, set.token = s.flags[1], s.flags[3], s.token
	pool, err := mixture(t.Context(), set, []string{s.first, s.second, s.rows})
	check(t, err)
	c, err := dial(set)
	check(t, err)
	defer c.Close()
	for _, r := range pool {
		a, err := c.send(t.Context(), r)
		check(t, err)
		if model, err := r.check(a); err != nil || model != 0 {
			t.Fatalf("%s, %d rows: of model %d, %v", r.form, r.rows, model, err)
		}
		other := *r
		other.right = [][]float64{slices.Clone(r.right[1]), slices.Clone(r.right[0])}
		other.right[1][0] += .01 * (1 + max(other.right[1][0], -other.right[1][0]))
		if _, err := other.check(a); err == nil {
			t.Errorf("%s, %d rows: another prediction was taken for right", r.form, r.rows)
		}
		if !r.whole {
			continue
		}
		outputs, err := a.read(r.form)
		check(t, err)
		if sum := outputs["base"][0]; len(outputs["attribution_mean"]) != 2*r.rows*len(outputs["base"])/r.rows || sum == 0 {
			t.Errorf("%s: %d attributions of %d rows", r.form, len(outputs["attribution_mean"]), r.rows)
		}
	}
	if outcomeOf(&wrongError{os.ErrInvalid}) != wrong {
		t.Error("a wrong answer is not counted as one")
	}
}

func TestOutcomes(t *testing.T) {
	for want, err := range map[outcome]error{
		answered: nil, refused: &statusError{429, ""}, "HTTP 500": &statusError{500, ""}, cancelled: context.Canceled, late: status.Error(codes.DeadlineExceeded, ""),
		"gRPC Internal": status.Error(codes.Internal, ""), "broken: EOF": &url.Error{Op: "Post", URL: "http://127.0.0.1:40001", Err: io.EOF},
	} {
		if got := outcomeOf(err); got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
	if got := outcomeOf(status.Error(codes.ResourceExhausted, "")); got != refused {
		t.Errorf("exhausted: %s", got)
	}
}

func TestHostile(t *testing.T) {
	s := start(t)
	for kind, want := range map[string]string{"bytes": "ResourceExhausted", "bomb": "ResourceExhausted", "columns": "ResourceExhausted", "utf8": "InvalidArgument"} {
		r := ran[refusal](t, slices.Concat([]string{"hostile", "-bytes", map[bool]string{true: "100000", false: "70000000"}[kind == "columns"]}, s.flags, []string{kind})...)
		if r.Code != want {
			t.Errorf("%s: %+v, want %s", kind, r, want)
		}
	}
}

func TestSlowConnection(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	check(t, err)
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err == nil {
			_, _ = c.Read(make([]byte, 10))
			_, _ = c.Write([]byte("HTTP/1.1 408 Request Timeout\r\n\r\n"))
			_ = c.Close()
		}
	}()
	if end := crawlOnce(t.Context(), l.Addr().String(), "GET", "slowly"); !strings.HasPrefix(end, "HTTP 408") {
		t.Errorf("it ended %s", end)
	}
}

func TestRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"usage": {}, "takes 2": {"closed", "m.psi"}, "none of grpc": {"closed", "-form", "xml", "m", "r"}, "above 0": {"open", "-rows", "0", "m", "r"},
		"--rate": {"open", "-grpc", "x", "m", "r"}, "address": {"closed", "m", "r"}, "--samples": {"soak", "a", "b", "r"}, "none of bytes": {"hostile", "kind"},
	} {
		if err := run(t.Context(), args, nil, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one that says %s", args, err, want)
		}
	}
}
