package eval

import "math"

// Multiclass compares the predicted probabilities of several classes with the observed ones. The zero value is ready to
// use. It is not safe for concurrent use.
type Multiclass struct {
	rows    int
	weight  float64
	loss    float64
	right   float64   // weight of the correctly classified rows
	against []ranking // each class against the rest
}

// Add adds a row: the index of its class, the predicted probabilities of all classes, and the row's weight, 1 for
// unweighted rows. A class unknown to the model, −1, always counts as an error.
func (m *Multiclass) Add(class int, probabilities []float64, weight float64) {
	if weight == 0 {
		return
	}
	m.rows++
	if m.against == nil {
		m.against = make([]ranking, len(probabilities))
		for c := range m.against {
			m.against[c].limit = max(maxPlaces/len(probabilities), 1<<12)
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

// Accuracy returns the share of rows whose class is the most probable one; among equals, the first.
func (m *Multiclass) Accuracy() float64 { return m.right / m.weight }

// LogLoss returns the mean of −log P(class), in nats. Probabilities are clipped to [1e-15, 1 − 1e-15].
func (m *Multiclass) LogLoss() float64 { return m.loss / m.weight }

// MacroAUROC returns the mean AUROC of each class against all others, over the classes that occur. It is NaN if only
// one occurs.
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

// Evaluation returns the metrics of the rows added so far.
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
