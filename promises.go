package psi

import (
	"math"

	"github.com/psi-shapley/psi/eval"
)

// Promise is what a model says of many rows and how often it came true: a probability and the share of rows that it
// held for, or an interval's level and the share of rows inside.
type Promise struct {
	Promised, Kept float64
	Rows           int
}

// Promises gathers how a model's doubt turns out: the probabilities of classes, or the intervals of a number.
type Promises struct {
	task      Task
	intervals eval.Intervals
	bins      eval.Calibration
}

// NewPromises is for the model's own predictions.
func (m *Model) NewPromises() *Promises { return &Promises{task: m.manifest.Task} }

// What names the promises, for an axis.
func (p *Promises) What() string {
	if p.task == Regression {
		return "level of the interval"
	}
	return "probability of a class"
}

// Add takes in the rows whose target is known.
func (p *Promises) Add(o *Outcome) {
	for i, y := range o.Truth {
		if math.IsNaN(y) {
			continue
		}
		switch p.task {
		case Binary:
			p.bins.Add(y == 1, o.Probability[i], o.Weight[i])
		case Multiclass:
			for class, probability := range o.ofRow(i) {
				p.bins.Add(int(y) == class, probability, o.Weight[i])
			}
		default:
			centre, _ := o.link.Normal(o.scores[i], o.stds[i])
			score, _ := o.link.Score(y)
			p.intervals.Add(score, centre, o.ranges[i], o.Weight[i])
		}
	}
}

// List is the promises, the lowest first.
func (p *Promises) List() []Promise {
	intervals, bins := p.intervals.Shares(), p.bins.Bins()
	list := make([]Promise, 0, len(intervals)+len(bins))
	for _, s := range intervals {
		list = append(list, Promise{s.Level, s.Share, s.Rows})
	}
	for _, b := range bins {
		list = append(list, Promise{b.Mean, b.Share, b.Count})
	}
	return list
}

// Gap is the mean distance of a promise from what came true, by the rows of each; NaN without rows.
func (p *Promises) Gap() float64 {
	sum, rows := 0.0, 0.0
	for _, s := range p.List() {
		sum += math.Abs(s.Kept-s.Promised) * float64(s.Rows)
		rows += float64(s.Rows)
	}
	return sum / rows
}
