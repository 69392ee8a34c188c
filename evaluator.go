package psi

import (
	"fmt"
	"math"

	"github.com/psi-shapley/psi/eval"
	"github.com/psi-shapley/psi/table"
)

// Evaluator accumulates predictions and targets in chunks and computes metrics. It is not safe for concurrent use.
type Evaluator struct {
	target     string
	task       Task
	regression eval.Regression
	binary     eval.Binary
	multiclass eval.Multiclass
	known      bool // whether any row has a target
}

// NewEvaluator returns an empty Evaluator for the model's predictions.
func (m *Model) NewEvaluator() *Evaluator {
	return &Evaluator{target: m.manifest.Target, task: m.manifest.Task}
}

// Add accumulates the rows of o whose target is known.
func (e *Evaluator) Add(o *Outcome) {
	for i, y := range o.Truth {
		if !math.IsNaN(y) {
			e.add(o.Prediction, i, y, o.Weight[i])
		}
	}
}

// add accumulates a row of a prediction; y is its target, a number or the index of its class.
func (e *Evaluator) add(p *Prediction, row int, y, weight float64) {
	e.known = true
	switch e.task {
	case Binary:
		e.binary.Add(y == 1, p.Probability[row], weight)
	case Multiclass:
		e.multiclass.Add(int(y), p.ofRow(row), weight)
	default:
		centre, spread := p.link.Normal(p.scores[row], p.stds[row])
		score, logSlope := p.link.Score(y)
		e.regression.AddScored(y, p.Mean[row], eval.Scored{Miss: score - centre, Std: spread, RangeStd: p.ranges[row], LogSlope: logSlope}, weight)
	}
}

// Evaluation returns the metrics of the rows added so far. It returns an error if none of them has a target.
func (e *Evaluator) Evaluation() (*eval.Evaluation, error) {
	if !e.known {
		return nil, &table.Error{Row: -1, Column: e.target, Message: "no row has a value in the target column", Remedy: "give rows whose outcome is known"}
	}
	all := e.evaluation()
	return &all, nil
}

// Decide returns the confusion matrix of the rows added so far at a threshold of the positive class's probability. It
// returns an error unless the target has two classes.
func (e *Evaluator) Decide(threshold float64) (eval.Decision, error) {
	if e.task != Binary {
		return eval.Decision{}, &table.Error{
			Row: -1, Column: e.target, Message: "a threshold needs a target of two classes",
			Remedy: "leave the threshold out, or train a model that predicts whether the target is one of its classes",
		}
	}
	if !(threshold >= 0 && threshold <= 1) {
		return eval.Decision{}, wrongSetting(fmt.Sprintf("the threshold is %g", threshold), "give a probability, between 0 and 1")
	}
	return e.binary.Decide(threshold), nil
}

func (e *Evaluator) evaluation() eval.Evaluation {
	switch e.task {
	case Binary:
		return e.binary.Evaluation()
	case Multiclass:
		return e.multiclass.Evaluation()
	}
	return e.regression.Evaluation()
}
