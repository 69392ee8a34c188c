package eval

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
)

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
	b := &Binary{ranking: ranking{most: 400}}
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
