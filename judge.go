package psi

import (
	"fmt"
	"math"

	"github.com/psi-shapley/psi/eval"
	"github.com/psi-shapley/psi/table"
)

// Judge measures predictions by what came true, some rows at a time.
type Judge struct {
	target     string
	task       Task
	regression eval.Regression
	binary     eval.Binary
	multiclass eval.Multiclass
	known      bool // some row has a target
}

// NewJudge judges the model's predictions.
func (m *Model) NewJudge() *Judge { return &Judge{target: m.manifest.Target, task: m.manifest.Task} }

// Add takes in the rows whose target is known.
func (j *Judge) Add(o *Outcome) {
	for i, y := range o.Truth {
		if !math.IsNaN(y) {
			j.add(o.Prediction, i, y, o.Weight[i])
		}
	}
}

// add takes in a row of a prediction whose target is y: a number, or that of its class.
func (j *Judge) add(p *Prediction, row int, y, weight float64) {
	j.known = true
	switch j.task {
	case Binary:
		j.binary.Add(y == 1, p.Probability[row], weight)
	case Multiclass:
		j.multiclass.Add(int(y), p.ofRow(row), weight)
	default:
		centre, spread := p.link.Normal(p.scores[row], p.stds[row])
		score, logSlope := p.link.Score(y)
		j.regression.AddScored(y, p.Mean[row], eval.Scored{Miss: score - centre, Std: spread, RangeStd: p.ranges[row], LogSlope: logSlope}, weight)
	}
}

// Evaluation sums up the rows so far. It is an error if none has a target.
func (j *Judge) Evaluation() (*eval.Evaluation, error) {
	if !j.known {
		return nil, &table.Error{Row: -1, Column: j.target, Message: "no row has a value in the target column", Remedy: "give rows whose outcome is known"}
	}
	e := j.evaluation()
	return &e, nil
}

// Decide counts the rows so far at a threshold of the positive class's probability. It is an error unless the target has two classes.
func (j *Judge) Decide(threshold float64) (eval.Decision, error) {
	if j.task != Binary {
		return eval.Decision{}, &table.Error{
			Row: -1, Column: j.target, Message: "a threshold needs a target of two classes",
			Remedy: "leave the threshold out, or train a model that predicts whether the target is one of its classes",
		}
	}
	if !(threshold >= 0 && threshold <= 1) {
		return eval.Decision{}, fmt.Errorf("the threshold is %g: it is a probability and must lie between 0 and 1", threshold)
	}
	return j.binary.Decide(threshold), nil
}

func (j *Judge) evaluation() eval.Evaluation {
	switch j.task {
	case Binary:
		return j.binary.Evaluation()
	case Multiclass:
		return j.multiclass.Evaluation()
	}
	return j.regression.Evaluation()
}
