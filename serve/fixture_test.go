package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/serve/internal/oip/inference"
	"github.com/psi-shapley/psi/table"
)

// people are rows of all kinds of columns, some cells missing, and whether somebody buys.
func people(n int, seed uint64) *table.Table {
	rng := rand.New(rand.NewPCG(seed, 0))
	age, member, day := make([]float64, n), make([]bool, n), make([]time.Time, n)
	town, buys := make([]string, n), make([]string, n)
	here := make([]bool, n)
	for i := range n {
		age[i], member[i], here[i] = float64(rng.IntN(80)), rng.IntN(2) == 0, rng.IntN(10) > 0
		day[i] = time.Date(2026, 1, 1+rng.IntN(300), 0, 0, 0, 0, time.UTC)
		town[i] = []string{"Ayr", "Bath", "Cork"}[rng.IntN(3)]
		buys[i] = "no"
		if age[i]+20*rng.NormFloat64() > 40 && town[i] != "Cork" {
			buys[i] = "yes"
		}
	}
	t, err := table.New(table.NumberColumn("age", age, here), table.CategoryColumn("town", town, nil), table.BooleanColumn("member", member, nil),
		table.TimeColumn("day", day, nil), table.CategoryColumn("buys", buys, nil))
	if err != nil {
		panic(err)
	}
	return t
}

// trained is a model file, made once for all tests.
var trained = sync.OnceValues(func() ([]byte, error) {
	m, err := psi.Train(context.Background(), people(300, 1).Source(), psi.Config{Target: "buys", Positive: "yes", Backend: "go", Change: func(s *psi.Settings) {
		s.Channels, s.Embedding, s.Bins, s.Frequencies, s.Width = 8, 8, 12, 4, 16
		s.Batch, s.Steps, s.RefitSteps, s.PolishSteps, s.SpreadSteps = 64, 40, 10, 10, 10
	}})
	if err != nil {
		return nil, err
	}
	defer m.Close()
	directory, err := os.MkdirTemp("", "psi-serve")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(directory)
	path := filepath.Join(directory, "m.psi")
	if err := m.Save(path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// running is a server under test.
type running struct {
	*Server
	url     string
	calls   inference.GRPCInferenceServiceClient
	dialled *grpc.ClientConn // that calls go over
	model   *psi.Model       // the same as is served
	dir     string           // of the models
	log     *lockedBuffer
	stop    func() // ends the server and waits for it
}

// lockedBuffer takes log lines from any goroutine.
type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

// start runs a server of one model, "shop", until the test ends. It is ready.
func start(t *testing.T, change func(c *Config)) *running {
	t.Helper()
	r := begin(t, change)
	for r.Server.ready() != nil {
		time.Sleep(time.Millisecond)
	}
	return r
}

// begin is start of a server that is not ready yet.
func begin(t *testing.T, change func(c *Config)) *running {
	t.Helper()
	content, err := trained()
	check(t, err)
	r := &running{dir: modelIn(t, content), log: &lockedBuffer{}}
	c := Config{
		Models: []string{r.dir}, HTTP: "127.0.0.1:0", GRPC: "127.0.0.1:0", Metrics: "127.0.0.1:0",
		MaxWait:      time.Minute, // else a slow machine would refuse requests
		PollInterval: 50 * time.Millisecond, Drain: 5 * time.Second, Log: slog.New(slog.NewTextHandler(r.log, nil)),
	}
	if change != nil {
		change(&c)
	}
	r.Server, err = New(t.Context(), c)
	check(t, err)
	r.begin(t)
	web, calls, _ := r.Addresses()
	r.url = "http://" + web
	connection, err := grpc.NewClient(calls, grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(t, err)
	r.calls, r.dialled = inference.NewGRPCInferenceServiceClient(connection), connection
	r.model, err = psi.OpenOptions{}.Decode("shop.psi", content)
	check(t, err)
	t.Cleanup(func() {
		check(t, connection.Close())
		http.DefaultClient.CloseIdleConnections()
		r.stop()
		r.model.Close()
	})
	return r
}

// modelIn writes the model "shop" into a new directory.
func modelIn(t *testing.T, content []byte) (dir string) {
	t.Helper()
	dir = t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "shop.psi"), content, 0o600))
	return dir
}

// begin runs the server until stop is called.
func (r *running) begin(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	var once sync.Once
	r.stop = func() {
		once.Do(func() {
			cancel()
			check(t, <-ended)
		})
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sent is the answer to a request; headers are pairs of name and value.
func (r *running) sent(t *testing.T, method, path string, body []byte, headers ...string) (status int, answer []byte, header http.Header) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, r.url+path, bytes.NewReader(body))
	check(t, err)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	check(t, err)
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	check(t, err)
	return response.StatusCode, answer, response.Header
}

// asked is the answer to a request that must succeed, as JSON.
func (r *running) asked(t *testing.T, path string, body any) map[string]any {
	t.Helper()
	text, err := json.Marshal(body)
	check(t, err)
	status, answer, _ := r.sent(t, http.MethodPost, path, text)
	if status != http.StatusOK {
		t.Fatalf("%s: %d %s", path, status, answer)
	}
	var object map[string]any
	check(t, json.Unmarshal(answer, &object))
	return object
}

// crowded sends 100 requests to /explain at once, more than the queue takes. Some must be answered, and the others refused
// with a time to try again.
func (r *running) crowded(t *testing.T, body []byte) {
	t.Helper()
	var mu sync.Mutex
	counts := map[int]int{}
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			response, err := http.Post(r.url+"/explain", jsonType, bytes.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			defer response.Body.Close()
			if response.StatusCode == 429 && response.Header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
			_, _ = io.Copy(io.Discard, response.Body)
			mu.Lock()
			defer mu.Unlock()
			counts[response.StatusCode]++
		})
	}
	all.Wait()
	t.Log(counts)
	if counts[200] == 0 || counts[429] == 0 || counts[200]+counts[429] != 100 {
		t.Errorf("%v", counts)
	}
}

// explained is the explanation that answers a request, from any goroutine.
func (r *running) explained(body []byte) (*explain.Explanation, error) {
	response, err := http.Post(r.url+"/explain", jsonType, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%d %s", response.StatusCode, answer)
	}
	return explain.ReadJSON(bytes.NewReader(answer))
}

// objects are rows as JSON has them.
func objects(rows *table.Table) []map[string]any {
	list := make([]map[string]any, rows.Rows())
	for i := range list {
		list[i] = map[string]any{}
		for _, c := range rows.Columns[:4] {
			list[i][c.Name] = cell(c, i)
		}
	}
	return list
}

func cell(c *table.Column, row int) any {
	switch {
	case !c.Observed[row]:
		return nil
	case c.Kind == table.Number:
		return c.Numbers[row]
	case c.Kind == table.Boolean:
		return c.Numbers[row] == 1
	}
	return c.Text(row)
}

// lists are rows as lists of cells.
func lists(rows *table.Table) [][]any {
	list := make([][]any, rows.Rows())
	for i := range list {
		for _, c := range rows.Columns[:4] {
			list[i] = append(list[i], cell(c, i))
		}
	}
	return list
}

// numbers are those of a JSON list, flattened.
func numbers(t *testing.T, v any) []float64 {
	t.Helper()
	switch v := v.(type) {
	case nil:
		return []float64{0}
	case float64:
		return []float64{v}
	case []any:
		var all []float64
		for _, x := range v {
			all = append(all, numbers(t, x)...)
		}
		return all
	}
	t.Fatalf("%v (%T) is no number", v, v)
	return nil
}

// near compares lists up to single precision.
func near(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i := range want {
		if d := got[i] - want[i]; !(d <= 2e-6*(1+abs(want[i])) && -d <= 2e-6*(1+abs(want[i]))) {
			t.Fatalf("%s: number %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

func abs(x float64) float64 {
	if x < 0 {
		return -x
	}
	return x
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not in time: " + what)
		}
	}
}

func repeat(text string, n int) []byte { return bytes.Repeat([]byte(text), n) }

func sprint(v any) string { return fmt.Sprint(v) }
