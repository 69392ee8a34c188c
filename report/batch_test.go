package report

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
)

// soundRun is a batch of a model with the columns age and town.
func soundRun() (Run, *explain.Explanation) {
	r := Run{
		Job: "0123", Files: 3, Units: 4, Rows: 5000, Seconds: 2, ResidualMax: 3e-6, Mode: explain.Fast, Missing: []RunMissing{{"age", .25}, {"town", 0}},
		Outputs: []RunOutput{{Output: "yes", NDCG: new(.99), Players: []RunPlayer{{"age", 1, .1, new(.3), new(1.1)}, {"town", 2, .2, nil, new(1.9)}}}},
		Audit:   auditOf("exact", "exact", 3e-7, 2e-7),
	}
	return r, &explain.Explanation{Head: "exact", Exact: true, Scale: explain.Logit, Outputs: []string{"yes"}, Players: []string{"age", "town"}}
}

// What no batch of the model can have come to is refused, and what is wrong is said.
func TestUnsoundSummaries(t *testing.T) {
	if r, e := soundRun(); r.check(e) != nil {
		t.Fatal(r.check(e))
	}
	for says, spoil := range map[string]func(*Run){
		"below 0":                   func(r *Run) { r.Rows = -1 },
		"a count is below":          func(r *Run) { r.BytesWritten = math.MinInt64 },
		"5 of 4 units failed":       func(r *Run) { r.Failed = 5 },
		"1 failures are listed":     func(r *Run) { r.Failures = make([]RunFailure, 1) },
		"took -1 seconds":           func(r *Run) { r.Seconds = -1 },
		"largest residual is NaN":   func(r *Run) { r.ResidualMax = math.NaN() },
		"z is -2":                   func(r *Run) { r.Z = -2 },
		"it has 3 columns":          func(r *Run) { r.Missing = append(r.Missing, RunMissing{"x", 0}) },
		"share of 1.5":              func(r *Run) { r.Missing[0].Ratio = 1.5 },
		`"<b>" is missing`:          func(r *Run) { r.Missing[1].Player = "<b>" },
		"it has 0 outputs":          func(r *Run) { r.Outputs = nil },
		`output "no"`:               func(r *Run) { r.Outputs[0].Output = "no" },
		`nDCG of "yes" is 2`:        func(r *Run) { r.Outputs[0].NDCG = new(2.0) },
		`"yes" has 1 columns`:       func(r *Run) { r.Outputs[0].Players = r.Outputs[0].Players[:1] },
		"mean size of -1":           func(r *Run) { r.Outputs[0].Players[1].Size = -1 },
		"standard deviation of +In": func(r *Run) { r.Outputs[0].Players[1].Std = math.Inf(1) },
		`"town" has a mean size`:    func(r *Run) { r.Outputs[0].Players[1].Trained = new(-2.0) },
		`"age" has a mean size`:     func(r *Run) { r.Outputs[0].Players[0].Doubt = new(-2.0) },
	} {
		r, e := soundRun()
		spoil(&r)
		if err := r.check(e); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "psi batch resume") {
			t.Errorf("%v; want %q", err, says)
		}
	}
}

// A page holds no more of a summary than it has room for, and nothing in it breaks out.
func TestHostileSummary(t *testing.T) {
	hostile := `</script><script>alert(1)</script><!-- & "` + "\u2028"
	r, _ := soundRun()
	r.Job, r.Failed, r.In = hostile, 9999, strings.Repeat("é", 10_000)
	for range 2000 {
		r.Failures = append(r.Failures, RunFailure{File: hostile, Message: strings.Repeat("x", 5000), Groups: make([]int, 5000)})
	}
	r.cut()
	if len(r.Failures) != maxFailures || len([]rune(r.In)) != longestWords || len(r.Failures[0].Message) > longestWords+2 || len(r.Failures[0].Groups) != maxFailures {
		t.Errorf("%d failures, %d letters, message of %d, %d groups", len(r.Failures), len([]rune(r.In)), len(r.Failures[0].Message), len(r.Failures[0].Groups))
	}
	var out strings.Builder
	if err := WriteBatch(&out, &Batch{Schema: BatchSchema, Model: Model{Target: hostile}, Run: r}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "<script"); n != 2 {
		t.Errorf("%d scripts", n)
	}
	_, rest, _ := strings.Cut(out.String(), `<script type="application/json" id="batch">`)
	document, _, _ := strings.Cut(rest, "</script>")
	read := Batch{}
	if err := json.Unmarshal([]byte(document), &read); err != nil || read.Run.Job != hostile || read.Run.Failures[0].File != hostile {
		t.Errorf("%v: read back as %q", err, read.Run.Job)
	}
}

func TestVerdictsOnBatches(t *testing.T) {
	for _, c := range []struct {
		name               string
		change             func(*Run, *explain.Explanation)
		done, trust, drift string
		advice             []string // beginnings
	}{
		{"sound", func(r *Run, _ *explain.Explanation) { r.Missing[0].Ratio = 0 }, "good", "exact", "good", []string{"There is nothing to do"}},
		{"gaps", func(r *Run, _ *explain.Explanation) { r.Missing[1].Ratio = 1 }, "good", "exact", "good", []string{"Check why the files have no values for a column: no row has town.", "Check whether so many cells should be missing: age (25 %)"}},
		{"some failed", func(r *Run, _ *explain.Explanation) { r.Failed, r.Out, r.Missing[0].Ratio = 1, "out", 0 }, "fair", "exact", "good", []string{"Fix the failures as the table below says, then run psi batch resume out."}},
		{"all failed", func(r *Run, _ *explain.Explanation) {
			r.Failed, r.Rows, r.Audit, r.ResidualMax, r.Missing[0].Ratio = 4, 0, nil, 0, 0
			r.Outputs[0] = RunOutput{Output: "yes"}
		}, "poor", "unchecked", "unchecked", []string{"Fix the failures as the table below says, then run psi batch resume OUT."}},
		{"other order", func(r *Run, _ *explain.Explanation) { *r.Outputs[0].NDCG, r.Missing[0].Ratio = .8, 0 }, "good", "exact", "poor", []string{"Find out how these rows differ"}},
		{"few rows", func(r *Run, _ *explain.Explanation) { r.Rows, *r.Outputs[0].NDCG, r.Missing[0].Ratio = 900, .8, 0 }, "good", "exact", "unchecked", []string{"There is nothing to do"}},
		{"old model", func(r *Run, _ *explain.Explanation) { r.Outputs[0].NDCG, r.Missing[0].Ratio = nil, 0 }, "good", "exact", "unchecked", []string{"There is nothing to do"}},
		{"sums that miss", func(r *Run, _ *explain.Explanation) { r.ResidualMax, r.Missing[0].Ratio = .3, 0 }, "good", "close", "good", []string{"There is nothing to do"}},
		{"learned", func(r *Run, e *explain.Explanation) {
			e.Head, e.Exact, r.Audit, r.Missing[0].Ratio = "learned", false, auditOf("learned", "exact", .2, .2), 0
		}, "good", "rough", "good", []string{"Do not rely on the order of small attributions. batch.Options.Mode=refined"}},
		{"learned, exactly", func(r *Run, e *explain.Explanation) {
			e.Head, r.Mode, r.Audit, r.Missing[0].Ratio = "learned", explain.Exact, auditOf("learned", "exact", .2, .2), 0
		}, "good", "exact", "good", []string{"There is nothing to do"}},
	} {
		r, e := soundRun()
		c.change(&r, e)
		if err := r.check(e); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		b := &Batch{Model: Model{Head: e.Head}, Outputs: e.Outputs, Run: r, Done: r.done(), Trust: r.trust(e), Drift: []Verdict{r.drift(&r.Outputs[0])}}
		if b.Done.Level != c.done || b.Trust.Level != c.trust || b.Drift[0].Level != c.drift {
			t.Errorf("%s: done %+v, trust %+v, drift %+v", c.name, b.Done, b.Trust, b.Drift)
		}
		if got := b.advice(); !slices.EqualFunc(got, c.advice, strings.HasPrefix) {
			t.Errorf("%s: %q, want %q", c.name, got, c.advice)
		}
	}
}

// The gap is beside the mean sum of sizes, of the output that has least.
func TestGapOfBatch(t *testing.T) {
	r, _ := soundRun()
	r.Outputs = append(r.Outputs, RunOutput{Players: []RunPlayer{{Size: .25}, {Size: .5}}})
	if got, want := r.gap(), 3e-6/.75; math.Abs(got-want) > 1e-18 {
		t.Errorf("%g, want %g", got, want)
	}
	if moved := (&RunOutput{Players: []RunPlayer{{"a", 3, 0, nil, new(1.9)}, {"b", 1, 0, nil, new(1.6)}, {"c", 1, 0, nil, new(1.4)}, {"d", .01, 0, nil, new(.1)}, {"e", .5, 0, nil, new(0.0)}}}).moved(); len(moved) != 3 ||
		!strings.HasPrefix(moved[0], "a matters more (3, then 1.9)") || !strings.HasPrefix(moved[1], "b matters less (1, then 1.6)") || !strings.HasPrefix(moved[2], "e matters more") {
		t.Errorf("%q", moved)
	}
}

// Players come in the order of their sizes, with all that is told of them.
func TestBatchImportances(t *testing.T) {
	r, _ := soundRun()
	list := r.Outputs[0].importances()
	if len(list) != 2 || list[0].Player != 1 || list[0].Mean != 2 || list[0].Std != .2 || *list[0].Trained != 1.9 || list[1].Player != 0 || list[0].Doubt != nil || *list[1].Doubt != .3 {
		t.Errorf("%+v", list)
	}
}

// A batch of imported trees is compared with the rows of the import, not with a training.
func TestDriftOfImportedTrees(t *testing.T) {
	ndcg, then := .5, 1.0
	o := &RunOutput{Output: "y", NDCG: &ndcg, Players: []RunPlayer{{Player: "a", Size: 3, Trained: &then}}}
	for _, c := range []struct {
		run        Run
		says, lack string
	}{
		{Run{Rows: 5000}, "than in training", "imported"},
		{Run{Rows: 5000, made: byImport}, "than on the rows that it was imported with", "training"},
	} {
		v := c.run.drift(o)
		if text := v.Verdict + strings.Join(v.Words, " "); !strings.Contains(text, c.says) || strings.Contains(text, c.lack) {
			t.Errorf("%s", text)
		}
	}
	o.NDCG = nil
	for says, run := range map[string]Run{"imported without rows": {Rows: 5000, made: byImport}, "only in the model's own game": {Rows: 5000, other: true}, "does not record": {Rows: 5000}} {
		if v := run.drift(o); v.Level != "unchecked" || !strings.Contains(v.Verdict, says) {
			t.Errorf("%s: %s, not %q", v.Level, v.Verdict, says)
		}
	}
}

// The report of a batch tells the game that it was explained in, and refuses one that the model does not have.
func TestGameOfABatch(t *testing.T) {
	c, rows := xgboost(t, "number")
	m := imported(t, c, rows)
	run := Run{Model: m.Digest(), Files: 1, Units: 1}
	for _, name := range m.Players() {
		run.Missing = append(run.Missing, RunMissing{Player: name})
	}
	run.Outputs = []RunOutput{{Output: "y"}}
	for _, game := range []psi.Game{"", psi.InterventionalGame} {
		run.Game, run.References = game, 3
		b, err := GatherBatch(m, "m.psi", run, Cover{})
		if err != nil {
			t.Fatal(err)
		}
		if want := cmp.Or(game, psi.PathDependentGame); b.Game == nil || b.Game.Name != want || b.Interval != explain.NoInterval {
			t.Errorf("game %+v, want %s; interval %s", b.Game, want, b.Interval)
		}
	}
	run.Game = psi.ObservationalGame
	if _, err := GatherBatch(m, "m.psi", run, Cover{}); err == nil {
		t.Error("a game that the model does not have is no error")
	}
}
