package eval

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// outcome is a row of a binary target.
type outcome struct {
	positive            bool
	probability, weight float64
}

func measured(rows []outcome) *Binary {
	b := &Binary{}
	for _, r := range rows {
		b.Add(r.positive, r.probability, r.weight)
	}
	return b
}

// randomOutcomes have many ties, and weights of all sizes, 0 among them.
func randomOutcomes(rng *rand.Rand, n int) []outcome {
	rows := make([]outcome, n)
	for i := range rows {
		p := float64(rng.IntN(40)) / 39
		rows[i] = outcome{rng.Float64() < p, p, float64(rng.IntN(4)) / 2}
	}
	return rows
}

// pairs is the area under the curve by counting all pairs of rows.
func pairs(rows []outcome) float64 {
	right, all := 0.0, 0.0
	for _, a := range rows {
		for _, b := range rows {
			if !a.positive || b.positive {
				continue
			}
			all += a.weight * b.weight
			switch {
			case a.probability > b.probability:
				right += a.weight * b.weight
			case a.probability == b.probability:
				right += a.weight * b.weight / 2
			}
		}
	}
	return right / all
}

// steps is the average precision by going through the thresholds.
func steps(rows []outcome) float64 {
	share := func(threshold float64) (precision, recall float64) {
		hits, taken, positive := 0.0, 0.0, 0.0
		for _, r := range rows {
			if r.positive {
				positive += r.weight
			}
			if r.probability >= threshold {
				taken += r.weight
				if r.positive {
					hits += r.weight
				}
			}
		}
		return hits / taken, hits / positive
	}
	var thresholds []float64
	for _, r := range rows {
		if r.weight > 0 {
			thresholds = append(thresholds, r.probability)
		}
	}
	slices.Sort(thresholds)
	sum, before := 0.0, 0.0
	for _, threshold := range slices.Backward(slices.Compact(thresholds)) {
		precision, recall := share(threshold)
		sum += (recall - before) * precision
		before = recall
	}
	return sum
}

func TestBinaryIsTheNaiveComputation(t *testing.T) {
	rng := newRand(t)
	rows := randomOutcomes(rng, 300)
	b := measured(rows)
	weighed := func(term func(r outcome) float64) float64 {
		sum, weight := 0.0, 0.0
		for _, r := range rows {
			sum += r.weight * term(r)
			weight += r.weight
		}
		return sum / weight
	}
	label := func(r outcome) float64 {
		if r.positive {
			return 1
		}
		return 0
	}
	near(t, "auroc", b.AUROC(), pairs(rows))
	near(t, "average_precision", b.AveragePrecision(), steps(rows))
	near(t, "log_loss", b.LogLoss(), weighed(func(r outcome) float64 {
		p := max(1e-15, min(r.probability, 1-1e-15))
		return -label(r)*math.Log(p) - (1-label(r))*math.Log(1-p)
	}))
	near(t, "brier", b.Brier(), weighed(func(r outcome) float64 { return math.Pow(label(r)-r.probability, 2) }))
	near(t, "accuracy", b.Accuracy(), weighed(func(r outcome) float64 {
		if (r.probability >= 0.5) == r.positive {
			return 1
		}
		return 0
	}))
	near(t, "ece", b.ECE(), func() float64 {
		gap, total := 0.0, 0.0
		for bin := range 15 {
			weight, sum := 0.0, 0.0
			for _, r := range rows {
				if i := math.Floor(r.probability * 15); i == float64(bin) || i == 15 && bin == 14 {
					weight += r.weight
					sum += r.weight * (label(r) - r.probability)
				}
			}
			gap += math.Abs(sum)
			total += weight
		}
		return gap / total
	}())
}

// The values are scikit-learn 1.9.1's: roc_auc_score, average_precision_score, log_loss,
// brier_score_loss and accuracy_score of the rows below, without sample_weight and with.
func TestBinaryOfScikitLearn(t *testing.T) {
	labels := []int{0, 1, 1, 0, 1, 0, 0, 1, 0, 1}
	probabilities := []float64{.1, .8, .35, .4, .4, .05, .7, .95, .4, .6}
	weights := []float64{1, 2, .5, 1, 3, 1, .25, 1, 2, .75}
	var plain, weighed Binary
	for i, label := range labels {
		plain.Add(label == 1, probabilities[i], 1)
		weighed.Add(label == 1, probabilities[i], weights[i])
	}
	for _, c := range []struct {
		b    *Binary
		want [5]float64
	}{
		{&plain, [5]float64{0.76, 0.7892857142857144, 0.5133653187743878, 0.18075, 0.7}},
		{&weighed, [5]float64{0.8144499178981937, 0.8377052545155994, 0.4915685404109681, 0.1687, 0.7}},
	} {
		for i, got := range []float64{c.b.AUROC(), c.b.AveragePrecision(), c.b.LogLoss(), c.b.Brier(), c.b.Accuracy()} {
			near(t, []string{"auroc", "average_precision", "log_loss", "brier", "accuracy"}[i], got, c.want[i])
		}
	}
}

// A weight of 2 is the row twice, one of 0 is none.
func TestWeightsAreRows(t *testing.T) {
	rng := newRand(t)
	var weighed, repeated Binary
	var classes, repeatedClasses Multiclass
	var numbers, repeatedNumbers Regression
	counted := 0
	for range 200 {
		p, positive, times := rng.Float64(), rng.IntN(2) == 0, rng.IntN(3)
		class, shares := rng.IntN(3), []float64{p, (1 - p) / 3, 2 * (1 - p) / 3}
		y, std := rng.NormFloat64(), 0.5+p
		counted += min(times, 1)
		weighed.Add(positive, p, float64(times))
		classes.Add(class, shares, float64(times))
		numbers.Add(y, p, std, float64(times))
		for range times {
			repeated.Add(positive, p, 1)
			repeatedClasses.Add(class, shares, 1)
			repeatedNumbers.Add(y, p, std, 1)
		}
	}
	for _, c := range [][2]Evaluation{
		{weighed.Evaluation(), repeated.Evaluation()},
		{classes.Evaluation(), repeatedClasses.Evaluation()},
		{numbers.Evaluation(), repeatedNumbers.Evaluation()},
	} {
		for i, m := range c[0].Metrics {
			near(t, c[0].Task+" "+m.Name, m.Value, c[1].Metrics[i].Value)
		}
		if c[0].Rows != counted {
			t.Errorf("%s of %d rows, not %d", c[0].Task, c[0].Rows, counted)
		}
	}
}

func TestBinaryOfKnownRows(t *testing.T) {
	perfect := measured([]outcome{{true, 1, 1}, {false, 0, 1}})
	wrong := measured([]outcome{{true, 0, 1}, {false, 1, 1}})
	idle := measured([]outcome{{true, 0.25, 1}, {false, 0.25, 3}})
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"perfect auroc", perfect.AUROC(), 1},
		{"perfect average precision", perfect.AveragePrecision(), 1},
		{"perfect ece", perfect.ECE(), 0},
		{"wrong auroc", wrong.AUROC(), 0},
		{"wrong log loss", wrong.LogLoss(), -math.Log(1e-15)},
		{"wrong accuracy", wrong.Accuracy(), 0},
		{"wrong brier", wrong.Brier(), 1},
		{"wrong ece", wrong.ECE(), 1},
		{"idle auroc", idle.AUROC(), 0.5},
		{"idle average precision", idle.AveragePrecision(), 0.25},
		{"idle ece", idle.ECE(), 0},
		{"idle log loss", idle.LogLoss(), -0.25*math.Log(0.25) - 0.75*math.Log(0.75)},
	} {
		near(t, c.what, c.got, c.want)
	}
	if got := perfect.LogLoss(); got > 1e-14 {
		t.Errorf("perfect log loss = %v", got)
	}
}

// Beyond the places that there are, probabilities are rounded: hardly anything changes.
func TestRankingOfManyRows(t *testing.T) {
	rng := newRand(t)
	exact, small := ranking{}, ranking{limit: 1 << 12}
	for range 50_000 {
		odds := 4*rng.NormFloat64() - 6
		p := 1 / (1 + math.Exp(-odds))
		positive := rng.Float64() < p
		exact.add(p, positive, 1)
		small.add(p, positive, 1)
	}
	if small.grain == 0 || len(small.places) > 1<<12 || exact.grain != 0 {
		t.Errorf("grain %g with %d places", small.grain, len(small.places))
	}
	if a, b := exact.auroc(), small.auroc(); math.Abs(a-b) > 1e-4 {
		t.Errorf("auroc %v, rounded %v", a, b)
	}
	if a, b := exact.averagePrecision(), small.averagePrecision(); math.Abs(a-b) > 1e-3 {
		t.Errorf("average precision %v, rounded %v", a, b)
	}
}

func TestCalibrationBins(t *testing.T) {
	var c Calibration
	for _, r := range []outcome{{true, 0, 1}, {false, 0.05, 1}, {true, 1, 2}, {false, 0.97, 2}, {true, 0.5, 0}} {
		c.Add(r.positive, r.probability, r.weight)
	}
	want := []Bin{
		{0, 1. / 15, 2, 0.025, 0.5},
		{14. / 15, 1, 2, 0.985, 0.5},
	}
	got := c.Bins()
	if len(got) != len(want) {
		t.Fatalf("bins %+v", got)
	}
	for i, b := range got {
		near(t, "low", b.Low, want[i].Low)
		near(t, "high", b.High, want[i].High)
		near(t, "mean", b.Mean, want[i].Mean)
		near(t, "share", b.Share, want[i].Share)
		if b.Count != want[i].Count {
			t.Errorf("%d rows in %+v", b.Count, b)
		}
	}
	if (&Calibration{}).Bins() != nil {
		t.Error("bins of no rows")
	}
}

// Probabilities that are right have no calibration error but that of the draw.
func TestCalibrationOfTheTruth(t *testing.T) {
	rng := newRand(t)
	var c Calibration
	for range 100_000 {
		p := rng.Float64()
		c.Add(rng.Float64() < p, p, 1)
	}
	if got := c.ECE(); got > 0.012 {
		t.Errorf("ece = %v", got)
	}
	if got := len(c.Bins()); got != 15 {
		t.Errorf("%d bins", got)
	}
}

// Decisions against counting row by row.
func TestDecide(t *testing.T) {
	rows := randomOutcomes(newRand(t), 300)
	b := measured(rows)
	b.AUROC() // joins places of one probability
	for _, threshold := range []float64{0, 5. / 39, 0.2, 0.5, 1} {
		tp, fp, fn, tn := 0.0, 0.0, 0.0, 0.0
		for _, r := range rows {
			switch called := r.probability >= threshold; {
			case called && r.positive:
				tp += r.weight
			case called:
				fp += r.weight
			case r.positive:
				fn += r.weight
			default:
				tn += r.weight
			}
		}
		d := b.Decide(threshold)
		near(t, "true positives", d.TruePositives, tp)
		near(t, "false positives", d.FalsePositives, fp)
		near(t, "false negatives", d.FalseNegatives, fn)
		near(t, "true negatives", d.TrueNegatives, tn)
		share := (tp + fn) / (tp + fp + fn + tn)
		near(t, "precision", d.Precision(), tp/(tp+fp))
		near(t, "recall", d.Recall(), tp/(tp+fn))
		near(t, "lift", d.Lift(), tp/(tp+fp)/share)
		near(t, "f1", d.F1(), 2/(1/d.Precision()+1/d.Recall()))
		near(t, "called", d.Called(), (tp+fp)/(tp+fp+fn+tn))
		near(t, "accuracy", d.Accuracy(), (tp+tn)/(tp+fp+fn+tn))
	}
	near(t, "accuracy at a half", b.Decide(0.5).Accuracy(), b.Accuracy())
}

// Where probabilities are rounded, only rows as near the threshold as the rounding goes count on its other side.
func TestDecideWhenRounded(t *testing.T) {
	const n, threshold = 1000, 0.3
	odds := func(p float64) float64 { return math.Log(p / (1 - p)) }
	b := &Binary{ranking: ranking{limit: 400}}
	var all []float64
	for i := range n {
		all = append(all, (float64(i)+0.5)/n)
		b.Add(true, all[i], 1)
	}
	above, near := 0.0, 0.0
	for _, p := range all {
		if p >= threshold {
			above++
		}
		if math.Abs(odds(p)-odds(threshold)) <= b.ranking.grain { // half of it, a quarter, …
			near++
		}
	}
	if got := b.Decide(threshold).TruePositives; math.Abs(got-above) > near || near == 0 || near > n/10 {
		t.Errorf("%g rows are called positive, but %g reach the threshold and %g are near it", got, above, near)
	}
}

func TestDecisionInWords(t *testing.T) {
	d := Decision{0.05, 30, 70, 10, 890}
	var text strings.Builder
	if err := d.Text(&text, "yes\x1b"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"called yes? from a probability of 0.05 up\n",
		"          called yes?  not called so\n  yes?             30             10\n  others           70            890\n",
		"  precision        0.3000  of", "  recall           0.7500  of", "  lift              7.500  times",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, text.String())
		}
	}
	var document map[string]any
	content, err := json.Marshal(Evaluation{Task: "binary", Decisions: []Decision{d, {Threshold: 1, TrueNegatives: 5}}})
	if err != nil || json.Unmarshal(content, &document) != nil {
		t.Fatal(err)
	}
	list := document["decisions"].([]any)
	first, none := list[0].(map[string]any), list[1].(map[string]any)
	if first["lift"] != 7.5 || first["false_positives"] != 70. || none["precision"] != nil || none["accuracy"] != 1. {
		t.Errorf("decisions %v", list)
	}
	if content, err = json.Marshal(Evaluation{Task: "binary"}); err != nil || bytes.Contains(content, []byte("decisions")) {
		t.Errorf("without thresholds: %s, %v", content, err)
	}
	if !math.IsNaN((Decision{TrueNegatives: 5}).Precision()) {
		t.Error("a precision of no rows")
	}
}
