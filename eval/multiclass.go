package eval

import "math"

// Multiclass compares the probabilities of several classes with what came true. The zero
// value is ready to use.
type Multiclass struct {
	rows    int
	weight  float64
	loss    float64
	right   float64   // weight of the rows whose likeliest class is theirs
	against []ranking // each class against the rest
}

// Add takes one row: the number of its class, the predicted probabilities of all classes,
// and the row's weight, 1 if all rows count alike. A class that the model does not know, −1,
// is always a miss.
func (m *Multiclass) Add(class int, probabilities []float64, weight float64) {
	if weight == 0 {
		return
	}
	m.rows++
	if m.against == nil {
		m.against = make([]ranking, len(probabilities))
		for c := range m.against {
			m.against[c].most = max(maxPlaces/len(probabilities), 1<<12)
		}
	}
	m.weight += weight
	ofTruth, best := 0.0, 0
	for c, p := range probabilities {
		if p > probabilities[best] {
			best = c
		}
		if c == class {
			ofTruth = p
		}
		m.against[c].add(p, c == class, weight)
	}
	m.loss += weight * surprise(ofTruth)
	if best == class {
		m.right += weight
	}
}

// Accuracy is the share of rows whose class is the likeliest one; of equals, the first.
func (m *Multiclass) Accuracy() float64 { return m.right / m.weight }

// LogLoss is the mean of −log P(class), in nats, with probabilities kept within
// [1e-15, 1 − 1e-15].
func (m *Multiclass) LogLoss() float64 { return m.loss / m.weight }

// MacroAUROC is the mean, over the classes that occur, of the area under the receiver
// operating characteristic of that class against all others. It is NaN if only one occurs.
func (m *Multiclass) MacroAUROC() float64 {
	sum, present := 0.0, 0.0
	for c := range m.against {
		if positive, _ := m.against[c].totals(); positive > 0 {
			sum += m.against[c].auroc()
			present++
		}
	}
	if present == 0 {
		return math.NaN()
	}
	return sum / present
}

// Evaluation sums up the rows so far.
func (m *Multiclass) Evaluation() Evaluation {
	return Evaluation{
		Task: "multiclass",
		Rows: m.rows,
		Metrics: []Metric{
			{"accuracy", m.Accuracy(), "share of rows whose class is the likeliest one", false},
			{"log_loss", m.LogLoss(), "surprise at the truth, in nats; lower is better", false},
			{"macro_auroc", m.MacroAUROC(), "ranks each class against the rest; 0.5 is chance", false},
		},
	}
}
