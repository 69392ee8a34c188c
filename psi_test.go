package psi_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/synth"
	"github.com/psi-shapley/psi/table"
)

// few are settings that train in a moment.
func few(s *psi.Settings) {
	s.Bags, s.Channels, s.Embedding, s.Bins, s.Frequencies, s.Width = 0, 8, 8, 12, 4, 16
	s.Batch, s.Steps, s.RefitSteps, s.PolishSteps, s.SpreadSteps = 64, 60, 20, 20, 20
}

// stopAfter interrupts a training after so many steps, of which its checkpoint is left.
func stopAfter(t *testing.T, rows *table.Table, c psi.Config, stop int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	steps := 0
	c.Progress = func(p psi.Progress) {
		if p.Step > 0 {
			if steps++; steps == stop {
				cancel()
			}
		}
	}
	if _, err := psi.Train(ctx, rows.Source(), c); err == nil {
		t.Fatalf("stopped after %d steps, but it went on", stop)
	}
}

// rowsOf are rows of a synthetic set.
func rowsOf(t testing.TB, name string, n int) *table.Table {
	t.Helper()
	s, err := synth.Generate(name, n, 1)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := s.Table()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// gappy is rows with some cells missing and a column of text.
func gappy(t testing.TB, n int) *table.Table {
	t.Helper()
	rows := rowsOf(t, "synth3", n)
	labels := make([]string, n)
	for i := range labels {
		labels[i] = []string{"red", "green", "blue"}[i%3]
		rows.Column("y").Numbers[i] += float64(i % 3)
	}
	colours, err := table.New(append([]*table.Column{table.CategoryColumn("colour", labels, nil)}, rows.Columns...)...)
	if err != nil {
		t.Fatal(err)
	}
	for d, c := range colours.Columns[:4] {
		for i := d; i < n; i += 7 {
			c.Observed[i] = false
			if c.Kind == table.Category {
				c.Codes[i] = -1
			} else {
				c.Numbers[i] = 0
			}
		}
	}
	return colours
}

func trained(t testing.TB, rows *table.Table, c psi.Config) *psi.Model {
	t.Helper()
	c.Target = "y"
	if c.Change == nil {
		c.Change = few
	}
	m, err := psi.Train(context.Background(), rows.Source(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

func saved(t testing.TB, m *psi.Model) (path string, bytes []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "m.psi")
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	bytes, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, bytes
}

func TestModelSaysTheSameAfterItsFile(t *testing.T) {
	rows := gappy(t, 400)
	for _, head := range []string{"exact", "learned"} {
		for _, members := range []int{1, 2} {
			m := trained(t, rows, psi.Config{Head: head, Change: func(s *psi.Settings) {
				few(s)
				s.Members = members
			}})
			path, _ := saved(t, m)
			again, err := psi.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(again.Close)
			want, err := m.Explain(t.Context(), rows.Source(), psi.ExplainOptions{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := again.Explain(t.Context(), rows.Source(), psi.ExplainOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if err := got.Validate(); err != nil {
				t.Fatal(err)
			}
			for i := range want.Mean {
				if got.Mean[i] != want.Mean[i] || got.Std[i] != want.Std[i] {
					t.Fatalf("%s: attribution %d is %v ± %v before and %v ± %v after", head, i, want.Mean[i], want.Std[i], got.Mean[i], got.Std[i])
				}
			}
			if got.Players[0] != "colour" || got.Exact != (head == "exact") {
				t.Errorf("players %v, exact %v", got.Players, got.Exact)
			}
			_, again2 := saved(t, again)
			if _, first := saved(t, m); string(first) != string(again2) {
				t.Errorf("%s: a model that was opened and saved has other bytes", head)
			}
			checkAnswers(t, m, rows, got)
		}
	}
}

// checkAnswers compares explanations, predictions and evaluation of a model.
func checkAnswers(t *testing.T, m *psi.Model, rows *table.Table, e *explain.Explanation) {
	t.Helper()
	p, err := m.Predict(t.Context(), rows.Source())
	if err != nil {
		t.Fatal(err)
	}
	d := len(e.Players)
	std := rows.Column("y")
	_, spread := meanStd(std.Numbers)
	for i := range e.Rows {
		if math.Abs(p.Mean[i]-e.Prediction[i]) > 1e-5*spread || math.Abs(p.Std[i]-e.PredictionStd[i]) > 1e-5*spread {
			t.Fatalf("row %d: predicted %v ± %v, explained %v ± %v", i, p.Mean[i], p.Std[i], e.Prediction[i], e.PredictionStd[i])
		}
		if math.Abs(e.Residual[i]) > 1e-4*spread {
			t.Errorf("row %d: residual %v", i, e.Residual[i])
		}
		for k := range d {
			if !e.Observed[i*d+k] && (e.Mean[i*d+k] != 0 || e.Std[i*d+k] != 0) {
				t.Errorf("row %d: absent %s has %v ± %v", i, e.Players[k], e.Mean[i*d+k], e.Std[i*d+k])
			}
		}
	}
	ev, err := m.Evaluate(t.Context(), rows.Source())
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for i, y := range rows.Column("y").Numbers {
		sum += (y - p.Mean[i]) * (y - p.Mean[i])
	}
	if want := math.Sqrt(sum / float64(len(p.Mean))); math.Abs(ev.Metrics[0].Value-want) > 1e-9*want {
		t.Errorf("%s = %v, want %v", ev.Metrics[0].Name, ev.Metrics[0].Value, want)
	}
}

func meanStd(x []float64) (mean, std float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		std += (v - mean) * (v - mean) / float64(len(x))
	}
	return mean, math.Sqrt(std)
}

func TestExactModeAgreesWithTheExactHead(t *testing.T) {
	rows := gappy(t, 300)
	m := trained(t, rows, psi.Config{})
	fast, err := m.Explain(t.Context(), rows.Source(), psi.ExplainOptions{Interactions: true, To: 30})
	if err != nil {
		t.Fatal(err)
	}
	exact, err := m.Explain(t.Context(), rows.Source(), psi.ExplainOptions{Mode: explain.Exact, Interactions: true, To: 30})
	if err != nil {
		t.Fatal(err)
	}
	for name, pair := range map[string][2][]float64{
		"attributions": {fast.Mean, exact.Mean}, "interactions": {fast.Interactions, exact.Interactions},
	} {
		var gap, size float64
		for i, v := range pair[1] {
			gap += (v - pair[0][i]) * (v - pair[0][i])
			size += v * v
		}
		if r := math.Sqrt(gap / size); !(r < 1e-5) {
			t.Errorf("%s differ by %.1e", name, r)
		}
	}
}

func TestAuditOfBothHeads(t *testing.T) {
	rows := gappy(t, 300)
	for _, head := range []string{"exact", "learned"} {
		m := trained(t, rows, psi.Config{Head: head})
		a, err := m.Audit(t.Context(), rows.Source(), 40)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %.2e, subgames %.2e, efficiency %.1e, stored %.2e over %d rows", head, *a.RelativeRMSE, *a.SubgameRelativeRMSE, *a.EfficiencyMax, *m.StoredAudit().RelativeRMSE, m.StoredAudit().Rows)
		if *a.EfficiencyMax > 1e-4 || a.Rows != 40 || len(a.Players) != 4 || len(a.CoalitionsError) != 4 {
			t.Errorf("%s: %+v", head, a)
		}
		if exact := *a.RelativeRMSE < 1e-4 && *a.SubgameRelativeRMSE < 1e-4; exact != (head == "exact") {
			t.Errorf("%s: relative error %g, of sub-games %g", head, *a.RelativeRMSE, *a.SubgameRelativeRMSE)
		}
		if last := a.CoalitionsError[3]; last.Kept != 1 || *last.RMSE > *a.CoalitionsError[0].RMSE {
			t.Errorf("%s: fewer cells predict better: %+v", head, a.CoalitionsError)
		}
	}
}

func TestUnknownColumnsAndRanges(t *testing.T) {
	rows := gappy(t, 300)
	m := trained(t, rows, psi.Config{})
	e, err := m.Explain(t.Context(), rows.Source(), psi.ExplainOptions{Unknown: []string{"x2"}, From: 100, To: 103})
	if err != nil {
		t.Fatal(err)
	}
	if e.FirstRow != 100 || e.Rows != 3 {
		t.Errorf("rows %d to %d", e.FirstRow, e.FirstRow+e.Rows)
	}
	for i := range 3 {
		if a := e.Attribution(i, 0, 2); a.Player != "x2" || a.Observed || a.Mean != 0 {
			t.Errorf("row %d: %+v", i, a)
		}
	}
	if _, err := m.Explain(t.Context(), rows.Source(), psi.ExplainOptions{Unknown: []string{"x9"}}); err == nil {
		t.Error("an unknown column that the model does not have was accepted")
	}
	without, err := table.New(rows.Columns[0], rows.Columns[1], rows.Columns[3])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Explain(t.Context(), without.Source(), psi.ExplainOptions{}); err == nil {
		t.Error("a table without a trained column was explained")
	}
	if _, err := m.Explain(t.Context(), without.Source(), psi.ExplainOptions{Unknown: []string{"x2"}}); err != nil {
		t.Error(err)
	}
}

// A training may be stopped at any step.
func TestInterruptedTrainingEndsInTheSameBytes(t *testing.T) {
	for _, backend := range []psi.Backend{psi.Auto, psi.Go} {
		t.Run(string(backend), func(t *testing.T) { interrupt(t, backend) })
	}
}

func interrupt(t *testing.T, backend psi.Backend) {
	rows := gappy(t, 400)
	change := func(s *psi.Settings) {
		few(s)
		s.Members = 2
	}
	_, want := saved(t, trained(t, rows, psi.Config{Backend: backend, Change: change}))
	for _, stop := range []int{1, 50, 100, 150} {
		path := filepath.Join(t.TempDir(), "m.checkpoint")
		stopAfter(t, rows, psi.Config{Target: "y", Backend: backend, Change: change, Checkpoint: path, SaveEvery: 1}, stop)
		m := trained(t, rows, psi.Config{Backend: backend, Change: change, Checkpoint: path, Resume: true})
		if _, got := saved(t, m); string(got) != string(want) {
			t.Errorf("stopped after %d steps and resumed: other bytes", stop)
		}
	}
}
