package eval

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/psi-shapley/psi/internal/prose"
)

// minProbability clips probabilities in a log loss to [1e-15, 1 − 1e-15], so that one row predicted with probability 0
// does not make the loss infinite.
const minProbability = 1e-15

// surprise returns −log of the probability of the observed class.
func surprise(probability float64) float64 {
	return -math.Log(max(minProbability, min(probability, 1-minProbability)))
}

// Binary compares the predicted probabilities of the positive class with the observed labels. The zero value is ready
// to use. It is not safe for concurrent use.
type Binary struct {
	rows        int
	weight      float64
	loss        float64 // Σ w·surprise
	squared     float64 // Σ w (label − p)²
	right       float64 // weight of the correctly classified rows
	ranking     ranking
	calibration Calibration
}

// Add adds a row: whether it is positive, the predicted probability of that, and the row's weight, 1 for unweighted
// rows.
func (b *Binary) Add(positive bool, probability, weight float64) {
	if weight == 0 {
		return
	}
	b.rows++
	b.weight += weight
	ofTruth, label := 1-probability, 0.0
	if positive {
		ofTruth, label = probability, 1
	}
	b.loss += weight * surprise(ofTruth)
	b.squared += weight * (label - probability) * (label - probability)
	if positive == (probability >= 0.5) {
		b.right += weight
	}
	b.ranking.add(probability, positive, weight)
	b.calibration.Add(positive, probability, weight)
}

// AUROC returns the area under the receiver operating characteristic: the probability that a positive row has a higher
// predicted probability than a negative one, where ties count half. It is NaN if there is only one class.
func (b *Binary) AUROC() float64 { return b.ranking.auroc() }

// AveragePrecision returns Σ_k (R_k − R_{k−1}) P_k, the mean precision over recall. It is NaN without positive rows.
func (b *Binary) AveragePrecision() float64 { return b.ranking.averagePrecision() }

// LogLoss returns the mean of −log P(label), in nats. Probabilities are clipped to [1e-15, 1 − 1e-15].
func (b *Binary) LogLoss() float64 { return b.loss / b.weight }

// Brier returns the mean squared error of the probability, Σ w(label − p)² / Σ w.
func (b *Binary) Brier() float64 { return b.squared / b.weight }

// ECE returns the expected calibration error over 15 bins of equal width.
func (b *Binary) ECE() float64 { return b.calibration.ECE() }

// Accuracy returns the share of correctly classified rows, with the threshold ½ for the positive class.
func (b *Binary) Accuracy() float64 { return b.right / b.weight }

// Bins returns the bins of the calibration.
func (b *Binary) Bins() []Bin { return b.calibration.Bins() }

// Evaluation returns the metrics of the rows added so far.
func (b *Binary) Evaluation() Evaluation {
	return Evaluation{
		Task: "binary",
		Rows: b.rows,
		Metrics: []Metric{
			{"auroc", b.AUROC(), "ranks a random pair rightly; 0.5 is chance", false},
			{"average_precision", b.AveragePrecision(), "mean precision; chance is the positives' share", false},
			{"log_loss", b.LogLoss(), "surprise at the truth, in nats; lower is better", false},
			{"brier", b.Brier(), "mean squared error of the probabilities", false},
			{"ece", b.ECE(), "gap between probability and share of positives", false},
			{"accuracy", b.Accuracy(), "share of rows whose class is the likelier one", false},
		},
	}
}

const (
	// maxPlaces limits the memory of a ranking to about 100 MB.
	maxPlaces = 1 << 22
	// firstGrain is the initial rounding of log odds if there are more.
	firstGrain = 1. / 1024
)

// ranking holds the order of the probabilities of positive and negative rows. It keeps every distinct probability up to
// a maximum. Beyond that it rounds their log odds as little as possible, so that tables of any size fit. Rows with the
// same rounded probability count as tied.
type ranking struct {
	limit  int // maximum number of places; 0 means maxPlaces
	grain  float64
	places []place
	broken bool // a probability was NaN
}

// place holds the weights of the rows with one probability.
type place struct{ probability, positive, negative float64 }

func (r *ranking) add(probability float64, positive bool, weight float64) {
	p := place{probability: r.round(probability)}
	if positive {
		p.positive = weight
	} else {
		p.negative = weight
	}
	r.broken = r.broken || math.IsNaN(probability)
	r.places = append(r.places, p)
	limit := cmp.Or(r.limit, maxPlaces)
	if len(r.places) < limit {
		return
	}
	r.merge()
	for len(r.places) > limit/2 { // otherwise the next merge would come too soon
		r.grain = max(firstGrain, 2*r.grain)
		for i := range r.places {
			r.places[i].probability = r.round(r.places[i].probability)
		}
		r.merge()
	}
}

// round preserves the order, and keeps 0, 1/2 and 1 exact.
func (r *ranking) round(probability float64) float64 {
	if r.grain == 0 || !(probability > 0 && probability < 1) {
		return probability
	}
	odds := math.Log(probability) - math.Log1p(-probability)
	return 1 / (1 + math.Exp(-math.Round(odds/r.grain)*r.grain))
}

// merge sorts the places in ascending order and joins those with equal probabilities.
func (r *ranking) merge() {
	slices.SortFunc(r.places, func(a, b place) int { return cmp.Compare(a.probability, b.probability) })
	joined := r.places[:0]
	for _, p := range r.places {
		if last := len(joined) - 1; last >= 0 && joined[last].probability == p.probability {
			joined[last].positive += p.positive
			joined[last].negative += p.negative
			continue
		}
		joined = append(joined, p)
	}
	r.places = joined
}

// totals returns the weights of the positive and of the negative rows.
func (r *ranking) totals() (positive, negative float64) {
	for _, p := range r.places {
		positive += p.positive
		negative += p.negative
	}
	return positive, negative
}

// auroc returns P(p⁺ > p⁻) + P(p⁺ = p⁻)/2 of a positive and a negative row drawn by weight. It is NaN if either class
// is absent.
func (r *ranking) auroc() float64 {
	if r.broken {
		return math.NaN()
	}
	r.merge()
	positive, negative := r.totals()
	below, pairs := 0.0, 0.0 // weight of negative rows, and of correctly ordered pairs
	for _, p := range r.places {
		pairs += p.positive * (below + p.negative/2)
		below += p.negative
	}
	return pairs / (positive * negative)
}

// averagePrecision returns Σ_k (R_k − R_{k−1}) P_k over descending thresholds, where R and P are the recall and
// precision of the rows above each. It is NaN without positive rows.
func (r *ranking) averagePrecision() float64 {
	if r.broken {
		return math.NaN()
	}
	r.merge()
	positive, _ := r.totals()
	hits, taken, sum := 0.0, 0.0, 0.0
	for _, p := range slices.Backward(r.places) {
		hits += p.positive
		taken += p.positive + p.negative
		if p.positive > 0 {
			sum += p.positive * hits / taken
		}
	}
	return sum / positive
}

// bins is the number of bins of equal width for probabilities from 0 to 1.
const bins = 15

// Calibration compares predicted probabilities with the observed shares of positive rows, in bins. Of the rows with a
// probability of 0.3, three in ten should be positive. The zero value is ready to use. It is not safe for concurrent
// use.
type Calibration struct {
	bin    [bins]struct{ weight, predicted, positive float64 }
	count  [bins]int
	broken bool // a probability was NaN
}

// Bin holds the rows with a probability from Low up to High.
type Bin struct {
	Low, High float64
	Count     int     // number of rows
	Mean      float64 // mean probability
	Share     float64 // share of positive rows
}

// Add adds a row: whether it is positive, the predicted probability of that, and its weight.
func (c *Calibration) Add(positive bool, probability, weight float64) {
	if math.IsNaN(probability) {
		c.broken = true
		return
	}
	i := int(max(0, min(probability*bins, bins-1)))
	c.count[i]++
	b := &c.bin[i]
	b.weight += weight
	b.predicted += weight * probability
	if positive {
		b.positive += weight
	}
}

// Bins returns the bins with a positive weight in ascending order.
func (c *Calibration) Bins() []Bin {
	var list []Bin
	for i, b := range c.bin {
		if b.weight > 0 {
			list = append(list, Bin{
				Low: float64(i) / bins, High: float64(i+1) / bins, Count: c.count[i],
				Mean: b.predicted / b.weight, Share: b.positive / b.weight,
			})
		}
	}
	return list
}

// ECE returns the expected calibration error Σ_b w_b |Share_b − Mean_b| / Σ_b w_b over 15 bins of equal width.
func (c *Calibration) ECE() float64 {
	if c.broken {
		return math.NaN()
	}
	gap, weight := 0.0, 0.0
	for _, b := range c.bin {
		gap += math.Abs(b.positive - b.predicted)
		weight += b.weight
	}
	return gap / weight
}

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
