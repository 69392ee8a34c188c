package psi_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
)

// The first of several networks is the model of one, as it has the training's own seed, and attributions are their mean.
func TestMembersAreAveraged(t *testing.T) {
	rows := people(t, newRand(t, 15), 200, 3)
	members := func(n int) func(*psi.Settings) {
		return func(s *psi.Settings) {
			quick(s)
			s.Members = n
		}
	}
	single := trained(t, rows, psi.Config{Change: members(1)})
	alone := explained(t, single, rows, psi.ExplainOptions{})
	m := trained(t, rows, psi.Config{Change: members(2)})
	e := explained(t, m, rows, psi.ExplainOptions{})
	addUp(t, e)
	if slices.Equal(alone.Mean, e.Mean) {
		t.Error("the second network says nothing")
	}
	if e.ModelStd != nil || e.Bags != 0 {
		t.Error("networks that learn from the same rows tell a doubt")
	}
}

// Doubt is the deviation over networks that learned from other samples, and beside σ_d.
func TestBagsTellDoubt(t *testing.T) {
	rows := people(t, newRand(t, 15), 200, 3)
	bagged := func(s *psi.Settings) {
		quick(s)
		s.Bags = 3
	}
	m := trained(t, rows, psi.Config{Change: bagged})
	none := trained(t, rows, psi.Config{Change: quick})
	e, plain := explained(t, m, rows, psi.ExplainOptions{}), explained(t, none, rows, psi.ExplainOptions{})
	addUp(t, e)
	if !slices.Equal(e.Mean, plain.Mean) || !slices.Equal(e.Std, plain.Std) {
		t.Error("bags move the attributions")
	}
	d := len(e.Players)
	for i, doubt := range e.ModelStd {
		if there := e.Observed[i/d/3*d+i%d]; (doubt > 0) != there {
			t.Fatalf("attribution %d, observed %v: its doubt is %v", i, there, doubt)
		}
		near(t, "doubt", doubt, stat.StdDev(e.ByBag[3*i:3*i+3], nil))
	}
	lead := explained(t, m, rows, psi.ExplainOptions{Output: "top", Against: "low", Groups: body()})
	if len(lead.ModelStd) != len(lead.Mean) || len(lead.Players) != 3 || slices.Max(lead.ModelStd) == 0 {
		t.Errorf("%d numbers of %d attributions", len(lead.ModelStd), len(lead.Mean))
	}
	same, err := e.Minus(e, 2)
	if err != nil {
		t.Fatal(err)
	}
	if width := 3 * d; slices.Max(same.ModelStd[2*width:3*width]) != 0 || slices.Max(same.ModelStd) == 0 {
		t.Error("a row differs from itself, or from no other")
	}
	if quick := explained(t, m, rows, psi.ExplainOptions{NoDoubt: true}); quick.ModelStd != nil || quick.Interval() != explain.BySpread {
		t.Error("a doubt that was not asked for is told")
	}
	learned := trained(t, rows, psi.Config{Head: "learned", Change: func(s *psi.Settings) { moment(s); s.Bags = 2 }})
	if e := explained(t, learned, rows, psi.ExplainOptions{To: 5}); e.ModelStd != nil {
		t.Error("the learned head tells a doubt that was not measured")
	}
}

// A model with bags is the same after it was saved, and after its training was interrupted within a bag.
func TestBagsAreSavedAndResumed(t *testing.T) {
	rows := people(t, newRand(t, 15), 200, 3)
	bagged := func(s *psi.Settings) {
		quick(s)
		s.Bags = 3
	}
	whole := trained(t, rows, psi.Config{Change: bagged})
	want := explained(t, whole, rows, psi.ExplainOptions{})
	file := filepath.Join(t.TempDir(), "m.psi")
	if err := whole.Save(file); err != nil {
		t.Fatal(err)
	}
	opened, err := psi.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	if got := explained(t, opened, rows, psi.ExplainOptions{}); !slices.Equal(got.ByBag, want.ByBag) {
		t.Error("other bags after saving")
	}

	c := psi.Config{Target: whole.Manifest().Target, Change: bagged, Checkpoint: filepath.Join(t.TempDir(), "c"), SaveEvery: 1}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.Progress = func(p psi.Progress) {
		if p.Stage == "doubt" && p.Member == 1 && p.Step > 2 {
			cancel()
		}
	}
	if _, err := psi.Train(ctx, rows.Source(), c); !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted: %v", err)
	}
	c.Progress, c.Resume = nil, true
	resumed, err := psi.Train(t.Context(), rows.Source(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer resumed.Close()
	if got := explained(t, resumed, rows, psi.ExplainOptions{}); !slices.Equal(got.ByBag, want.ByBag) || !slices.Equal(got.Mean, want.Mean) {
		t.Error("another model after an interruption")
	}
}

// The product form trains without an engine unless one is named. Other forms need one.
func TestBackendOfATraining(t *testing.T) {
	rows := gappy(t, 60)
	form := func(change func(s *psi.Settings)) func(s *psi.Settings) {
		return func(s *psi.Settings) {
			few(s)
			s.Steps, s.SpreadSteps, s.RefitSteps, s.PolishSteps = 2, 2, 2, 2
			if change != nil {
				change(s)
			}
		}
	}
	tensorTrain := func(s *psi.Settings) { s.Form = "tensor-train" }
	for _, c := range []struct {
		name    string
		backend psi.Backend
		change  func(s *psi.Settings)
		native  bool
	}{
		{"product", "auto", nil, true},
		{"product", "", nil, true},
		{"product", psi.Native, nil, true},
		{"product", "go", nil, false},
		{"tensor-train", "auto", tensorTrain, false},
		{"learned", "auto", func(s *psi.Settings) { s.Head = "learned" }, false},
	} {
		from := trained(t, rows, psi.Config{Backend: c.backend, Change: form(c.change)}).Manifest().Provenance
		if native := from.Backend == psi.Native; native != c.native || native != (from.CPU != "") || from.Threads != 0 {
			t.Errorf("%s on %q was trained by %q with %q instructions on %d threads", c.name, c.backend, from.Backend, from.CPU, from.Threads)
		}
	}
	_, err := psi.Train(t.Context(), rows.Source(), psi.Config{Target: "y", Backend: psi.Native, Change: form(tensorTrain)})
	if e, ok := errors.AsType[*psi.Error](err); !ok || !errors.Is(err, psi.ErrBackend) || e.Remedy != "leave Config.Backend out" {
		t.Errorf("a tensor-train on the native backend: %v", err)
	}
}

// The paper's bound trains σ along with the mean, which only the engines do. Bags, which are trained natively, are left out.
func TestBoundNeedsAnEngine(t *testing.T) {
	rows := gappy(t, 60)
	for i, v := range rows.Column("y").Numbers {
		rows.Column("y").Numbers[i] = 0
		if v > 0 {
			rows.Column("y").Numbers[i] = 1
		}
	}
	bound := func(s *psi.Settings) {
		few(s)
		s.Steps, s.Likelihood, s.Bags = 2, "bound", 2
	}
	m := trained(t, rows, psi.Config{Task: psi.Binary, Change: bound})
	if from := m.Manifest().Provenance; from.Backend == psi.Native {
		t.Error("the bound was trained natively")
	}
	if bags := m.Manifest().Settings.Bags; bags != 0 {
		t.Errorf("%d bags by another likelihood", bags)
	}
	_, err := psi.Train(t.Context(), rows.Source(), psi.Config{Target: "y", Task: psi.Binary, Backend: psi.Native, Change: bound})
	if e, ok := errors.AsType[*psi.Error](err); !ok || !errors.Is(err, psi.ErrBackend) || e.Remedy != "leave Config.Backend out" {
		t.Errorf("the bound on the native backend: %v", err)
	}
}

// A checkpoint of another backend is refused, with what to do.
func TestCheckpointNamesItsBackend(t *testing.T) {
	rows := gappy(t, 60)
	path := filepath.Join(t.TempDir(), "m.checkpoint")
	trained(t, rows, psi.Config{Checkpoint: path, SaveEvery: 1})
	_, err := psi.Train(t.Context(), rows.Source(), psi.Config{Target: "y", Change: few, Backend: "go", Checkpoint: path, Resume: true})
	if err == nil || !strings.Contains(err.Error(), "backend native") || !strings.Contains(err.Error(), "Config.Backend=native") {
		t.Errorf("a native checkpoint was resumed by an engine: %v", err)
	}
}

// small makes networks small and leaves the recipe alone.
func small(s *psi.Settings) {
	s.Channels, s.Embedding, s.Bins, s.Frequencies, s.Batch = 8, 8, 12, 4, 16
}

func TestFastTakesAThird(t *testing.T) {
	rows := rowsOf(t, "synth1", 120)
	m := trained(t, rows, psi.Config{Effort: psi.Fast, Change: func(s *psi.Settings) { s.Channels, s.Embedding, s.Bins, s.Frequencies = 8, 8, 12, 4 }})
	got := m.Manifest()
	size := psi.Size{Rows: got.Provenance.TrainingRows, Columns: len(got.Columns)}
	want := psi.DefaultSettings("exact", size)
	for _, c := range []struct{ fast, normal int }{
		{got.Settings.Steps, want.Steps}, {got.Settings.RefitSteps, want.RefitSteps}, {got.Settings.SpreadSteps, want.SpreadSteps},
	} {
		if c.fast != (2*c.normal+2)/3 {
			t.Errorf("fast takes %d steps where normal takes %d", c.fast, c.normal)
		}
	}
	if got.Settings.Batch != want.Batch/2 {
		t.Errorf("fast takes %d rows a step where normal takes %d", got.Settings.Batch, want.Batch)
	}
	if got.Provenance.Effort != "fast" {
		t.Errorf("the effort is recorded as %q", got.Provenance.Effort)
	}
	if _, err := psi.Train(t.Context(), rows.Source(), psi.Config{Target: "y", Effort: "much"}); err == nil || !strings.Contains(err.Error(), "fast, normal or best") {
		t.Errorf("an effort that is none: %v", err)
	}
}

// Best learns for longer, keeps what it was told to keep, and may be stopped anywhere.
func TestBestLearnsLonger(t *testing.T) {
	rows := rowsOf(t, "synth1", 200)
	var steps int
	change := func(s *psi.Settings) {
		steps = s.Steps
		small(s)
		s.Steps, s.RefitSteps, s.AbsentSteps, s.SpreadSteps = 30, 5, 5, 5
	}
	config := psi.Config{Target: "y", Effort: psi.Best, Change: change, SaveEvery: 1}
	m := trained(t, rows, config)
	got := m.Manifest()
	normal := psi.DefaultSettings("exact", psi.Size{Rows: got.Provenance.TrainingRows, Columns: len(got.Columns)})
	if steps != 2*normal.Steps || got.Settings.Members != 2 || got.Settings.Channels != 8 || got.Provenance.Effort != "best" {
		t.Errorf("%d steps where normal takes %d; %+v", steps, normal.Steps, got)
	}
	_, want := saved(t, m)
	for _, stop := range []int{15, 40, 60} {
		c := config
		c.Checkpoint = filepath.Join(t.TempDir(), "m.checkpoint")
		stopAfter(t, rows, c, stop)
		c.Resume = true
		if _, got := saved(t, trained(t, rows, c)); !bytes.Equal(got, want) {
			t.Errorf("stopped after %d steps and resumed: other bytes", stop)
		}
	}
}

// Classes of few rows overfit if they learn for longer, so best averages more networks instead.
func TestBestOfClassesAveragesMore(t *testing.T) {
	var steps, members int
	m := trained(t, rowsOf(t, "synth1-binary", 200), psi.Config{Effort: psi.Best, Change: func(s *psi.Settings) {
		steps, members = s.Steps, s.Members
		small(s)
		s.Members, s.Steps, s.AbsentSteps, s.SpreadSteps = 1, 5, 5, 5
	}})
	got := m.Manifest()
	normal := psi.DefaultSettings("exact", psi.Size{Rows: got.Provenance.TrainingRows, Columns: len(got.Columns), Classes: true})
	if steps != normal.Steps || members != 4 {
		t.Errorf("%d steps of %d networks where normal takes %d", steps, members, normal.Steps)
	}
}

// A budget is kept, the reading and the audit included, and the model says what it was enough for.
func TestTimeBudget(t *testing.T) {
	rows := rowsOf(t, "synth1", 3000)
	change := func(s *psi.Settings) {
		small(s)
		s.Steps, s.RefitSteps, s.SpreadSteps = 1e6, 1e5, 1e5
	}
	const budget = 3 * time.Second
	start := time.Now()
	m := trained(t, rows, psi.Config{TimeBudget: budget, Change: change})
	if took := time.Since(start); took > budget*14/10 || took < budget/2 { // tests share their cores
		t.Errorf("it took %v", took)
	}
	if share := m.Manifest().Provenance.Share; !(share > 0 && share < 0.1) {
		t.Errorf("it was enough for %g of the steps", share)
	}
	if share := trained(t, rows, psi.Config{TimeBudget: time.Minute, Change: few}).Manifest().Provenance.Share; !(share > 0.99 && share <= 1) {
		t.Errorf("a budget that was enough was enough for %g of the steps", share)
	}
	if share := trained(t, rows, psi.Config{Change: few}).Manifest().Provenance.Share; share != 0 {
		t.Errorf("without a budget the share is %g", share)
	}
	bagged := func(s *psi.Settings) { few(s); s.Bags = 8 }
	if bags := trained(t, rows, psi.Config{TimeBudget: time.Millisecond, Change: bagged}).Manifest().Settings.Bags; bags != 0 {
		t.Errorf("%d bags were trained without time", bags)
	}
}
