package psi

import (
	"context"
	"fmt"
	"math"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/train"
)

// Calibration holds the parameters fitted on the validation rows after training, so that uncertainties are calibrated
// on rows that the weights were not trained on.
//
// For a number, it is the width of the 90 % interval in standard deviations.
//
// For classes, it is a factor of the game: score(S) = φ_0 + a·v(S) for every coalition S of known cells. Attributions
// and their standard deviations scale with a. φ_0 does not, so that a row without known cells has the base rate.
//
// Scores that rest on few cells are too cautious. The probability of a row with missing cells is therefore computed
// from φ_0 + κ(s)·a·v(S). Here κ(s) = exp(b(1 − s)), and s is the share of the row's columns that are known.
type Calibration struct {
	// Noise is σ_0², in units of a numeric target's variance. In older files it was chosen so that 1.645 standard
	// deviations contain 90 % of the rows.
	Noise     float64 `json:"noise"`
	Ranges    []Range `json:"ranges,omitempty"`     // interval widths of a number, by the share of known columns; absent in older files
	RangeRows int     `json:"range_rows,omitempty"` // rows used only for the intervals; 0 if the same rows chose the weights
	// Level is added to φ_0 of a number on the scale log-mean, so that the predictions of training rows add up to their
	// targets.
	Level       float64            `json:"level,omitempty"`
	Scale       float64            `json:"scale,omitempty"`       // a, for classes; 0 (absent) for a number
	Slope       float64            `json:"slope,omitempty"`       // b, for classes
	Temperature float64            `json:"temperature,omitempty"` // 1 for a number; for classes only in older files, in place of Scale: it divides φ_0 too
	Before      map[string]float64 `json:"before"`                // metrics of the validation rows
	After       map[string]float64 `json:"after"`
}

// uncalibrated returns the calibration before fitting: what training found.
func (m *Model) uncalibrated() Calibration {
	if m.classes() {
		return Calibration{Scale: 1}
	}
	return Calibration{Noise: m.own.NoiseVariance()[0], Temperature: 1}
}

// validate rejects values that calibration cannot produce.
func (c *Calibration) validate(task Task) error {
	const most, maxSlope, maxNoise, maxLevel = 1e3, 7.0, 4e12, 10.0 // the priors keep log a and b far below these bounds
	between := func(x float64) bool { return x >= 1/most && x <= most }
	valid := c.Noise >= 0 && c.Noise <= maxNoise && math.Abs(c.Level) <= maxLevel && (c.Level == 0 || task == Regression)
	if task == Regression || c.Scale == 0 {
		valid = valid && between(c.Temperature) && c.Scale == 0 && c.Slope == 0
	} else {
		valid = valid && between(c.Scale) && math.Abs(c.Slope) <= maxSlope && c.Temperature == 0
	}
	if !valid {
		return fmt.Errorf("invalid calibration of a %s: scale %g, slope %g, temperature %g, noise %g, level %g", task, c.Scale, c.Slope, c.Temperature, c.Noise, c.Level)
	}
	return c.validateRanges(task)
}

// ofGame returns the factor of v in the scores of classes.
func (c *Calibration) ofGame() float64 {
	if c.Scale != 0 {
		return c.Scale
	}
	return 1 / c.Temperature
}

// ofBase returns the factor of φ_0 in the scores of classes: 1, except in older files with a temperature.
func (c *Calibration) ofBase() float64 {
	if c.Scale != 0 {
		return 1
	}
	return 1 / c.Temperature
}

// slopes returns κ for rows with these shares of known columns; nil if κ is 1 for all rows.
func (c *Calibration) slopes(shares []float64) []float64 {
	if c.Slope == 0 {
		return nil
	}
	list := make([]float64, len(shares))
	for i, s := range shares {
		list[i] = math.Exp(c.Slope * (1 - s))
	}
	return list
}

// observedShares returns each row's share of known columns.
func observedShares(b *encode.Batch) []float64 {
	d := b.Players()
	shares := make([]float64, b.Rows)
	for i := range shares {
		known := 0.0
		for _, seen := range b.Observed[i*d : (i+1)*d] {
			known += float64(seen)
		}
		shares[i] = known / float64(d)
	}
	return shares
}

// calibrate fits the model's calibration. Validation rows d set the scale of classes, rows set aside the intervals of a
// number, and training rows its level.
func (m *Model) calibrate(ctx context.Context, d, aside train.Data, training train.Store) error {
	m.manifest.Calibration = m.uncalibrated()
	before, err := m.measure(ctx, d)
	if err != nil {
		return err
	}
	c := &m.manifest.Calibration
	switch {
	case m.classes():
		c.Scale, c.Slope, err = m.fitScale(ctx, d)
	case m.scale() == explain.LogMean:
		if c.Level, err = m.fitLevel(ctx, training); err != nil {
			return err
		}
		fallthrough
	default:
		c.Ranges, err = m.fitRanges(ctx, aside)
	}
	if err != nil {
		return err
	}
	if c.Ranges != nil && aside.Len() < d.Len() {
		c.RangeRows = aside.Len()
	}
	after, err := m.measure(ctx, d)
	c.Before, c.After = before, after
	return err
}
