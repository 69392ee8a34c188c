package batch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/batch/internal/queue"
	"github.com/psi-shapley/psi/table"
)

// rentals are rows of two numbers and a town, some cells missing, and what was paid.
func rentals(n int, seed uint64) *table.Table {
	rng := rand.New(rand.NewPCG(seed, 0))
	rooms, age, paid, town, here := make([]float64, n), make([]float64, n), make([]float64, n), make([]string, n), make([]bool, n)
	for i := range n {
		rooms[i], age[i], here[i] = float64(1+rng.IntN(6)), 100*rng.Float64(), rng.IntN(5) > 0
		town[i] = []string{"Ayr", "Bath", "Cork"}[rng.IntN(3)]
		paid[i] = 200*rooms[i] - age[i] + 30*rng.NormFloat64()
	}
	t, err := table.New(table.NumberColumn("rooms", rooms, nil), table.NumberColumn("age", age, here), table.CategoryColumn("town", town, nil), table.NumberColumn("paid", paid, nil))
	if err != nil {
		panic(err)
	}
	return t
}

// trained is a model file, made once for all tests.
var trained = sync.OnceValues(func() ([]byte, error) {
	m, err := psi.Train(context.Background(), rentals(300, 1).Source(), psi.Config{Target: "paid", Backend: "go", Change: func(s *psi.Settings) {
		s.Channels, s.Embedding, s.Bins, s.Frequencies, s.Width = 8, 8, 12, 4, 16
		s.Batch, s.Steps, s.RefitSteps, s.PolishSteps, s.SpreadSteps = 64, 30, 10, 10, 10
	}})
	if err != nil {
		return nil, err
	}
	defer m.Close()
	dir, err := os.MkdirTemp("", "psi-batch")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := m.Save(filepath.Join(dir, "m.psi")); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, "m.psi"))
})

// scene is a job to be done: files of rows, and where their explanations go.
type scene struct {
	*testing.T
	in, out, model string
	server         *queue.Server
}

const (
	groupRows = 50 // of the files' row groups
	fileRows  = 170
)

func newScene(t *testing.T, files int) *scene {
	t.Helper()
	content, err := trained()
	if err != nil {
		t.Fatal(err)
	}
	s := sceneOf(t, content)
	for i := range files {
		s.write(i, rentals(fileRows, uint64(10+i)))
	}
	return s
}

// sceneOf is a scene of a model without files.
func sceneOf(t *testing.T, content []byte) *scene {
	t.Helper()
	dir := t.TempDir()
	s := &scene{T: t, in: filepath.Join(dir, "in"), out: filepath.Join(dir, "out"), model: filepath.Join(dir, "m.psi")}
	if err := errors.Join(os.Mkdir(s.in, 0o755), os.WriteFile(s.model, content, 0o600)); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.server, err = queue.Start(filepath.Join(dir, "queue")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.server.Close() })
	return s
}

func (s *scene) file(i int) string { return filepath.Join(s.in, fmt.Sprintf("rows-%02d.parquet", i)) }

func (s *scene) write(i int, rows *table.Table) {
	s.Helper()
	if err := os.WriteFile(s.file(i), parquetOf(s.T, rows, groupRows), 0o644); err != nil {
		s.Fatal(err)
	}
}

func (s *scene) request() Request {
	return Request{Model: s.model, In: s.in, Options: Options{Mode: "fast", Z: 1.96, Top: 3}}
}

// job is the runner of the job in the scene's queue.
func (s *scene) job() *Runner { return &Runner{Out: s.out, Queue: s.at()} }

func (s *scene) plan() *Job {
	s.Helper()
	job, _, err := s.job().Plan(s.Context(), s.request())
	if err != nil {
		s.Fatal(err)
	}
	return job
}

func (s *scene) at() Queue { return Queue{URL: s.server.URL(), ackWait: 2 * time.Second} }

// run submits the job and works until it is settled.
func (s *scene) run(workers int) (*Status, *Summary) {
	s.Helper()
	if _, _, err := s.job().Submit(s.Context()); err != nil {
		s.Fatal(err)
	}
	stop := s.work(workers)
	defer stop()
	return s.await()
}

// work starts workers; stop ends them.
func (s *scene) work(workers int) (stop func()) {
	ctx, cancel := context.WithCancel(s.Context())
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			w := &Worker{Queue: s.at(), Drain: time.Second}
			if err := w.Run(ctx); err != nil {
				s.Error(err)
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

func (s *scene) await() (*Status, *Summary) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 2*time.Minute)
	defer cancel()
	status, err := s.job().Await(ctx, 50*time.Millisecond, func(*Status) {})
	if err != nil {
		s.Fatal(err)
	}
	summary, err := s.job().Summary(ctx)
	if err != nil {
		s.Fatal(err)
	}
	return status, summary
}
