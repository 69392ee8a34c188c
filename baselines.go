package psi

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/psi-shapley/psi/eval"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/baseline"
	"github.com/psi-shapley/psi/internal/encode"
)

// Baseline is a simple model fitted on the same training rows as psi's model, with its metrics on the same validation
// rows.
type Baseline struct {
	Name    string             `json:"name"` // "mean", "linear" or "additive"
	Metrics map[string]float64 `json:"metrics"`
}

// Label returns the baseline's name for people.
func (b Baseline) Label(task Task) string {
	switch {
	case b.Name == baseline.Linear:
		return "linear model"
	case b.Name == baseline.Additive:
		return "additive model"
	case task != Regression:
		return "base rate"
	}
	return "mean"
}

// LossMetric returns the metric that compares the model with its baselines: "rmse", "mae" or "log_loss". Lower is
// better.
func (m *Manifest) LossMetric() string {
	switch {
	case m.Task != Regression:
		return "log_loss"
	case m.Scale.Link == encode.Log:
		return "mae" // predictions are medians, which minimise mae; means minimise rmse
	}
	return "rmse"
}

// PlainModels returns the baselines, the simplest first. It returns nil for models of versions that had none.
func (m *Manifest) PlainModels() []Baseline {
	var list []Baseline
	for _, name := range baseline.Names() {
		if metrics, known := m.Baselines[name]; known {
			list = append(list, Baseline{name, metrics})
		}
	}
	return list
}

// checkBaselines rejects unknown baselines and columns that the model does not have.
func (m *Manifest) checkBaselines() error {
	for name := range m.Baselines {
		if !slices.Contains(baseline.Names(), name) {
			return fmt.Errorf("unknown baseline %q", name)
		}
	}
	names := columnNames(m.Columns)
	for _, name := range m.LinearColumns {
		if !slices.Contains(names, name) {
			return fmt.Errorf("the linear baseline has an unknown column %.40q", name)
		}
	}
	return nil
}

// baselines fits the baselines on the training rows, measures them on the validation rows and stores the metrics in the
// manifest.
func (t *training) baselines(ctx context.Context, m *Model) error {
	models, err := baseline.Fit(ctx, baseline.Problem{
		Rows: t.plainTraining(), Units: t.in.Units, Classes: len(t.in.Target.Classes), Base: t.in.Target.Base,
	})
	if err != nil {
		return err
	}
	m.manifest.Baselines = map[string]map[string]float64{}
	for i := range models {
		m.manifest.Baselines[models[i].Name] = m.measurePlain(models[i].Predict(t.in.Validation.Rows), t.in.Plain, labels(t.in.Validation, t.in.Target), t.in.Validation.Weight)
		for _, player := range models[i].Columns {
			m.manifest.LinearColumns = append(m.manifest.LinearColumns, t.in.Encoder.Players[player].Name)
		}
	}
	if t.fold != nil {
		m.fitted = fitted{models, t.in.Plain, t.in.Rows}
	}
	return nil
}

// measurePlain measures a baseline's predictions; targets are as returned by labels.
func (m *Model) measurePlain(predictions []float64, units encode.Target, targets []float64, weights []float32) map[string]float64 {
	p, all := m.plainPrediction(predictions, units), m.NewEvaluator()
	for i, y := range targets {
		all.add(p, i, y, float64(weights[i]))
	}
	return plainMetrics(all.evaluation())
}

// plainPrediction converts a baseline's output, numbers encoded by units or probabilities, into a Prediction.
func (m *Model) plainPrediction(predictions []float64, units encode.Target) *Prediction {
	p := &Prediction{Probability: predictions, Classes: m.manifest.Classes()}
	if !m.classes() {
		none := make([]float64, len(predictions))
		p = &Prediction{scores: make([]float64, len(predictions)), stds: none, ranges: none}
		for i, v := range predictions {
			p.scores[i] = units.Mean + units.Std*v
		}
		p.link = explain.Link{Scale: explain.Identity, NonNegative: units.NonNegative}
		p.Mean = p.link.Responses(p.scores)
	}
	return p
}

// plainMetrics returns a baseline's metrics. Baselines of a number have no uncertainty, so its metrics are left out.
func plainMetrics(e eval.Evaluation) map[string]float64 {
	metrics := finiteMetrics(e)
	for _, name := range spreadMetrics() {
		delete(metrics, name)
	}
	return metrics
}

// finiteMetrics returns the metrics that are defined.
func finiteMetrics(e eval.Evaluation) map[string]float64 {
	metrics := map[string]float64{}
	for _, metric := range e.Metrics {
		if !math.IsNaN(metric.Value) && !math.IsInf(metric.Value, 0) {
			metrics[metric.Name] = metric.Value
		}
	}
	return metrics
}
