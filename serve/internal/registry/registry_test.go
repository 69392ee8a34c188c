package registry_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/store"
	"github.com/psi-shapley/psi/serve/internal/registry"
	"github.com/psi-shapley/psi/table"
)

// numbers are rows whose y is about slope times x.
func numbers(n int, slope float64) *table.Table {
	rng := rand.New(rand.NewPCG(1, 0))
	x, y := make([]float64, n), make([]float64, n)
	for i := range n {
		x[i] = rng.NormFloat64()
		y[i] = slope*x[i] + .1*rng.NormFloat64()
	}
	t, err := table.New(table.NumberColumn("x", x, nil), table.NumberColumn("y", y, nil))
	if err != nil {
		panic(err)
	}
	return t
}

// models are files of two models that disagree, made once.
var models = sync.OnceValue(func() [2][]byte {
	var files [2][]byte
	directory, err := os.MkdirTemp("", "psi-registry")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(directory)
	for i, slope := range []float64{1, -1} {
		m, err := psi.Train(context.Background(), numbers(200, slope).Source(), psi.Config{Target: "y", Backend: "go", Change: func(s *psi.Settings) {
			s.Channels, s.Embedding, s.Bins, s.Frequencies, s.Width = 4, 4, 6, 2, 8
			s.Batch, s.Steps, s.RefitSteps, s.PolishSteps, s.SpreadSteps = 64, 150, 5, 5, 5
		}})
		if err != nil {
			panic(err)
		}
		path := filepath.Join(directory, "m.psi")
		if err := m.Save(path); err != nil {
			panic(err)
		}
		m.Close()
		if files[i], err = os.ReadFile(path); err != nil {
			panic(err)
		}
	}
	return files
})

// events counts what an observer is told.
type events struct {
	loaded, unloaded, failed, unlisted, passes, requests atomic.Int64
	waiting                                              atomic.Int64
	takes                                                time.Duration // a pass, longer than rows alone would

	mu       sync.Mutex
	failures []string
}

func (e *events) Prepare(*registry.Version) (any, error) { return nil, nil } //nolint:nilnil // there is nothing to keep
func (e *events) Passing(_ *registry.Version, p registry.Pass) func(error) {
	e.passes.Add(1)
	e.requests.Add(int64(len(p.Requests)))
	return func(error) { time.Sleep(e.takes) }
}
func (e *events) Waiting(_ *registry.Version, rows int) { e.waiting.Store(int64(rows)) }
func (e *events) Loaded(*registry.Version)              { e.loaded.Add(1) }
func (e *events) Unloaded(*registry.Version)            { e.unloaded.Add(1) }
func (e *events) Unlisted(error)                        { e.unlisted.Add(1) }
func (e *events) Failed(name, version string, err error, pause time.Duration) {
	e.failed.Add(1)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failures = append(e.failures, fmt.Sprintf("%s@%s: %v, again %v", name, version, err, pause))
}

// told is what was reported of files that failed.
func (e *events) told() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.failures)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// put writes a file so that it appears whole.
func put(t *testing.T, directory, name string, content []byte) {
	t.Helper()
	draft := filepath.Join(t.TempDir(), name)
	check(t, os.WriteFile(draft, content, 0o600))
	check(t, os.Rename(draft, filepath.Join(directory, name)))
}

// open is a registry of a directory, watched, whose first look has ended.
func open(t *testing.T, directory string, change func(o *registry.Options)) (*registry.Registry, *events) {
	t.Helper()
	reg, seen := watch(t, change, directory)
	check(t, reg.First(t.Context()))
	return reg, seen
}

// watch is a registry of locations that is watched until the test ends.
func watch(t *testing.T, change func(o *registry.Options), locations ...string) (*registry.Registry, *events) {
	t.Helper()
	seen := &events{}
	o := registry.Options{Locations: locations, Backend: "auto", PollInterval: 20 * time.Millisecond, Observer: seen, Limits: registry.Limits{Rows: 10_000, Wait: time.Minute}}
	if change != nil {
		change(&o)
	}
	reg, err := registry.New(o)
	check(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() { reg.Watch(ctx) })
	t.Cleanup(func() {
		cancel()
		watching.Wait()
		ending, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		check(t, reg.Close(ending))
	})
	return reg, seen
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not in time: " + what)
		}
	}
}

// slope is the sign of what a version learned: its answer at x = 1.
func slope(ctx context.Context, v *registry.Version) (float64, error) {
	return slopes(ctx, v, 1)
}

// slopes is slope, asked with that many rows.
func slopes(ctx context.Context, v *registry.Version, rows int) (float64, error) {
	one, err := table.New(table.NumberColumn("x", slices.Repeat([]float64{1}, rows), nil))
	if err != nil {
		return 0, err
	}
	a, err := v.Ask(ctx, one, nil, psi.Values)
	if err != nil {
		return 0, err
	}
	if a.Prediction().Mean[0] > 0 {
		return 1, nil
	}
	return -1, nil
}

func leased(t *testing.T, reg *registry.Registry, name, version, id string) float64 {
	t.Helper()
	v, err := reg.Lease(name, version, id)
	check(t, err)
	defer v.Release()
	s, err := slope(t.Context(), v)
	check(t, err)
	return s
}

// While versions are swapped again and again under load, every request is answered, by one of the two.
func TestSwapsDropNothing(t *testing.T) {
	directory := t.TempDir()
	put(t, directory, "m.psi", models()[0])
	reg, seen := open(t, directory, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var requests sync.WaitGroup
	var answered atomic.Int64
	for range 8 {
		requests.Go(func() {
			for ctx.Err() == nil {
				v, err := reg.Lease("m", "", "")
				if err != nil {
					t.Error(err)
					return
				}
				_, err = slope(context.WithoutCancel(ctx), v)
				v.Release()
				if err != nil {
					t.Error(err)
					return
				}
				answered.Add(1)
			}
		})
	}
	for i := range 6 {
		put(t, directory, "m.psi", models()[(i+1)%2])
		eventually(t, "a swap", func() bool { return seen.loaded.Load() == int64(i+2) })
		want := []float64{1, -1}[(i+1)%2]
		if got := leased(t, reg, "m", "", ""); got != want {
			t.Errorf("after swap %d the slope is %v", i, got)
		}
	}
	cancel()
	requests.Wait()
	eventually(t, "old versions are freed", func() bool { return seen.unloaded.Load() == 6 })
	t.Logf("%d requests answered in %d passes, %d swaps", answered.Load(), seen.passes.Load(), 6)
}

// A broken file is refused once, and what was served before still is, until a good one comes.
func TestBrokenModelNeverReplacesAGoodOne(t *testing.T) {
	directory := t.TempDir()
	put(t, directory, "m.psi", models()[0])
	reg, seen := open(t, directory, nil)
	broken := append([]byte{}, models()[1]...)
	broken[len(broken)/2] ^= 1
	for i, content := range [][]byte{broken, models()[1][:1000], nil, []byte("text")} {
		put(t, directory, "m.psi", content)
		eventually(t, "the broken file is seen", func() bool { return seen.failed.Load() == int64(i+1) })
		if leased(t, reg, "m", "", "") != 1 {
			t.Error("the good model is gone")
		}
	}
	time.Sleep(100 * time.Millisecond)
	if n := seen.failed.Load(); n != 4 {
		t.Errorf("a broken file was tried again: %d failures", n)
	}
	put(t, directory, "new@2.psi", broken)
	eventually(t, "the index tells", func() bool {
		for _, s := range reg.Index() {
			if s.Name == "new" && s.State == registry.Unavailable && s.Version == "2" {
				return true
			}
		}
		return false
	})
	put(t, directory, "m.psi", models()[1])
	eventually(t, "the good file", func() bool { return leased(t, reg, "m", "", "") == -1 })
}

// Versions: the highest answers, labels and splits say otherwise, files that go take their version with them.
func TestVersionsAndRules(t *testing.T) {
	directory := t.TempDir()
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	check(t, os.WriteFile(rules, []byte("models: {}\n"), 0o600))
	put(t, directory, "m@2.psi", models()[0])
	put(t, directory, "m@10.psi", models()[1])
	reg, seen := open(t, directory, func(o *registry.Options) { o.Rules = rules })
	if leased(t, reg, "m", "", "") != -1 || leased(t, reg, "m", "2", "") != 1 || leased(t, reg, "", "", "") != -1 {
		t.Error("the highest version does not answer, or 2 is not 2")
	}
	rewrite := func(text string) {
		t.Helper()
		check(t, os.WriteFile(rules, []byte(text), 0o600))
		check(t, os.Chtimes(rules, time.Now(), time.Now()))
	}
	rewrite("models: {m: {labels: {stable: '2', next: '10'}, default: stable, shadow: next}}\n")
	eventually(t, "the default of the rules", func() bool { return leased(t, reg, "m", "", "") == 1 })
	if leased(t, reg, "m", "next", "") != -1 {
		t.Error("a label does not stand for its version")
	}
	v, err := reg.Lease("m", "", "")
	check(t, err)
	if shadow := reg.Shadow(v); shadow == nil || shadow.Version != "10" {
		t.Errorf("the shadow is %v", shadow)
	} else {
		shadow.Release()
	}
	v.Release()
	rewrite("models: {m: {split: {'2': 90, '10': 10}}}\n")
	eventually(t, "the split", func() bool {
		a, err := reg.Lease("m", "", "")
		check(t, err)
		defer a.Release()
		return a.Version == "10"
	})
	count, same := 0, 0
	for i := range 2000 {
		id := fmt.Sprint("request ", i)
		a, err := reg.Lease("m", "", id)
		check(t, err)
		b, err := reg.Lease("m", "", id)
		check(t, err)
		if a.Version == "10" {
			count++
		}
		if a == b {
			same++
		}
		a.Release()
		b.Release()
	}
	if count < 140 || count > 260 || same != 2000 { // 200 are expected; 4.5 standard deviations are 60
		t.Errorf("%d of 2,000 went to a version of weight 10 %%, %d of one id to one version", count, same)
	}
	rewrite("models: {m: {split: {'2': -1}}}\n") // broken rules change nothing
	check(t, os.Remove(filepath.Join(directory, "m@10.psi")))
	eventually(t, "the version of a file that is gone", func() bool { return seen.unloaded.Load() == 1 })
	if _, err := reg.Lease("m", "10", ""); !isMissing(err) {
		t.Errorf("%v", err)
	}
	if leased(t, reg, "m", "", "") != 1 {
		t.Error("the version that is left does not answer")
	}
}

func isMissing(err error) bool {
	_, is := errors.AsType[*registry.NotFoundError](err)
	return is
}

// A model that was unloaded stays so until it is loaded.
func TestLoadAndUnload(t *testing.T) {
	directory := t.TempDir()
	put(t, directory, "m.psi", models()[0])
	reg, _ := open(t, directory, nil)
	check(t, reg.Unload("m"))
	time.Sleep(100 * time.Millisecond)
	if _, err := reg.Lease("m", "", ""); !isMissing(err) {
		t.Errorf("%v", err)
	}
	if err := reg.Unload("m"); !isMissing(err) {
		t.Errorf("%v", err)
	}
	check(t, reg.Load(t.Context(), "m"))
	leased(t, reg, "m", "", "")
	if err := reg.Load(t.Context(), "other"); !isMissing(err) {
		t.Errorf("%v", err)
	}
	put(t, directory, "m@2.psi", []byte("broken"))
	if err := reg.Load(t.Context(), "m"); err == nil {
		t.Error("a broken version is loaded")
	}
}

// A single file must be there and be good.
func TestSingleFiles(t *testing.T) {
	directory := t.TempDir()
	put(t, directory, "m.psi", models()[0])
	put(t, directory, "other.psi", models()[1])
	reg, _ := open(t, filepath.Join(directory, "m.psi"), nil)
	if names := reg.Names(); len(names) != 1 || names[0] != "m" {
		t.Errorf("%v", names)
	}
	put(t, directory, "broken.psi", []byte("broken"))
	for _, location := range []string{filepath.Join(directory, "none.psi"), filepath.Join(directory, "broken.psi"), filepath.Join(directory, "none"), "nowhere://bucket"} {
		reg, _ := watch(t, nil, location)
		if err := reg.First(t.Context()); err == nil || reg.Ready() == nil {
			t.Errorf("%s is taken", location)
		}
	}
	bucket, _ := open(t, "file://"+directory, nil)
	if names := bucket.Names(); len(names) != 2 {
		t.Errorf("%v", names)
	}
}

// Many requests share passes; those that are given up, and those that would wait too long, are not computed.
func TestRequestsShareAndAreRefused(t *testing.T) {
	directory := t.TempDir()
	put(t, directory, "m.psi", models()[0])
	reg, seen := open(t, directory, func(o *registry.Options) { o.Limits = registry.Limits{Rows: 50, Wait: time.Minute} })
	seen.takes = 2 * time.Millisecond // else nobody would have to wait
	v, err := reg.Lease("m", "", "")
	check(t, err)
	defer v.Release()
	var requests sync.WaitGroup
	var busy, answered atomic.Int64
	for range 400 {
		requests.Go(func() {
			_, err := slopes(t.Context(), v, 20)
			if refusal, is := errors.AsType[*registry.BusyError](err); is && refusal.RetryAfter > 0 {
				busy.Add(1)
			} else if err != nil {
				t.Error(err)
			} else {
				answered.Add(1)
			}
		})
	}
	requests.Wait()
	t.Logf("%d answered in %d passes, %d refused", answered.Load(), seen.passes.Load(), busy.Load())
	if busy.Load() == 0 || answered.Load() == 0 || seen.passes.Load() >= answered.Load() {
		t.Error("requests do not share passes, or none is refused")
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := slope(over, v); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	eventually(t, "nothing waits", func() bool { return seen.waiting.Load() == 0 })
}

func FuzzRules(f *testing.F) {
	f.Add([]byte("models: {m: {labels: {a: '1'}, split: {a: 1, '2': 3}}}"))
	f.Fuzz(func(t *testing.T, content []byte) {
		rules, err := registry.ParseRules(content)
		if err == nil && rules == nil {
			t.Error("neither rules nor an error")
		}
	})
}

func TestModelsOfABucket(t *testing.T) {
	where := os.Getenv("PSI_S3")
	if where == "" {
		t.Skip("PSI_S3 is not set: the URL of a bucket of S3 to test with")
	}
	bucket, query, _ := strings.Cut(where, "?")
	prefix := fmt.Sprintf("registry-%x/", rand.Uint64())
	location, err := store.Create(t.Context(), bucket+"/"+prefix+"?"+query)
	check(t, err)
	for i, key := range []string{"m.psi", "other@2.psi", "deeper/n.psi", "_n.psi"} {
		check(t, location.Write(t.Context(), key, models()[i%2]))
		t.Cleanup(func() { check(t, location.Delete(context.WithoutCancel(t.Context()), key)) })
	}
	for address, want := range map[string]int{
		bucket + "/" + prefix + "?" + query:         2,
		bucket + "?" + query + "&prefix=" + prefix:  2,
		bucket + "/" + prefix + "m.psi?" + query:    1,
		bucket + "/" + prefix + "none/?" + query:    0,
		bucket + "/" + prefix + "deeper/*?" + query: 1,
	} {
		reg, _ := open(t, address, nil)
		if names := reg.Names(); len(names) != want {
			t.Errorf("%s has %v, want %d", address, names, want)
		}
	}
}
