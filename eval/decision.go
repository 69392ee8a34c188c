package eval

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/psi-shapley/psi/internal/prose"
)

// Decision is the confusion matrix of classifying rows as positive if their probability is at least a threshold. Counts
// are sums of weights.
type Decision struct {
	Threshold      float64
	TruePositives  float64 // positive rows classified as positive
	FalsePositives float64
	FalseNegatives float64
	TrueNegatives  float64
}

// Decide returns the confusion matrix of the rows added so far at a threshold. Beyond four million distinct
// probabilities these are rounded, so that rows close to the threshold may count on its other side.
func (b *Binary) Decide(threshold float64) Decision {
	d := Decision{Threshold: threshold}
	for _, p := range b.ranking.places {
		if p.probability >= threshold {
			d.TruePositives += p.positive
			d.FalsePositives += p.negative
		} else {
			d.FalseNegatives += p.positive
			d.TrueNegatives += p.negative
		}
	}
	return d
}

// Precision returns TP / (TP + FP). It is NaN if no row is classified as positive.
func (d Decision) Precision() float64 { return d.TruePositives / (d.TruePositives + d.FalsePositives) }

// Recall returns TP / (TP + FN). It is NaN without positive rows.
func (d Decision) Recall() float64 { return d.TruePositives / (d.TruePositives + d.FalseNegatives) }

// F1 returns the harmonic mean of precision and recall, 2TP / (2TP + FP + FN).
func (d Decision) F1() float64 {
	return 2 * d.TruePositives / (2*d.TruePositives + d.FalsePositives + d.FalseNegatives)
}

// Called returns the share of rows classified as positive, (TP + FP) / n.
func (d Decision) Called() float64 { return (d.TruePositives + d.FalsePositives) / d.rows() }

// Lift returns precision / ((TP + FN) / n): how much more frequent positive rows are among those classified as
// positive.
func (d Decision) Lift() float64 {
	return d.Precision() * d.rows() / (d.TruePositives + d.FalseNegatives)
}

// Accuracy returns the share of correctly classified rows, (TP + TN) / n.
func (d Decision) Accuracy() float64 { return (d.TruePositives + d.TrueNegatives) / d.rows() }

func (d Decision) rows() float64 {
	return d.TruePositives + d.FalsePositives + d.FalseNegatives + d.TrueNegatives
}

// Metrics returns the measures of the decision in display order.
func (d Decision) Metrics() []Metric {
	return []Metric{
		{"precision", d.Precision(), "of the rows called positive, the share that is", false},
		{"recall", d.Recall(), "of the positive rows, the share that is called so", false},
		{"lift", d.Lift(), "times as many positives as among all rows", false},
		{"f1", d.F1(), "harmonic mean of precision and recall", false},
		{"called", d.Called(), "share of rows called positive", false},
		{"accuracy", d.Accuracy(), "share of rows called what they are", false},
	}
}

// MarshalJSON writes counts and measures; undefined ones are null.
func (d Decision) MarshalJSON() ([]byte, error) {
	all := map[string]*float64{
		"threshold": &d.Threshold, "true_positives": &d.TruePositives, "false_positives": &d.FalsePositives,
		"false_negatives": &d.FalseNegatives, "true_negatives": &d.TrueNegatives,
	}
	for _, m := range d.Metrics() {
		all[m.Name] = nil
		if finite(m.Value) {
			all[m.Name] = &m.Value
		}
	}
	return json.Marshal(all)
}

// Text writes the confusion matrix and the measures for people. class is the label of the positive class.
func (d Decision) Text(w io.Writer, class string) error {
	class = prose.Printable(class)
	called, not, of := "called "+class, "not called so", "others"
	count := func(v float64) string {
		if v == math.Trunc(v) {
			return fmt.Sprintf("%.0f", v)
		}
		return number(v)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "called %s from a probability of %g up\n", class, d.Threshold)
	cells := [][3]string{
		{"", called, not},
		{class, count(d.TruePositives), count(d.FalseNegatives)},
		{of, count(d.FalsePositives), count(d.TrueNegatives)},
	}
	width := [3]int{}
	for _, line := range cells {
		for i, cell := range line {
			width[i] = max(width[i], len([]rune(cell)))
		}
	}
	for _, line := range cells {
		fmt.Fprintf(&text, "  %-*s  %*s  %*s\n", width[0], line[0], width[1], line[1], width[2], line[2])
	}
	for _, m := range d.Metrics() {
		fmt.Fprintf(&text, "  %-11s  %10s  %s\n", m.Name, number(m.Value), m.Meaning)
	}
	_, err := io.WriteString(w, text.String())
	return err
}
