package eval

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func TestMulticlassIsTheNaiveComputation(t *testing.T) {
	rng := newRand(t)
	const rows, classes = 200, 4 // the last one does not occur
	var m Multiclass
	against := make([][]outcome, classes)
	loss, right, total := 0.0, 0.0, 0.0
	for range rows {
		p := make([]float64, classes)
		sum := 0.0
		for c := range p {
			p[c] = float64(1 + rng.IntN(5))
			sum += p[c]
		}
		best := 0
		for c := range p {
			p[c] /= sum
			if p[c] > p[best] {
				best = c
			}
		}
		class, weight := rng.IntN(classes-1), 0.5+rng.Float64()
		m.Add(class, p, weight)
		for c := range p {
			against[c] = append(against[c], outcome{c == class, p[c], weight})
		}
		loss -= weight * math.Log(p[class])
		if best == class {
			right += weight
		}
		total += weight
	}
	near(t, "accuracy", m.Accuracy(), right/total)
	near(t, "log_loss", m.LogLoss(), loss/total)
	near(t, "macro_auroc", m.MacroAUROC(), (pairs(against[0])+pairs(against[1])+pairs(against[2]))/3)
}

// The values are scikit-learn 1.9.1's: accuracy_score, log_loss, and the mean of
// roc_auc_score of each class, which without weights is its roc_auc_score with
// multi_class="ovr", average="macro".
func TestMulticlassOfScikitLearn(t *testing.T) {
	probabilities := [][]float64{
		{.7, .2, .1}, {.3, .4, .3}, {.2, .2, .6}, {.5, .25, .25}, {.1, .6, .3}, {.25, .25, .5}, {.4, .35, .25}, {.05, .9, .05},
	}
	weights := []float64{1, 2, .5, 1, 3, 1, .25, 1}
	var plain, weighed Multiclass
	for i, class := range []int{0, 1, 2, 1, 1, 0, 2, 1} {
		plain.Add(class, probabilities[i], 1)
		weighed.Add(class, probabilities[i], weights[i])
	}
	for _, c := range []struct {
		m    *Multiclass
		want [3]float64
	}{
		{&plain, [3]float64{0.625, 0.8198575652952959, 0.7881944444444445}},
		{&weighed, [3]float64{0.7692307692307693, 0.7386327096457016, 0.8368736003144605}},
	} {
		for i, got := range []float64{c.m.Accuracy(), c.m.LogLoss(), c.m.MacroAUROC()} {
			near(t, []string{"accuracy", "log_loss", "macro_auroc"}[i], got, c.want[i])
		}
	}
}

func TestUnknownClassIsAMiss(t *testing.T) {
	var m Multiclass
	m.Add(-1, []float64{0.5, 0.5}, 1)
	m.Add(1, []float64{0, 1}, 1)
	near(t, "accuracy", m.Accuracy(), 0.5)
	near(t, "log_loss", m.LogLoss(), -math.Log(1e-15)/2)
	near(t, "macro_auroc", m.MacroAUROC(), 1)
}

func TestUndefinedMetricsOfClassesAreNull(t *testing.T) {
	var none, oneClass, noNumber Binary
	oneClass.Add(false, 0.3, 1)
	noNumber.Add(true, math.NaN(), 1)
	noNumber.Add(false, 0.5, 1)
	var noRows, oneOfMany Multiclass
	oneOfMany.Add(2, []float64{0.25, 0.25, 0.5}, 1)
	for _, c := range []struct {
		e    Evaluation
		null string
	}{
		{none.Evaluation(), "auroc average_precision log_loss brier ece accuracy"},
		{oneClass.Evaluation(), "auroc average_precision"},
		{noNumber.Evaluation(), "auroc average_precision log_loss brier ece"},
		{noRows.Evaluation(), "accuracy log_loss macro_auroc"},
		{oneOfMany.Evaluation(), "macro_auroc"},
	} {
		text, err := json.Marshal(c.e)
		if err != nil {
			t.Fatal(err)
		}
		var document struct {
			Task    string
			Metrics map[string]*float64
		}
		if err := json.Unmarshal(text, &document); err != nil {
			t.Fatal(err)
		}
		for name, value := range document.Metrics {
			if null := strings.Contains(" "+c.null+" ", " "+name+" "); (value == nil) != null {
				t.Errorf("%s: %s null: %v, want %v", text, name, value == nil, null)
			}
		}
	}
}

func TestEvaluationTextOfClassesFits(t *testing.T) {
	var b Binary
	b.Add(true, 0.8, 1)
	b.Add(false, 0.1, 1)
	var m Multiclass
	m.Add(1, []float64{0.1, 0.8, 0.1}, 1)
	for want, e := range map[string]Evaluation{
		"binary classification of income on 2 rows\n":    b.Evaluation(),
		"multiclass classification of income on 1 row\n": m.Evaluation(),
	} {
		var text bytes.Buffer
		if err := e.Text(&text, "income"); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(text.String(), want) {
			t.Errorf("%q does not begin with %q", text.String(), want)
		}
		for line := range strings.Lines(text.String()) {
			if len(line) > 81 {
				t.Errorf("%d columns: %s", len(line)-1, line)
			}
		}
	}
}
