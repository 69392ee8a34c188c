package psi

import (
	"context"
	"fmt"
	"math"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/train"
)

// Calibration holds what was fitted on the validation rows after training, so that the model's doubt fits rows it did not
// learn from. Of a number it is how many standard deviations hold 90 % of the rows. Of classes it is a factor of
// the game: score(S) = φ_0 + a·v(S) for every coalition S of known cells. Attributions and deviations scale with it and
// φ_0 does not, so that a row of which nothing is known has the base rate. The probability of a row with gaps is that of
// φ_0 + κ(s)·a·v(S), κ(s) = exp(b(1 − s)), s the share of its columns that are known: scores of few cells are too cautious.
type Calibration struct {
	Noise       float64            `json:"noise"`                 // σ_0², in variances of a numeric target; in older files such that 1.645 deviations hold 90 %
	Ranges      []Range            `json:"ranges,omitempty"`      // of a number, by the share of a row's columns that are known; absent in older files
	RangeRows   int                `json:"range_rows,omitempty"`  // rows that set the ranges and nothing else; 0 if they chose the weights too
	Level       float64            `json:"level,omitempty"`       // of a number on the scale log-mean: added to φ_0, so that predictions of training rows add up to their targets
	Scale       float64            `json:"scale,omitempty"`       // a of classes; 0 (absent) for a number
	Slope       float64            `json:"slope,omitempty"`       // b of classes
	Temperature float64            `json:"temperature,omitempty"` // 1 for a number; of classes in older files, in place of Scale: it divides φ_0 too
	Before      map[string]float64 `json:"before"`                // metrics of the validation rows
	After       map[string]float64 `json:"after"`
}

// uncalibrated is what training found.
func (m *Model) uncalibrated() Calibration {
	if m.classes() {
		return Calibration{Scale: 1}
	}
	return Calibration{Noise: m.own.NoiseVariance()[0], Temperature: 1}
}

// validate refuses what calibrating cannot have given.
func (c *Calibration) validate(task Task) error {
	const most, maxSlope, maxNoise, maxLevel = 1e3, 7.0, 4e12, 10.0 // the priors keep log a and b far below
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

// ofGame is the factor of v in the scores of classes.
func (c *Calibration) ofGame() float64 {
	if c.Scale != 0 {
		return c.Scale
	}
	return 1 / c.Temperature
}

// ofBase is the factor of φ_0 in the scores of classes: 1 but in files that have a temperature.
func (c *Calibration) ofBase() float64 {
	if c.Scale != 0 {
		return 1
	}
	return 1 / c.Temperature
}

// slopes are κ of rows that have these shares of their columns; nil if it is 1 for all.
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

// observedShares are the shares of the rows' columns that are known.
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

// calibrate sets the model's calibration by validation rows, of which those of a number that are set aside set its ranges. Training rows set the level.
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
