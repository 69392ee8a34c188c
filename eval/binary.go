package eval

import "math"

// minProbability is what a probability counts as at least, and 1 minus it at most, in a
// log loss: one row that was thought impossible does not make all others worthless.
const minProbability = 1e-15

// surprise is −log of the probability of what came true.
func surprise(probability float64) float64 {
	return -math.Log(max(minProbability, min(probability, 1-minProbability)))
}

// Binary compares the probabilities of the positive class with what came true. The zero
// value is ready to use.
type Binary struct {
	rows        int
	weight      float64
	loss        float64 // Σ w surprise
	squared     float64 // Σ w (label − p)²
	right       float64 // weight of the rows whose likelier class is theirs
	ranking     ranking
	calibration Calibration
}

// Add takes one row: whether it is of the positive class, the predicted probability that
// it is, and the row's weight, 1 if all rows count alike.
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

// AUROC is the area under the receiver operating characteristic: the probability that a
// positive row has a higher probability than a negative one, where ties count half. It is
// NaN if there is only one class.
func (b *Binary) AUROC() float64 { return b.ranking.auroc() }

// AveragePrecision is the mean of the precision over recall, Σ_k (R_k − R_{k−1}) P_k. It is
// NaN without a positive row.
func (b *Binary) AveragePrecision() float64 { return b.ranking.averagePrecision() }

// LogLoss is the mean of −log P(label), in nats, with probabilities kept within
// [1e-15, 1 − 1e-15].
func (b *Binary) LogLoss() float64 { return b.loss / b.weight }

// Brier is the mean squared error of the probability, Σ w(label − p)² / Σ w.
func (b *Binary) Brier() float64 { return b.squared / b.weight }

// ECE is the expected calibration error over 15 bins of equal width.
func (b *Binary) ECE() float64 { return b.calibration.ECE() }

// Accuracy is the share of rows whose class is the likelier one; at ½ that is the positive one.
func (b *Binary) Accuracy() float64 { return b.right / b.weight }

// Bins are those of the calibration, for reports.
func (b *Binary) Bins() []Bin { return b.calibration.Bins() }

// Evaluation sums up the rows so far.
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
