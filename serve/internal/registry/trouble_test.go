package registry_test

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // as S3 makes ETags
	"errors"
	"fmt"
	"html"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/artifact"
	"github.com/psi-shapley/psi/serve/internal/registry"
	"github.com/psi-shapley/psi/table"
)

// bucket is an S3 server of one bucket that fails as it is told.
type bucket struct {
	url string

	mu      sync.Mutex
	objects map[string][]byte
	down    bool            // answers 503, to everything
	refuses map[string]bool // keys whose content is a 503
	stalls  map[string]bool // keys whose content stops in the middle
	gets    map[string]int  // of the content, by key
}

func newBucket(t *testing.T) *bucket {
	t.Helper()
	b := &bucket{objects: map[string][]byte{}, refuses: map[string]bool{}, stalls: map[string]bool{}, gets: map[string]int{}}
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { b.serve(w, r, ended) }))
	t.Cleanup(func() {
		close(ended)
		server.Close()
	})
	b.url = "s3://b/m/?endpoint=" + server.URL + "&use_path_style=true&region=us-east-1&anonymous=true"
	return b
}

// change does something to the bucket between its answers.
func (b *bucket) change(do func(b *bucket)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	do(b)
}

func (b *bucket) serve(w http.ResponseWriter, r *http.Request, ended <-chan struct{}) {
	b.mu.Lock()
	key := strings.TrimPrefix(r.URL.Path, "/b/")
	list := strings.TrimSuffix(r.URL.Path, "/") == "/b"
	content, has := b.objects[key]
	if !list && r.Method == http.MethodGet {
		b.gets[key]++
	}
	refused := b.down || b.refuses[key] && r.Method == http.MethodGet
	stalls := b.stalls[key] && r.Method == http.MethodGet
	listing := b.listing(r.URL.Query().Get("prefix"))
	b.mu.Unlock()
	switch {
	case refused:
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprint(w, `<Error><Code>SlowDown</Code><Message>try later</Message></Error>`)
	case list:
		w.Header().Set("Content-Type", "application/xml")
		_, _ = fmt.Fprint(w, listing)
	case !has:
		w.WriteHeader(http.StatusNotFound)
	case stalls:
		w.Header().Set("ETag", etag(content))
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		_, _ = w.Write(content[:1000])
		w.(http.Flusher).Flush()
		select {
		case <-ended:
		case <-r.Context().Done():
		}
	default:
		w.Header().Set("ETag", etag(content))
		http.ServeContent(w, r, "", time.Unix(1, 0), bytes.NewReader(content))
	}
}

func etag(content []byte) string { return fmt.Sprintf(`"%x"`, md5.Sum(content)) } //nolint:gosec // as S3 makes them

func (b *bucket) listing(prefix string) string {
	var x strings.Builder
	x.WriteString(`<?xml version="1.0"?><ListBucketResult><Name>b</Name><IsTruncated>false</IsTruncated>`)
	for _, key := range slices.Sorted(maps.Keys(b.objects)) {
		if strings.HasPrefix(key, prefix) {
			fmt.Fprintf(&x, `<Contents><Key>%s</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>%s</ETag><Size>%d</Size></Contents>`,
				key, html.EscapeString(etag(b.objects[key])), len(b.objects[key]))
		}
	}
	x.WriteString(`</ListBucketResult>`)
	return x.String()
}

// A bucket that is down for a while leaves no mark: what it could not give is tried again, and until then the registry is not
// ready.
func TestPassingFailuresAreTriedAgain(t *testing.T) {
	b := newBucket(t)
	b.change(func(b *bucket) { b.objects["m/m.psi"], b.down = models()[0], true })
	reg, seen := watch(t, func(o *registry.Options) { o.ReadTimeout = 10 * time.Second }, b.url)
	eventually(t, "the bucket's failure is reported", func() bool { return seen.unlisted.Load() > 0 })
	if reg.Ready() == nil {
		t.Error("ready before a place has answered")
	}
	b.change(func(b *bucket) { b.down, b.refuses["m/m.psi"] = false, true })
	check(t, reg.First(t.Context()))
	eventually(t, "a load fails", func() bool { return seen.failed.Load() > 0 })
	if reg.Ready() == nil || len(reg.Names()) > 0 {
		t.Error("ready without the only model there is")
	}
	b.change(func(b *bucket) { b.refuses = nil })
	eventually(t, "the model is loaded in the end", func() bool { return reg.Ready() == nil })
	leased(t, reg, "m", "", "")
	if list := reg.Index(); len(list) != 1 || list[0].State != registry.Ready {
		t.Errorf("%v", list)
	}
	for _, told := range seen.told() {
		if !strings.Contains(told, "SlowDown") || strings.HasSuffix(told, "again 0s") {
			t.Error(told)
		}
	}

	b.change(func(b *bucket) { b.down = true }) // what is loaded stays, and the registry is ready
	time.Sleep(100 * time.Millisecond)
	leased(t, reg, "m", "", "")
	check(t, reg.Ready())
}

// Pauses between loads that fail grow; content that is damaged is not read again until it changes, unless Load asks.
func TestPausesGrowAndDamageIsRemembered(t *testing.T) {
	b := newBucket(t)
	b.change(func(b *bucket) {
		b.objects["m/refused.psi"], b.refuses["m/refused.psi"] = models()[0], true
		b.objects["m/damaged.psi"] = models()[0][:1000]
		b.objects["m/good.psi"] = models()[0]
	})
	reg, seen := watch(t, func(o *registry.Options) { o.PollInterval = 100 * time.Millisecond }, b.url)
	check(t, reg.First(t.Context()))
	check(t, reg.Ready()) // one model answers
	eventually(t, "three loads fail", func() bool { return seen.failed.Load() >= 4 })
	var pauses []string
	for _, told := range seen.told() {
		if name, pause, _ := strings.Cut(told, ", again "); strings.HasPrefix(name, "refused") {
			pauses = append(pauses, pause)
		} else if pause != "0s" {
			t.Error(told)
		}
	}
	if want := "[100ms 200ms 400ms]"; fmt.Sprint(pauses[:3]) != want {
		t.Errorf("pauses %v, want %s", pauses, want)
	}
	gets := func(key string) (n int) {
		b.change(func(b *bucket) { n = b.gets[key] })
		return n
	}
	if n := gets("m/damaged.psi"); n != 1 {
		t.Errorf("a damaged file was read %d times", n)
	}
	if err := reg.Load(t.Context(), "damaged"); err == nil || gets("m/damaged.psi") != 2 {
		t.Errorf("Load does not try again: %v", err)
	}
	b.change(func(b *bucket) { b.refuses = nil })
	check(t, reg.Load(t.Context(), "refused")) // whatever pause there is
	b.change(func(b *bucket) { b.objects["m/damaged.psi"] = models()[1] })
	eventually(t, "the mended file", func() bool { return len(reg.Names()) == 3 })
}

// An object whose content stalls keeps no other from being loaded, unloaded or loaded on request, fails in its time, and
// does not hold up the end.
func TestStalledObject(t *testing.T) {
	b := newBucket(t)
	b.change(func(b *bucket) {
		b.objects["m/a.psi"], b.stalls["m/a.psi"] = models()[0], true
		b.objects["m/b.psi"] = models()[0]
	})
	reg, seen := watch(t, func(o *registry.Options) { o.ReadTimeout = 3 * time.Second }, b.url)
	eventually(t, "the other model", func() bool { return len(reg.Names()) == 1 })
	if seen.failed.Load() > 0 {
		t.Error("it was waited for the time of the one that stalls")
	}
	soon, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	b.change(func(b *bucket) { b.objects["m/c.psi"] = models()[1] })
	check(t, reg.Load(soon, "c"))
	check(t, reg.Unload("b"))
	check(t, reg.Load(soon, "b"))
	eventually(t, "it fails in its time", func() bool { return seen.failed.Load() > 0 })
	if told := seen.told()[0]; !strings.Contains(told, "reading took longer than 3s") {
		t.Error(told)
	}
	check(t, reg.First(t.Context()))
	b.change(func(b *bucket) { b.stalls = nil })
	eventually(t, "it is loaded once it answers", func() bool { return len(reg.Names()) == 3 })
}

// The end does not wait for what is being read.
func TestCloseDoesNotWaitForReads(t *testing.T) {
	b := newBucket(t)
	b.change(func(b *bucket) { b.objects["m/a.psi"], b.stalls["m/a.psi"] = models()[0], true })
	reg, err := registry.New(registry.Options{Locations: []string{b.url}, Backend: "auto", PollInterval: 20 * time.Millisecond, Observer: &events{}})
	check(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	go reg.Watch(ctx)
	eventually(t, "it is read", func() (reading bool) {
		b.change(func(b *bucket) { reading = b.gets["m/a.psi"] > 0 })
		return reading
	})
	cancel()
	start := time.Now()
	ending, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	check(t, reg.Close(ending))
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

// A single file that is named must answer for the registry to be ready, unless it was unloaded; one that is damaged or missing
// ends the first look with an error.
func TestReadiness(t *testing.T) {
	directory := t.TempDir()
	put(t, directory, "m.psi", models()[0])
	path := filepath.Join(directory, "m.psi")
	empty := t.TempDir()
	reg, _ := watch(t, nil, path, empty)
	check(t, reg.First(t.Context()))
	check(t, reg.Ready())
	check(t, reg.Unload("m"))
	check(t, reg.Ready())
	check(t, reg.Load(t.Context(), "m"))
	put(t, empty, "other.psi", models()[1])
	eventually(t, "the other model", func() bool { return len(reg.Names()) == 2 })
	check(t, os.Remove(path))
	eventually(t, "a file that was named is gone", func() bool { return reg.Ready() != nil })
	put(t, directory, "m.psi", models()[1])
	eventually(t, "it is back", func() bool { return reg.Ready() == nil })

	none, _ := watch(t, nil, t.TempDir())
	check(t, none.First(t.Context()))
	check(t, none.Ready()) // there is nothing that should answer

	broken := t.TempDir()
	put(t, broken, "m.psi", []byte("broken"))
	g, _ := watch(t, nil, broken)
	check(t, g.First(t.Context()))
	if g.Ready() == nil {
		t.Error("ready though the only file is broken")
	}
	put(t, broken, "good.psi", models()[0])
	eventually(t, "one model answers", func() bool { return g.Ready() == nil })
}

// builds is an observer that sees how many models are built at once, and holds up those named so until it is told.
type builds struct {
	events
	now  atomic.Int64
	held chan struct{}

	pair     chan struct{} // closed when two are built at once, which the first waits for
	counting sync.Mutex
	met      bool
	most     int64
}

func (b *builds) Prepare(v *registry.Version) (any, error) {
	defer b.now.Add(-1)
	b.counting.Lock()
	b.most = max(b.most, b.now.Add(1))
	first := !b.met
	if b.most > 1 && first {
		b.met = true
		close(b.pair)
	}
	b.counting.Unlock()
	if first && runtime.GOMAXPROCS(0) > 1 {
		select {
		case <-b.pair:
		case <-time.After(20 * time.Second):
		}
	}
	if strings.HasPrefix(v.Name, "held") {
		<-b.held
	}
	return nil, nil //nolint:nilnil // there is nothing to keep
}

// As many models are built at once as there are cores; one that is asked for does not wait for them.
func TestModelsAreBuiltAtOnce(t *testing.T) {
	directory := t.TempDir()
	cores := runtime.GOMAXPROCS(0)
	for i := range 2 * cores {
		put(t, directory, fmt.Sprintf("m%d.psi", i), models()[0])
	}
	seen := &builds{held: make(chan struct{}), pair: make(chan struct{})}
	reg, _ := watch(t, func(o *registry.Options) { o.Observer = seen }, directory)
	check(t, reg.First(t.Context()))
	seen.counting.Lock()
	if n := seen.most; n > int64(cores) || n < int64(min(2, cores)) {
		t.Errorf("%d models were built at once by %d cores", n, cores)
	}
	seen.counting.Unlock()
	for i := range cores {
		put(t, directory, fmt.Sprintf("held%d.psi", i), models()[0])
	}
	eventually(t, "all cores build", func() bool { return seen.now.Load() == int64(cores) })
	time.Sleep(50 * time.Millisecond)
	put(t, directory, "wanted.psi", models()[1])
	soon, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	check(t, reg.Load(soon, "wanted"))
	check(t, reg.Unload("m0"))
	close(seen.held)
}

// overflowing is the file of a model of columns x and z whose answer is infinite where x is low and z is high, which
// loading it does not see.
func overflowing(t *testing.T) []byte {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 0))
	columns := [3][]float64{}
	for range 200 {
		for k := range columns {
			columns[k] = append(columns[k], rng.NormFloat64())
		}
	}
	rows, err := table.New(table.NumberColumn("x", columns[0], nil), table.NumberColumn("z", columns[1], nil), table.NumberColumn("y", columns[2], nil))
	check(t, err)
	m, err := psi.Train(t.Context(), rows.Source(), psi.Config{Target: "y", Backend: "go", Change: func(s *psi.Settings) {
		s.Channels, s.Embedding, s.Bins, s.Frequencies, s.Hidden = 1, 1, 4, 0, 0
		s.Batch, s.Steps, s.RefitSteps, s.SpreadSteps = 64, 5, 1, 1
	}})
	check(t, err)
	defer m.Close()
	path := filepath.Join(t.TempDir(), "m.psi")
	check(t, m.Save(path))
	file, _, err := artifact.ReadFile(path, artifact.Model)
	check(t, err)
	tensors, err := artifact.DecodeTensors(file.Parts["weights.safetensors"])
	check(t, err)
	for name, value := range map[string][]float32{ // factors of 2 in the first bin of x, and from the second bin of z on; else of 1
		"bins": {-1, -1, -1, -1, 1, 1, 1, 1}, "bins_bias": {1, 0}, "slope": {0, 0}, "factor": {10, 10}, "factor_bias": {0, 0}, "factor_absent": {0, 0},
		"channel": {1.5e38}, "sigma_context": make([]float32, 16),
	} {
		if copy(tensors["0/"+name].Floats, value) != len(value) || len(tensors["0/"+name].Floats) != len(value) {
			t.Fatalf("%s has other dimensions", name)
		}
	}
	file.Parts["weights.safetensors"], err = artifact.EncodeTensors(tensors)
	check(t, err)
	var out bytes.Buffer
	check(t, artifact.Write(&out, file))
	return out.Bytes()
}

// A request whose answer is not finite fails, with the row; those that share its passes are answered.
func TestRowsThatOverflowFailTheirRequestAlone(t *testing.T) {
	directory := t.TempDir()
	check(t, os.WriteFile(filepath.Join(directory, "m.psi"), overflowing(t), 0o600))
	reg, seen := open(t, directory, nil)
	v, err := reg.Lease("m", "", "")
	check(t, err)
	defer v.Release()
	ask := func(x, z []float64) error {
		rows, err := table.New(table.NumberColumn("x", x, nil), table.NumberColumn("z", z, nil))
		check(t, err)
		_, err = v.Ask(context.WithoutCancel(t.Context()), rows, nil, psi.Attributions)
		return err
	}
	var asking sync.WaitGroup
	var answered, refused atomic.Int64
	for i := range 300 {
		asking.Go(func() {
			if i%3 > 0 {
				if err := ask([]float64{-9, 9, 9}, []float64{-9, -9, 9}); err != nil {
					t.Error(err)
				}
				answered.Add(1)
				return
			}
			err := ask([]float64{9, -9}, []float64{9, 9})
			if at, is := errors.AsType[*table.Error](err); !is || at.Row != 1 {
				t.Errorf("%v, want an error of row 1", err)
			}
			refused.Add(1)
		})
	}
	asking.Wait()
	t.Logf("%d requests answered, %d refused, in %d passes", answered.Load(), refused.Load(), seen.passes.Load())
}
