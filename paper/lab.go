package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/benchset"
	"github.com/psi-shapley/psi/table"
)

// Lab trains models and asks them. What it was told once it remembers, by a digest of all that the answer depends on.
type Lab struct {
	dir   string // of the results
	quick bool
	jobs  int // trainings at a time

	keeping sync.Mutex // of the file of answers
}

func newLab(dir string, jobs int, quick bool) *Lab {
	if quick {
		dir = filepath.Join(dir, ".quick")
	}
	return &Lab{dir: dir, quick: quick, jobs: max(1, jobs)}
}

// folds are those to run of the first n.
func (l *Lab) folds(n int) []int {
	if l.quick {
		n = 1
	}
	all := make([]int, n)
	for k := range all {
		all[k] = k
	}
	return all
}

// each is a training on each fold.
func each(folds []int, training func(fold int) Training) []Training {
	ts := make([]Training, len(folds))
	for i, fold := range folds {
		ts[i] = training(fold)
	}
	return ts
}

// over is the spread over answers of something in them.
func over[T any](answers []*kept[T], f func(T) float64) spread {
	return spreadOf(column(answers, func(k *kept[T]) float64 { return f(k.Answer) }))
}

// Training is one model: what it learns from, and how.
type Training struct {
	Set    string            `json:"set"`
	Fold   int               `json:"fold"`
	Head   string            `json:"head"`
	Change map[string]string `json:"change,omitempty"` // of the default settings
	Rows   int               `json:"rows,omitempty"`   // to learn from, at most; 0 is all
}

// with is the training with further settings changed.
func (t Training) with(change map[string]string) Training {
	c := maps.Clone(t.Change)
	if c == nil {
		c = map[string]string{}
	}
	maps.Copy(c, change)
	t.Change = c
	return t
}

// shortened is the training as a quick run has it: few rows and steps, and one β′ for all.
func (l *Lab) shortened(t Training) Training {
	if !l.quick {
		return t
	}
	t.Rows = 2000
	return t.with(map[string]string{"beta": "1", "steps": "60", "refit_steps": "20", "spread_steps": "30", "polish_steps": "0"})
}

// Cost is what a training took.
type Cost struct {
	WallSeconds float64 `json:"wall_seconds"`
	CPUSeconds  float64 `json:"cpu_seconds"`
}

// Fitted is a trained model, the rows that chose its weights, and those that it has not seen.
type Fitted struct {
	*psi.Model
	Set              *benchset.Set
	Validation, Test []int
}

// Tested are the rows of the test fold.
func (f *Fitted) Tested() *table.Table { return f.Set.Table.Select(f.Test) }

// ask gives what f finds out of the model of a training. f is named by what: a change of f needs a new name.
func ask[T any](ctx context.Context, l *Lab, t Training, what string, f func(context.Context, *Fitted) (T, error)) (*kept[T], error) {
	t = l.shortened(t)
	settings, err := t.settings()
	if err != nil {
		return nil, err
	}
	k := &kept[T]{origin: origin{Asked: what, Training: t, Digest: digest(t, settings), Settings: settings}}
	answers, err := l.measured()
	if err != nil {
		return nil, err
	}
	for _, a := range answers {
		if a.question() == k.question() && readBy(a.Settings) == readBy(settings) {
			k.origin = a.origin
			return k, json.Unmarshal(a.Answer, &k.Answer)
		}
	}
	file := filepath.Join(l.dir, ".cache", k.model()+".psi")
	cost, err := t.train(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.model(), err)
	}
	set, err := loadSet(t.Set)
	if err != nil {
		return nil, err
	}
	m, err := psi.OpenOptions{Backend: t.backend()}.Open(file)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	_, validation, test := set.Fold(t.Fold)
	if l.quick {
		test = test[:min(len(test), 400)]
	}
	trained := m.Manifest().Provenance
	k.Revision, k.Backend, k.Cost, k.Fidelity = trained.Revision, trained.Backend, *cost, faithful(m.StoredAudit())
	if k.Answer, err = f(ctx, &Fitted{Model: m, Set: set, Validation: validation, Test: test}); err != nil {
		return nil, fmt.Errorf("%s: %w", k.model(), err)
	}
	return k, l.keep(k)
}

// askAll is ask of several trainings, in their order.
func askAll[T any](ctx context.Context, l *Lab, ts []Training, what string, f func(context.Context, *Fitted) (T, error)) ([]*kept[T], error) {
	answers := make([]*kept[T], len(ts))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(l.jobs)
	for i, t := range ts {
		g.Go(func() (err error) {
			answers[i], err = ask(ctx, l, t, what, f)
			return err
		})
	}
	return answers, g.Wait()
}

// settings are the defaults for the table with the training's changes.
func (t Training) settings() (psi.Settings, error) {
	set, err := loadSet(t.Set)
	if err != nil {
		return psi.Settings{}, err
	}
	rows, _, _ := set.Fold(t.Fold)
	size := psi.Size{Rows: t.limit(len(rows)), Columns: len(set.Table.Columns) - 1, Classes: set.Task != benchset.Regression}
	s := psi.DefaultSettings(t.Head, size)
	err = t.change(&s)
	return s, err
}

func (t Training) limit(rows int) int {
	if t.Rows > 0 {
		return min(rows, t.Rows)
	}
	return rows
}

func (t Training) change(s *psi.Settings) error {
	for _, key := range slices.Sorted(maps.Keys(t.Change)) {
		if err := s.Set(key, t.Change[key]); err != nil {
			return err
		}
	}
	return nil
}

// readBy are the settings that the training of their head reads, the others zero: an answer outlives a setting of the other head.
func readBy(s psi.Settings) psi.Settings {
	if s.Head == "learned" {
		s.Form, s.Channels, s.Pairs, s.PairRank, s.Learners, s.Rank, s.Bags = "", 0, 0, 0, 0, 0, 0
		s.RefitSteps, s.RefitRate, s.AbsentSteps = 0, 0, 0
		return s
	}
	s.Net, s.Width, s.Layers, s.Activation, s.Norm = "", 0, 0, "", ""
	s.Estimator, s.Beta, s.PolishSteps, s.PolishRate = "", 0, 0, 0
	return s
}

func digest(of ...any) string {
	h := sha256.New()
	for _, x := range of {
		b, err := json.Marshal(x)
		if err != nil {
			panic(err) // plain structs of texts and numbers
		}
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// backend is ONNX Runtime for what needs a tensor engine, the learned head and the paper's bound, if the environment names its
// library: the learned head takes it a quarter of the time of the engine in Go. The two differ by rounding.
func (t Training) backend() psi.Backend {
	if (t.Head == "learned" || t.Change["likelihood"] == "bound") && os.Getenv("ONNXRUNTIME_SHARED_LIBRARY_PATH") != "" {
		return psi.ONNX
	}
	return psi.Auto
}

// trainCommand is how the program calls itself, so that a training has its own memory and its CPU time is known.
const trainCommand = "train"

// train makes the model's file, unless it is there.
func (t Training) train(ctx context.Context, file string) (*Cost, error) {
	costs := file + ".json"
	if c, err := readJSON[Cost](costs); err == nil {
		return c, nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	command := exec.CommandContext(ctx, program, trainCommand, string(text), file)
	if out, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("training: %w: %s", err, out)
	}
	used := command.ProcessState
	c := &Cost{WallSeconds: time.Since(start).Seconds(), CPUSeconds: (used.UserTime() + used.SystemTime()).Seconds()}
	fmt.Fprintf(os.Stderr, "  %s: %.0f CPU s\n", text, c.CPUSeconds)
	if text, err = json.Marshal(c); err != nil {
		return nil, err
	}
	return c, replace(costs, text)
}

// trainAlone is the command that train runs.
func trainAlone(ctx context.Context, text, file string) error {
	var t Training
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return err
	}
	set, err := loadSet(t.Set)
	if err != nil {
		return err
	}
	rows, validation, _ := set.Fold(t.Fold)
	var failed error
	m, err := psi.Train(ctx, set.Table.Select(rows[:t.limit(len(rows))]).Source(), psi.Config{
		Target: set.Target, Validation: set.Table.Select(validation).Source(), Head: t.Head, Backend: t.backend(),
		Change: func(s *psi.Settings) { failed = t.change(s) },
	})
	if err := errors.Join(failed, err); err != nil {
		return err
	}
	defer m.Close()
	return m.Save(file)
}

// loadSet reads a set, once in the life of the program.
func loadSet(name string) (*benchset.Set, error) {
	setsMutex.Lock()
	defer setsMutex.Unlock()
	if s := sets[name]; s != nil {
		return s, nil
	}
	load := benchset.Load
	switch {
	case isSynthetic(name):
		load = loadSynthetic
	case isDigit(name):
		load = loadDigit
	}
	s, err := load(name)
	if err == nil {
		sets[name] = s
	}
	return s, err
}

var (
	setsMutex sync.Mutex
	sets      = map[string]*benchset.Set{}
)

func readJSON[T any](path string) (*T, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	x := new(T)
	if err := json.Unmarshal(b, x); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return x, nil
}
