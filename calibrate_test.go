package psi

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/link"
	"github.com/psi-shapley/psi/internal/train"
	"github.com/psi-shapley/psi/table"
)

// small is a table of two columns, a target of two classes and one that is a number.
func small(t *testing.T, n int) *table.Table {
	t.Helper()
	const seed = 2
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	a, b, number, label := make([]float64, n), make([]float64, n), make([]float64, n), make([]string, n)
	for i := range n {
		a[i], b[i] = rng.NormFloat64(), rng.NormFloat64()
		number[i] = a[i] + a[i]*b[i] + 0.5*rng.NormFloat64()
		label[i] = []string{"no", "perhaps", "yes"}[min(2, max(0, int(math.Round(number[i]+1))))]
	}
	rows, err := table.New(table.NumberColumn("a", a, nil), table.NumberColumn("b", b, nil),
		table.NumberColumn("number", number, nil), table.CategoryColumn("label", label, nil))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func trainSmall(t *testing.T, rows *table.Table, target, other string, members int) *Model {
	t.Helper()
	m, err := Train(t.Context(), rows.Source(), Config{
		Target: target, Drop: []string{other}, Backend: "go", ValidationFraction: 0.4,
		Change: func(s *Settings) {
			s.Bags, s.Channels, s.Embedding, s.Bins, s.Frequencies, s.Rate, s.Decay = 2, 8, 8, 8, 0, 1e-2, 1e-3
			s.Batch, s.Steps, s.RefitSteps, s.SpreadSteps, s.Members = 32, 60, 10, 15, members
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

func explainSmall(t *testing.T, m *Model, rows *table.Table) *explain.Explanation {
	t.Helper()
	e, err := m.Explain(t.Context(), rows.Source(), ExplainOptions{Interactions: true})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// lossOf is what a and b of a calibration are to make least, from scores and probabilities by their definition: the log loss
// of copies of rows that keep shares of their cells, a row counting once, and the priors of log a and b.
func lossOf(m *Model, copies []maskedPass, d train.Data, a, b float64) float64 {
	base := m.manifest.Scale.Base
	c := len(base)
	sum := 0.0
	for _, x := range copies {
		for i, y := range d.Target {
			slope := a * math.Exp(b*(1-x.shares[i]))
			scores, variances, p := make([]float64, c), make([]float64, c), make([]float64, c)
			for k := range c {
				scores[k] = base[k] + slope*float64(x.answer.Value[i*c+k])
				variances[k] = x.answer.Variance[i*c+k] - float64(x.answer.HiddenVariance[i*c+k])
				if c > 2 && x.answer.Disagreement != nil {
					variances[k] -= float64(x.answer.Disagreement[i*c+k])
				}
				variances[k] *= slope * slope
			}
			if c == 1 {
				positive := link.LogisticNormal(scores[0], math.Sqrt(max(0, variances[0])))
				p = []float64{1 - positive, positive}
			} else {
				link.SoftmaxNormal(scores, variances, p)
			}
			sum -= float64(d.Weight[i]) * math.Log(p[int(y)]) / float64(len(copies))
		}
	}
	return sum + 2*math.Log(a)*math.Log(a) + b*b/2
}

// a and b are where the log loss of rows and of their masked copies, and what is believed of them before, are least.
func TestScaleIsTheBestOfAGrid(t *testing.T) {
	rows := small(t, 250)
	for _, c := range []struct{ classes, members int }{{3, 1}, {3, 2}, {2, 1}} {
		m := trainSmall(t, ofClasses(t, rows, c.classes), "label", "number", c.members)
		chunk, err := m.chunk(rows, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		y, err := m.truth(ofClasses(t, rows, c.classes))
		if err != nil {
			t.Fatal(err)
		}
		d := train.Data{Rows: chunk.batch}
		for i, v := range y {
			d.Target, d.Weight = append(d.Target, float32(v)), append(d.Weight, float32(1+i%3)/2)
		}
		copies, err := m.maskedPasses(t.Context(), d.Rows, 1)
		if err != nil {
			t.Fatal(err)
		}
		scale := float32(1)
		for _, times := range []float32{0.5, 3, 5} { // scores that are too flat, and too steep
			scale *= times
			for _, x := range copies {
				for i := range x.answer.Value {
					x.answer.Value[i] *= times
				}
			}
			a, b := m.bestScale(copies, d)
			got, best := lossOf(m, copies, d, a, b), math.Inf(1)
			for logA := -2.0; logA <= 2; logA += 0.25 {
				for other := -2.0; other <= 2; other += 0.25 {
					best = min(best, lossOf(m, copies, d, math.Exp(logA), other))
				}
			}
			for _, by := range []float64{-1e-3, 1e-3} { // and nothing nearby is better
				best = min(best, lossOf(m, copies, d, a*(1+by), b), lossOf(m, copies, d, a, b+by))
			}
			t.Logf("%d classes, scores × %g: a = %.3f, b = %.3f, loss %.5f, of the grid %.5f", c.classes, scale, a, b, got, best)
			if !(got <= best+1e-6) {
				t.Errorf("a = %g, b = %g have a loss of %g, others %g", a, b, got, best)
			}
		}
	}
}

// ofClasses are the rows of small with so many classes.
func ofClasses(t *testing.T, rows *table.Table, classes int) *table.Table {
	t.Helper()
	if classes == 3 {
		return rows
	}
	labels := make([]string, rows.Rows())
	for i := range labels {
		labels[i] = strconv.FormatBool(rows.Column("label").Text(i) == "yes")
	}
	made, err := table.New(append(slices.Clone(rows.Columns[:3]), table.CategoryColumn("label", labels, nil))...)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// The rows that a and b are fitted on are all of few, or as many as are wanted, with their targets and weights.
func TestAtMostSomeRows(t *testing.T) {
	d := train.Data{Rows: encode.NewBatch(10, 1, 1)}
	for i := range 10 {
		d.Rows.Numbers[2*i], d.Rows.Observed[2*i] = float32(i), 1
		d.Target, d.Weight = append(d.Target, float32(i)), append(d.Weight, float32(10*i))
	}
	if all := atMost(d, 10); all.Rows != d.Rows {
		t.Error("rows that are few enough were copied")
	}
	some := atMost(d, 4)
	if !slices.Equal(some.Target, []float32{0, 2, 5, 7}) || !slices.Equal(some.Weight, []float32{0, 20, 50, 70}) || some.Len() != 4 {
		t.Errorf("targets %v, weights %v", some.Target, some.Weight)
	}
	for i, y := range some.Target {
		if some.Rows.Numbers[2*i] != y || some.Rows.Observed[2*i] != 1 || some.Rows.Observed[2*i+1] != 0 {
			t.Errorf("row %d is another one", i)
		}
	}
}

// A calibration that no training gives is refused, and so is one of another task.
func TestInvalidCalibrations(t *testing.T) {
	for _, c := range []struct {
		name  string
		is    Calibration
		task  Task
		valid bool
	}{
		{"a number", Calibration{Temperature: 1, Noise: 0.5}, Regression, true},
		{"classes", Calibration{Scale: 1.2, Slope: -0.4}, Binary, true},
		{"classes of older files", Calibration{Temperature: 1.3}, Multiclass, true},
		{"a number with a scale", Calibration{Temperature: 1, Scale: 1}, Regression, false},
		{"a number with a slope", Calibration{Temperature: 1, Slope: 1}, Regression, false},
		{"a scale and a temperature", Calibration{Temperature: 1, Scale: 1}, Binary, false},
		{"a slope and a temperature", Calibration{Temperature: 1, Slope: 1}, Binary, false},
		{"neither", Calibration{}, Binary, false},
		{"a tiny scale", Calibration{Scale: 1e-300}, Binary, false},
		{"a huge scale", Calibration{Scale: 1e300}, Binary, false},
		{"a negative scale", Calibration{Scale: -1}, Binary, false},
		{"a huge slope", Calibration{Scale: 1, Slope: 1e3}, Binary, false},
		{"huge noise", Calibration{Scale: 1, Noise: 1e308}, Binary, false},
	} {
		if err := c.is.validate(c.task, 1); (err == nil) != c.valid {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// wantScaled sees that numbers are those of another explanation, times a factor.
func wantScaled(t *testing.T, name string, factor float64, of, got []float64) {
	t.Helper()
	if len(of) == 0 || len(of) != len(got) {
		t.Fatalf("%d and %d %s", len(of), len(got), name)
	}
	for i, v := range of {
		if math.Abs(factor*v-got[i]) > 1e-12*(1+math.Abs(v)) {
			t.Fatalf("%s: %v times %v is %v", name, v, factor, got[i])
		}
	}
}

// Attributions and all deviations are multiplied by a, the base is not, and scores are what they add up to.
func TestScaleLeavesTheBase(t *testing.T) {
	rows := small(t, 120)
	m := trainSmall(t, rows, "label", "number", 2)
	of := func(scale float64) *explain.Explanation {
		m.manifest.Calibration = Calibration{Scale: scale}
		return explainSmall(t, m, rows)
	}
	const scale = 2.5
	one, steep := of(1), of(scale)
	wantScaled(t, "base", 1, one.Base, steep.Base)
	for name, pair := range map[string][2][]float64{
		"score deviations": {one.PredictionStd, steep.PredictionStd}, "hidden deviations": {one.HiddenStd, steep.HiddenStd},
		"attributions": {one.Mean, steep.Mean}, "σ": {one.Std, steep.Std}, "doubt": {one.ModelStd, steep.ModelStd},
		"residuals": {one.Residual, steep.Residual}, "interactions": {one.Interactions, steep.Interactions},
	} {
		wantScaled(t, name, scale, pair[0], pair[1])
	}
	d := len(steep.Players)
	for line, want := range steep.Prediction {
		sum := steep.Base[line] + steep.Residual[line]
		for _, phi := range steep.Mean[line*d : (line+1)*d] {
			sum += phi
		}
		if math.Abs(sum-want) > 1e-12*(1+math.Abs(want)) {
			t.Fatalf("line %d: base and attributions add up to %v, not to %v", line, sum, want)
		}
	}
	if one.Probability[0] == steep.Probability[0] {
		t.Error("the scale changes no probability")
	}
}

// κ changes the probabilities of rows with gaps and nothing else. Theirs are those of scores that lie κ times as far from
// the base, whose deviation is κ times as large. For three classes that is the deviation without the members' disagreement.
func TestSlopeIsOfProbabilitiesAlone(t *testing.T) {
	rows := small(t, 120)
	for _, classes := range []int{2, 3} {
		m := trainSmall(t, ofClasses(t, rows, classes), "label", "number", 2)
		const scale, slope = 1.3, 0.8
		of := func(slope float64) (whole, half *explain.Explanation) {
			m.manifest.Calibration = Calibration{Scale: scale, Slope: slope}
			var err error
			if half, err = m.Explain(t.Context(), rows.Source(), ExplainOptions{Unknown: []string{"b"}}); err != nil {
				t.Fatal(err)
			}
			return explainSmall(t, m, rows), half
		}
		straight, plain := of(0)
		bent, steep := of(slope)
		if straight.Slope != nil || plain.Slope != nil {
			t.Error("models without a slope tell one")
		}
		wantScaled(t, "probabilities of whole rows", 1, straight.Probability, bent.Probability)
		wantScaled(t, "scores", 1, plain.Prediction, steep.Prediction)
		wantScaled(t, "deviations", 1, plain.PredictionStd, steep.PredictionStd)
		wantScaled(t, "attributions", 1, plain.Mean, steep.Mean)
		kappa := math.Exp(slope / 2) // one column of two is known
		c := len(steep.Outputs)
		for i := range steep.Rows {
			if bent.Slope[i] != 1 || math.Abs(steep.Slope[i]-kappa) > 1e-12 {
				t.Fatalf("κ is %v of a whole row and %v of half of one, want 1 and %v", bent.Slope[i], steep.Slope[i], kappa)
			}
			scores, variances, p := make([]float64, c), make([]float64, c), make([]float64, c)
			for k := range c {
				at := i*c + k
				scores[k] = steep.Base[at] + kappa*(steep.Prediction[at]-steep.Base[at])
				variances[k] = kappa * kappa * (square(steep.PredictionStd[at]) - square(steep.HiddenStd[at]))
				if c > 1 {
					variances[k] = kappa * kappa * square(scale) * m.own.NoiseVariance()[k]
					for _, s := range steep.Std[at*len(steep.Players) : (at+1)*len(steep.Players)] {
						variances[k] += kappa * kappa * square(s)
					}
				}
			}
			if c == 1 {
				p[0] = link.LogisticNormal(scores[0], math.Sqrt(max(0, variances[0])))
			} else {
				link.SoftmaxNormal(scores, variances, p)
			}
			for k := range c {
				if at := i*c + k; math.Abs(steep.Probability[at]-p[k]) > 1e-7 || steep.Probability[at] == plain.Probability[at] {
					t.Fatalf("row %d: probability %v, want %v; without κ %v", i, steep.Probability[at], p[k], plain.Probability[at])
				}
			}
		}
	}
}

// A file of classes with a temperature is read and saved as it was: it requires no scale, and φ_0 is divided too.
func TestTemperatureOfOlderFiles(t *testing.T) {
	rows := small(t, 120)
	m := trainSmall(t, rows, "label", "number", 1)
	base := slices.Clone(m.bases())
	const temperature = 1.25
	m.manifest.Calibration = Calibration{Temperature: temperature}
	if got := m.manifest.requires(); !slices.Equal(got, []string{productFeature, bagsFeature, sharedSigmaFeature}) {
		t.Errorf("requires %q", got)
	}
	path := t.TempDir() + "/m.psi"
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	again, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if c := again.manifest.Calibration; c.Temperature != temperature || c.Scale != 0 || c.Slope != 0 {
		t.Errorf("calibration %+v", c)
	}
	wantScaled(t, "base", 1/temperature, base, again.bases())
	if again.unit() != 1/temperature {
		t.Errorf("scores are divided by %v", 1/again.unit())
	}
}

// In files that have a temperature, scores, base, attributions and all deviations are divided by it.
func TestTemperatureDividesAll(t *testing.T) {
	rows := small(t, 120)
	m := trainSmall(t, rows, "label", "number", 2)
	of := func(temperature float64) *explain.Explanation {
		m.manifest.Calibration = Calibration{Temperature: temperature}
		return explainSmall(t, m, rows)
	}
	const temperature = 2.5
	one, hot := of(1), of(temperature)
	for name, pair := range map[string][2][]float64{
		"base": {one.Base, hot.Base}, "scores": {one.Prediction, hot.Prediction}, "their deviations": {one.PredictionStd, hot.PredictionStd},
		"attributions": {one.Mean, hot.Mean}, "σ": {one.Std, hot.Std}, "doubt": {one.ModelStd, hot.ModelStd},
		"residuals": {one.Residual, hot.Residual}, "interactions": {one.Interactions, hot.Interactions},
	} {
		wantScaled(t, name, 1/temperature, pair[0], pair[1])
	}
	if one.Probability[0] == hot.Probability[0] {
		t.Error("the temperature changes no probability")
	}
}
