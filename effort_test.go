package psi_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/psi-shapley/psi"
)

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
}
