package psi

import (
	"math"

	"github.com/psi-shapley/psi/eval"
)

// CalibrationPoint compares a nominal with an observed value over many rows: a probability with the share of
// rows in the class, or the level of an interval with its coverage.
type CalibrationPoint struct {
	Nominal, Observed float64
	Rows              int
}

// CalibrationCurve accumulates predictions and targets for a calibration curve: of the probabilities of classes, or of
// the intervals of a number. It is not safe for concurrent use.
type CalibrationCurve struct {
	task      Task
	intervals eval.Intervals
	bins      eval.Calibration
}

// NewCalibrationCurve returns an empty curve for the model's predictions.
func (m *Model) NewCalibrationCurve() *CalibrationCurve {
	return &CalibrationCurve{task: m.manifest.Task}
}

// What returns the label of the axis of nominal values.
func (c *CalibrationCurve) What() string {
	if c.task == Regression {
		return "level of the interval"
	}
	return "probability of a class"
}

// Add accumulates the rows of o whose target is known.
func (c *CalibrationCurve) Add(o *Outcome) {
	for i, y := range o.Truth {
		if math.IsNaN(y) {
			continue
		}
		switch c.task {
		case Binary:
			c.bins.Add(y == 1, o.Probability[i], o.Weight[i])
		case Multiclass:
			for class, probability := range o.ofRow(i) {
				c.bins.Add(int(y) == class, probability, o.Weight[i])
			}
		default:
			centre, _ := o.link.Normal(o.scores[i], o.stds[i])
			score, _ := o.link.Score(y)
			c.intervals.Add(score, centre, o.ranges[i], o.Weight[i])
		}
	}
}

// Points returns the points of the curve in ascending order of the nominal value.
func (c *CalibrationCurve) Points() []CalibrationPoint {
	intervals, bins := c.intervals.Shares(), c.bins.Bins()
	list := make([]CalibrationPoint, 0, len(intervals)+len(bins))
	for _, s := range intervals {
		list = append(list, CalibrationPoint{s.Level, s.Share, s.Rows})
	}
	for _, b := range bins {
		list = append(list, CalibrationPoint{b.Mean, b.Share, b.Count})
	}
	return list
}

// Gap returns the mean |nominal − observed| over the points, weighted by their rows; NaN without rows.
func (c *CalibrationCurve) Gap() float64 {
	sum, rows := 0.0, 0.0
	for _, s := range c.Points() {
		sum += math.Abs(s.Observed-s.Nominal) * float64(s.Rows)
		rows += float64(s.Rows)
	}
	return sum / rows
}
