package encode

import (
	"fmt"

	"github.com/psi-shapley/psi/table"
)

// Target is the scale on which a numeric target is learned: φ_0, its mean over the
// training rows, and its standard deviation.
type Target struct {
	Mean float64 `json:"mean"`
	Std  float64 `json:"std"`
}

// FitTarget measures the training targets y, those of them that are finite.
func FitTarget(y []float64) Target {
	var m moments
	for _, v := range y {
		if finite(v) {
			m.add(v)
		}
	}
	mean, std := m.meanAndStd()
	return Target{mean, std}
}

// TargetFitter measures training targets that come in chunks. Its zero value is ready.
type TargetFitter struct {
	name    string
	moments moments
}

// Add takes in the observed targets of the rows for which keep is true, all rows if keep
// is nil.
func (f *TargetFitter) Add(y *table.Column, keep func(row int) bool) error {
	f.name = y.Name
	if y.Kind == table.Category {
		return &table.Error{Row: noRow, Column: y.Name, Message: "the target is a category, which has no mean", Remedy: "choose a numeric target, or train a classifier"}
	}
	if keep == nil {
		keep = keepAll
	}
	for row, v := range observedNumbers(y, keep) {
		if !finite(v) {
			return notFinite(y, row)
		}
		f.moments.add(v)
	}
	return nil
}

// Finish is the scale of the targets so far.
func (f *TargetFitter) Finish() (Target, error) {
	if f.moments.n == 0 {
		return Target{}, &table.Error{Row: noRow, Column: f.name, Message: "no training row has a target", Remedy: "name the column that holds the targets"}
	}
	mean, std := f.moments.meanAndStd()
	return Target{mean, std}, nil
}

// Validate says what is wrong with a target's scale that was read from a file.
func (t Target) Validate() error {
	if !finite(t.Mean) || !finite(t.Std) || !(t.Std > 0) {
		return fmt.Errorf("encode: the target's mean %v and standard deviation %v are not finite, or the latter is not positive", t.Mean, t.Std)
	}
	return nil
}

// Encode is (y − φ_0) in standard deviations.
func (t Target) Encode(y []float64) []float32 {
	out := make([]float32, len(y))
	for i, v := range y {
		out[i] = float32((v - t.Mean) / t.Std)
	}
	return out
}

// Decode is the inverse of Encode for one value.
func (t Target) Decode(v float32) float64 { return t.Mean + t.Std*float64(v) }
