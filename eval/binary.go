package eval

import "math"

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
