package psi

import (
	"context"
	"fmt"
	"math"

	"github.com/psi-shapley/psi/eval"
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/train"
	"github.com/psi-shapley/psi/table"
)

// Evaluate measures the predictions of rows whose target is known. Rows without a target
// are left out.
func (m *Model) Evaluate(ctx context.Context, rows Source) (*eval.Evaluation, error) {
	var metrics eval.Regression
	known := false
	for c, err := range m.chunks(ctx, rows, span{}, nil) {
		if err != nil {
			return nil, err
		}
		y, err := m.target(c.table)
		if err != nil {
			return nil, err
		}
		p, err := m.predict(ctx, c)
		if err != nil {
			return nil, err
		}
		for i, labelled := range y.Observed {
			if labelled {
				metrics.Add(y.Numbers[i], p.Mean[i], p.Std[i])
				known = true
			}
		}
	}
	if !known {
		return nil, &table.Error{Row: -1, Column: m.manifest.Target, Message: "no row has a value in the target column", Remedy: "give rows whose outcome is known"}
	}
	e := metrics.Evaluation()
	return &e, nil
}

// target is the column of a table that the model predicts.
func (m *Model) target(t *table.Table) (*table.Column, error) {
	y := t.Column(m.manifest.Target)
	if y == nil {
		return nil, &table.Error{Row: -1, Column: m.manifest.Target, Message: "the table lacks the target column", Remedy: "give rows whose outcome is known"}
	}
	if y.Kind == table.Category {
		return nil, &table.Error{Row: -1, Column: y.Name, Message: fmt.Sprintf("the target is a %v here, but the model predicts numbers", y.Kind), Remedy: "give the table the model was made for"}
	}
	return y, nil
}

// measure evaluates encoded rows.
func (m *Model) measure(ctx context.Context, d train.Data) (map[string]float64, error) {
	x, err := m.ensemble.Predict(ctx, d.Rows)
	if err != nil {
		return nil, err
	}
	var r eval.Regression
	scale := m.manifest.Scale
	for i, y := range labels(d, scale) {
		r.Add(y, scale.Decode(x.Value[i]), scale.Std*math.Sqrt(x.Variance[i]))
	}
	metrics := map[string]float64{}
	for _, metric := range r.Evaluation().Metrics {
		if !math.IsNaN(metric.Value) && !math.IsInf(metric.Value, 0) {
			metrics[metric.Name] = metric.Value
		}
	}
	return metrics, nil
}

// labels are the targets of encoded rows in their own units.
func labels(d train.Data, scale encode.Target) []float64 {
	y := make([]float64, len(d.Target))
	for i, v := range d.Target {
		y[i] = scale.Decode(v)
	}
	return y
}
