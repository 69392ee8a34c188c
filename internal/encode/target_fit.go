package encode

import (
	"fmt"
	"math"

	"github.com/psi-shapley/psi/table"
)

// FitTarget returns the regression of the finite training targets in y.
func FitTarget(y []float64) Target {
	var m moments
	for _, v := range y {
		if finite(v) {
			m.add(v)
		}
	}
	t := Target{Task: Regression}
	t.Mean, t.Std = m.meanAndStd()
	return t
}

// TargetFitter fits the initial prediction of a target to chunks of training rows.
type TargetFitter struct {
	target  Target
	name    string
	moments moments   // regression, on the scale of learning
	plain   moments   // regression, in the target's own units
	weights []float64 // of each class
	weight  float64   // of all rows
	rows    int
}

// NewTargetFitter returns a fitter for a target whose task and classes Labels found.
func NewTargetFitter(t Target) *TargetFitter {
	return &TargetFitter{target: t, weights: make([]float64, len(t.Classes))}
}

// Add adds the observed targets of the rows for which keep is true, or all rows if keep is nil. Weights are positive,
// and 1 if weights is nil.
func (f *TargetFitter) Add(y *table.Column, weights []float64, keep func(row int) bool) error {
	f.name = y.Name
	if keep == nil {
		keep = keepAll
	}
	of := f.target.classes(y)
	if f.target.Task == Regression {
		of = f.target.standardised(y)
	}
	for row, observed := range y.Observed {
		if !observed || !keep(row) {
			continue
		}
		v, err := of(row)
		if err != nil {
			return err
		}
		weight := 1.0
		if weights != nil {
			weight = weights[row]
		}
		f.rows++
		f.weight += weight
		if f.target.Task == Regression {
			f.moments.addWeighted(f.target.Link.of(y.Numbers[row]), weight)
			f.plain.addWeighted(y.Numbers[row], weight)
		} else {
			f.weights[int(v)] += weight
		}
	}
	return nil
}

// Finish returns the target fitted to the rows so far.
func (f *TargetFitter) Finish() (Target, error) {
	if f.rows == 0 {
		return Target{}, &table.Error{Row: noRow, Column: f.name, Message: "no training row has a target", Remedy: "name the column that holds the targets"}
	}
	t := f.target
	if t.Task == Regression {
		if t.Mean, t.Std = f.moments.meanAndStd(); t.Link == LogMean {
			mean, _ := f.plain.meanAndStd()
			t.Mean = math.Log(mean)
		}
		if t.validateRegression() != nil {
			return Target{}, &table.Error{
				Row: noRow, Column: f.name, Message: fmt.Sprintf("the targets have a mean of %g and a standard deviation of %g, which is too far from 0 or too large", t.Mean, t.Std),
				Remedy: "give the target in other units",
			}
		}
		return t, nil
	}
	logs, mean := make([]float64, len(f.weights)), 0.0
	for k, weight := range f.weights {
		if weight == 0 { // avoid a share of 0: a class that occurs only in validation rows counts as half a row
			weight = f.weight / float64(f.rows) / 2
		}
		logs[k] = math.Log(weight)
		mean += logs[k] / float64(len(logs))
	}
	if t.Task == Binary {
		t.Base = []float64{logs[1] - logs[0]}
		return t, nil
	}
	for k := range logs {
		logs[k] -= mean
	}
	t.Base = logs
	return t, nil
}

// Plain returns the regression of the same rows in the target's own units.
func (f *TargetFitter) Plain() Target {
	t := f.target
	t.Link = IdentityLink
	t.Mean, t.Std = f.plain.meanAndStd()
	return t
}

// Absent returns the classes without a training row.
func (f *TargetFitter) Absent() []string {
	var absent []string
	for k, weight := range f.weights {
		if weight == 0 {
			absent = append(absent, f.target.Classes[k])
		}
	}
	return absent
}
