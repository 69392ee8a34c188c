package psi_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/eval"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/artifact"
	"github.com/psi-shapley/psi/internal/link"
	"github.com/psi-shapley/psi/table"
)

func newRand(t testing.TB, seed uint64) *rand.Rand {
	t.Helper()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// people is a table of all kinds of columns, with gaps, and a target of up to four classes.
// Its columns are in another order than the encoder's.
func people(t testing.TB, rng *rand.Rand, n, classes int) *table.Table {
	t.Helper()
	towns, names := []string{"Aix", "Bonn", "Cork", "Dax"}, []string{"low", "mid", "top", "vip"}
	visit, town, y := make([]time.Time, n), make([]string, n), make([]string, n)
	age, size := make([]float64, n), make([]float64, n)
	ageSeen, townSeen := make([]bool, n), make([]bool, n)
	for i := range n {
		visit[i] = time.Date(2020, 1, 1+rng.IntN(1200), 0, 0, 0, 0, time.UTC)
		where := rng.IntN(len(towns))
		town[i], townSeen[i] = towns[where], rng.IntN(10) > 0
		age[i], ageSeen[i] = 20+60*rng.Float64(), rng.IntN(10) > 0
		size[i] = rng.NormFloat64()
		score := (age[i]-50)/20 + float64(where) - 1.5 + size[i]*(age[i]-50)/30 + 0.5*rng.NormFloat64()
		if visit[i].Weekday() == time.Sunday {
			score++
		}
		y[i] = names[min(max(0, int(math.Floor(score+float64(classes)/2))), classes-1)]
	}
	rows, err := table.New(
		table.TimeColumn("visit", visit, nil), table.CategoryColumn("town", town, townSeen),
		table.NumberColumn("age", age, ageSeen), table.NumberColumn("size", size, nil), table.CategoryColumn("y", y, nil))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func explained(t testing.TB, m *psi.Model, rows *table.Table, o psi.ExplainOptions) *explain.Explanation {
	t.Helper()
	e, err := m.Explain(t.Context(), rows.Source(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Validate(); err != nil {
		t.Fatal(err)
	}
	return e
}

func predicted(t testing.TB, m *psi.Model, rows *table.Table) *psi.Prediction {
	t.Helper()
	p, err := m.Predict(t.Context(), rows.Source())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// reopened is the model as its file holds it, which must be the same.
func reopened(t testing.TB, m *psi.Model) *psi.Model {
	t.Helper()
	path, first := saved(t, m)
	again, err := psi.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(again.Close)
	if _, second := saved(t, again); !bytes.Equal(first, second) {
		t.Error("a model that was opened and saved has other bytes")
	}
	return again
}

// addUp fails unless base, attributions and residual are the prediction, and the residual
// is small.
func addUp(t testing.TB, e *explain.Explanation) {
	t.Helper()
	d := len(e.Players)
	for line, want := range e.Prediction {
		sum := e.Base[line] + e.Residual[line]
		for _, phi := range e.Mean[line*d : (line+1)*d] {
			sum += phi
		}
		if math.Abs(sum-want) > 1e-9 || !(math.Abs(e.Residual[line]) < 1e-4) {
			t.Fatalf("line %d: %v of %v, residual %v", line, sum, want, e.Residual[line])
		}
	}
}

// near fails unless numbers are those wanted but for the rounding of single precision.
func near(t testing.TB, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-5*(1+math.Abs(want))) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func metric(t testing.TB, e *eval.Evaluation, name string) float64 {
	t.Helper()
	i := slices.IndexFunc(e.Metrics, func(m eval.Metric) bool { return m.Name == name })
	if i < 0 {
		t.Fatalf("no %s among %v", name, e.Metrics)
	}
	return e.Metrics[i].Value
}

// doubt is the variance of a score without what missing cells add to it.
func doubt(e *explain.Explanation, line int) float64 {
	return max(0, e.PredictionStd[line]*e.PredictionStd[line]-e.HiddenStd[line]*e.HiddenStd[line])
}

// slopeOf is κ = exp(b(1 − s)) of a row, s being the share of its columns that are observed, each of them a player.
func slopeOf(m *psi.Model, e *explain.Explanation, row int) float64 {
	d, known := len(e.Players), 0.0
	for _, seen := range e.Observed[row*d : (row+1)*d] {
		if seen {
			known++
		}
	}
	return math.Exp(m.Manifest().Calibration.Slope * (1 - known/float64(d)))
}

func TestTwoClasses(t *testing.T) {
	rng := newRand(t, 1)
	rows, held := people(t, rng, 300, 2), people(t, rng, 100, 2)
	for _, head := range []string{"exact", "learned"} {
		m := trained(t, rows, psi.Config{Head: head, Validation: held.Source(), Positive: "low", Change: quick})
		if c := m.Manifest(); c.Task != psi.Binary || !slices.Equal(c.Classes(), []string{"mid", "low"}) {
			t.Fatalf("%s of %v", c.Task, c.Classes())
		}
		e, p := explained(t, m, rows, psi.ExplainOptions{}), predicted(t, m, rows)
		if !slices.Equal(e.Outputs, []string{"low"}) || e.Scale != explain.Logit || !slices.Equal(e.Players, []string{"visit", "town", "age", "size"}) {
			t.Errorf("outputs %v on %s, players %v", e.Outputs, e.Scale, e.Players)
		}
		addUp(t, e)
		checkTwoClasses(t, m, rows, e, p)

		again := reopened(t, m)
		after := explained(t, again, rows, psi.ExplainOptions{})
		if !slices.Equal(after.Mean, e.Mean) || !slices.Equal(after.Std, e.Std) || !slices.Equal(after.Probability, e.Probability) || !slices.Equal(after.Base, e.Base) {
			t.Errorf("%s: other numbers after saving", head)
		}
		if head == "learned" {
			continue
		}
		a, err := again.Audit(t.Context(), held.Source(), 20)
		if err != nil {
			t.Fatal(err)
		}
		if !(*a.RelativeRMSE < 1e-4) || a.CoalitionsError[3].RMSE != nil || !(*a.CoalitionsError[3].LogLoss < *a.CoalitionsError[0].LogLoss) {
			t.Errorf("audit: %+v", a)
		}
	}
}

// checkTwoClasses compares what a model of two classes says with what follows from its scores.
func checkTwoClasses(t *testing.T, m *psi.Model, rows *table.Table, e *explain.Explanation, p *psi.Prediction) {
	t.Helper()
	y := rows.Column("y")
	positives, loss, brier, right := 0, 0.0, 0.0, 0.0
	for i := range e.Rows {
		k := slopeOf(m, e, i)
		want := link.LogisticNormal(e.Base[i]+k*(e.Prediction[i]-e.Base[i]), k*math.Sqrt(doubt(e, i)))
		near(t, "probability", e.Probability[i], want)
		near(t, "predicted probability", p.Probability[i], want)
		near(t, "score", p.Mean[i], e.Prediction[i])
		near(t, "its deviation", p.Std[i], e.PredictionStd[i])
		label := p.Classes[p.Label(i)]
		if (label == "low") != (p.Probability[i] >= 0.5) {
			t.Errorf("row %d: %s with P(low) = %v", i, label, p.Probability[i])
		}
		truth, chance := 0.0, 1-p.Probability[i]
		if y.Text(i) == "low" {
			positives++
			truth, chance = 1, p.Probability[i]
		}
		n := float64(e.Rows)
		loss -= math.Log(chance) / n
		brier += (truth - p.Probability[i]) * (truth - p.Probability[i]) / n
		if label == y.Text(i) {
			right += 1 / n
		}
	}
	odds := float64(positives) / float64(e.Rows-positives)
	near(t, "base", e.Base[0], math.Log(odds))
	ev, err := m.Evaluate(t.Context(), rows.Source())
	if err != nil {
		t.Fatal(err)
	}
	near(t, "log loss", metric(t, ev, "log_loss"), loss)
	near(t, "Brier score", metric(t, ev, "brier"), brier)
	near(t, "accuracy", metric(t, ev, "accuracy"), right)
	if auroc := metric(t, ev, "auroc"); auroc < 0.7 {
		t.Errorf("an area of %v under the curve: nothing was learned", auroc)
	}
	out, err := p.Table()
	if err != nil {
		t.Fatal(err)
	}
	if c := out.Column("prediction"); c.Text(0) != p.Classes[p.Label(0)] || out.Column("probability").Numbers[0] != p.Probability[0] || out.Column("score") == nil {
		t.Errorf("columns of predictions: %v", out.Columns)
	}
}

func TestMoreClasses(t *testing.T) {
	rng := newRand(t, 2)
	rows, held := people(t, rng, 300, 3), people(t, rng, 100, 3)
	const classes = 3
	for _, head := range []string{"exact", "learned"} {
		m := trained(t, rows, psi.Config{Head: head, Validation: held.Source(), Change: quick})
		if c := m.Manifest(); c.Task != psi.Multiclass || !slices.Equal(c.Classes(), []string{"low", "mid", "top"}) {
			t.Fatalf("%s of %v", c.Task, c.Classes())
		}
		e, p := explained(t, m, rows, psi.ExplainOptions{}), predicted(t, m, rows)
		addUp(t, e)
		d := len(e.Players)
		chances, loss := make([]float64, classes), 0.0
		for i := range e.Rows {
			from := i * classes
			scores, variances, k := make([]float64, classes), make([]float64, classes), slopeOf(m, e, i)
			for c := range variances {
				scores[c], variances[c] = e.Base[from+c]+k*(e.Prediction[from+c]-e.Base[from+c]), k*k*doubt(e, from+c)
			}
			link.SoftmaxNormal(scores, variances, chances)
			sum := 0.0
			for c, want := range chances {
				near(t, "probability", e.Probability[from+c], want)
				near(t, "predicted probability", p.Probability[from+c], want)
				sum += e.Prediction[from+c]
			}
			near(t, "sum of the classes' scores", sum, 0)
			near(t, "sum of the classes' bases", e.Base[from]+e.Base[from+1]+e.Base[from+2], 0)
			for k := range d {
				near(t, "sum over classes of an attribution", e.Mean[from*d+k]+e.Mean[(from+1)*d+k]+e.Mean[(from+2)*d+k], 0)
			}
			class := slices.Index(p.Classes, rows.Column("y").Text(i))
			loss -= math.Log(p.Probability[from+class]) / float64(e.Rows)
		}
		ev, err := m.Evaluate(t.Context(), rows.Source())
		if err != nil {
			t.Fatal(err)
		}
		near(t, "log loss", metric(t, ev, "log_loss"), loss)
		if naive := math.Log(classes); loss > 0.9*naive {
			t.Errorf("log loss %v: nothing was learned", loss)
		}
		checkOutputs(t, m, rows, e)
		again := explained(t, reopened(t, m), rows, psi.ExplainOptions{})
		if !slices.Equal(again.Mean, e.Mean) || !slices.Equal(again.Probability, e.Probability) {
			t.Errorf("%s: other numbers after saving", head)
		}
	}
}

// checkOutputs asks for one class, and for one against another.
func checkOutputs(t *testing.T, m *psi.Model, rows *table.Table, all *explain.Explanation) {
	t.Helper()
	const classes = 3
	top := explained(t, m, rows, psi.ExplainOptions{Output: "top"})
	lead := explained(t, m, rows, psi.ExplainOptions{Output: "top", Against: "low"})
	d := len(all.Players)
	if !slices.Equal(top.Outputs, []string{"top"}) || len(lead.Outputs) != 1 || lead.Probability != nil || top.Scale != explain.Score {
		t.Fatalf("outputs %v and %v", top.Outputs, lead.Outputs)
	}
	for i := range all.Rows {
		low, high := i*classes, i*classes+2
		if top.Prediction[i] != all.Prediction[high] || top.Probability[i] != all.Probability[high] || lead.Prediction[i] != all.Prediction[high]-all.Prediction[low] {
			t.Fatalf("row %d: predictions %v and %v", i, top.Prediction[i], lead.Prediction[i])
		}
		for k := range d {
			a, b := high*d+k, low*d+k
			if top.Mean[i*d+k] != all.Mean[a] || top.Std[i*d+k] != all.Std[a] || lead.Mean[i*d+k] != all.Mean[a]-all.Mean[b] {
				t.Fatalf("row %d: attributions of %s", i, all.Players[k])
			}
			near(t, "deviation of a difference", lead.Std[i*d+k], math.Hypot(all.Std[a], all.Std[b]))
		}
	}
	for _, o := range []psi.ExplainOptions{{Output: "vip"}, {Against: "low"}, {Output: "low", Against: "low"}} {
		if _, err := m.Explain(t.Context(), rows.Source(), o); err == nil {
			t.Errorf("%q against %q was explained", o.Output, o.Against)
		}
	}
}

// Two classes are binary, whatever was asked for.
func TestTwoClassesAreBinary(t *testing.T) {
	rows := people(t, newRand(t, 3), 60, 2)
	noted := false
	m := trained(t, rows, psi.Config{
		Task: psi.Multiclass, Change: moment,
		Progress: func(p psi.Progress) { noted = noted || bytes.Contains([]byte(p.Note), []byte("binary")) },
	})
	e := explained(t, m, rows, psi.ExplainOptions{To: 3})
	if m.Manifest().Task != psi.Binary || len(e.Outputs) != 1 || e.Scale != explain.Logit || !noted {
		t.Errorf("task %s, outputs %v on %s, said so: %v", m.Manifest().Task, e.Outputs, e.Scale, noted)
	}
}

// quick are settings that learn something of classes in a moment.
func quick(s *psi.Settings) {
	few(s)
	s.Rate, s.Decay, s.Batch, s.Steps, s.SpreadSteps, s.PolishSteps = 1e-2, 1e-3, 32, 50, 10, 10
}

// moment are settings for tests of what training does not change.
func moment(s *psi.Settings) {
	few(s)
	s.Steps, s.RefitSteps, s.PolishSteps, s.SpreadSteps = 3, 1, 1, 2
}

// A row of which nothing is known has the shares of the classes among the training rows for probabilities, and the base for
// its score.
func TestNothingKnownIsTheBaseRate(t *testing.T) {
	for _, classes := range []int{2, 3, 4} {
		for _, head := range []string{"exact", "learned"} {
			rng := newRand(t, uint64(classes))
			rows, held := people(t, rng, 300, classes), people(t, rng, 120, classes)
			m := reopened(t, trained(t, rows, psi.Config{Head: head, Validation: held.Source(), Change: func(s *psi.Settings) {
				quick(s)
				s.Members = 2
			}}))
			manifest := m.Manifest()
			if c := manifest.Calibration; c.Scale == 1 || c.Slope == 0 {
				t.Fatalf("calibration %+v: nothing to see", c)
			}
			shares := make([]float64, classes)
			for i := range rows.Rows() {
				shares[slices.Index(manifest.Classes(), rows.Column("y").Text(i))] += 1 / float64(rows.Rows())
			}
			if classes == 2 {
				shares = shares[1:]
			}
			e := explained(t, m, rows.Select([]int{0, 1}), psi.ExplainOptions{Unknown: m.Columns()})
			for i, p := range e.Probability {
				if want := shares[i%len(shares)]; !(math.Abs(p-want) <= 1e-6) {
					t.Errorf("%d classes, %s head: probability %.8f of nothing known, base rate %.8f", classes, head, p, want)
				}
				near(t, "score of nothing known", e.Prediction[i], e.Base[i])
			}
		}
	}
}

// The attributions of a calibrated model of classes are the Shapley values of the scores that it predicts of the row's
// coalitions: each is asked for as a row of its own, with the cells of other players missing.
func TestAttributionsAreOfPredictedScores(t *testing.T) {
	rng := newRand(t, 7)
	for _, classes := range []int{2, 3} {
		rows := people(t, rng, 200, classes)
		m := trained(t, rows, psi.Config{Change: quick})
		whole := people(t, rng, 3, classes)
		players := m.Columns()
		d, n := len(players), whole.Rows()
		scores := make([][]float64, 1<<d) // of a coalition [rows, outputs]
		for s := range scores {
			var unknown []string
			for j, name := range players {
				if s>>j&1 == 0 {
					unknown = append(unknown, name)
				}
			}
			scores[s] = explained(t, m, whole, psi.ExplainOptions{Unknown: unknown}).Prediction
		}
		for _, mode := range []explain.Mode{explain.Fast, explain.Exact} {
			e := explained(t, m, whole, psi.ExplainOptions{Mode: mode})
			addUp(t, e)
			for line := range len(scores[0]) {
				near(t, "empty coalition", scores[0][line], e.Base[line])
				for j := range d {
					want := 0.0
					for s := range scores {
						if s>>j&1 == 0 {
							want += weightOf(s, d) * (scores[s|1<<j][line] - scores[s][line])
						}
					}
					near(t, string(mode)+" attribution", e.Mean[line*d+j], want)
				}
			}
			if len(e.Mean) != n*len(e.Outputs)*d {
				t.Errorf("%d attributions", len(e.Mean))
			}
		}
	}
}

// weightOf is |S|! (d − |S| − 1)! / d! of a coalition S of d players.
func weightOf(s, d int) float64 {
	size := 0
	for j := range d {
		size += s >> j & 1
	}
	return math.Gamma(float64(size+1)) * math.Gamma(float64(d-size)) / math.Gamma(float64(d+1))
}

// A program that would divide the base too must not read a model of classes, and may read one of a number.
func TestScaleIsRequired(t *testing.T) {
	_, content := saved(t, trained(t, people(t, newRand(t, 8), 100, 3), psi.Config{Change: moment}))
	file, err := artifact.Read(content, artifact.Model)
	if err != nil || !slices.Equal(file.Requires, []string{"product", "scale", "shared-sigma"}) {
		t.Errorf("requires %q, %v", file.Requires, err)
	}
}
