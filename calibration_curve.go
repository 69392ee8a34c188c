package psi

import (
	"math"

	"github.com/psi-shapley/psi/eval"
)

// CalibrationPoint compares what a model says of many rows with how often it came true: a probability and the share of rows
// that it held for, or an interval's level and the share of rows inside.
type CalibrationPoint struct {
	Nominal, Observed float64
	Rows              int
}

// CalibrationCurve gathers how a model's doubt turns out: the probabilities of classes, or the intervals of a number.
type CalibrationCurve struct {
	task      Task
	intervals eval.Intervals
	bins      eval.Calibration
}

// NewCalibrationCurve is for the model's own predictions.
func (m *Model) NewCalibrationCurve() *CalibrationCurve {
	return &CalibrationCurve{task: m.manifest.Task}
}

// What names the nominal values, for an axis.
func (c *CalibrationCurve) What() string {
	if c.task == Regression {
		return "level of the interval"
	}
	return "probability of a class"
}

// Add takes in the rows whose target is known.
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

// Points lists the points, the lowest nominal value first.
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

// Gap is the mean distance of nominal and observed values, by the rows of each; NaN without rows.
func (c *CalibrationCurve) Gap() float64 {
	sum, rows := 0.0, 0.0
	for _, s := range c.Points() {
		sum += math.Abs(s.Observed-s.Nominal) * float64(s.Rows)
		rows += float64(s.Rows)
	}
	return sum / rows
}
