package psi

import (
	"math"

	"github.com/psi-shapley/psi/eval"
	"github.com/psi-shapley/psi/table"
)

// Judge measures predictions by what came true, some rows at a time.
type Judge struct {
	target string
	judge  judge
	known  bool // some row has a target
}

// NewJudge judges the model's predictions.
func (m *Model) NewJudge() *Judge {
	return &Judge{target: m.manifest.Target, judge: judge{task: m.manifest.Task}}
}

// Add takes in the rows whose target is known.
func (j *Judge) Add(o *Outcome) {
	for i, y := range o.Truth {
		if !math.IsNaN(y) {
			j.judge.add(o.Prediction, i, y, o.Weight[i])
			j.known = true
		}
	}
}

// Evaluation sums up the rows so far. It is an error if none has a target.
func (j *Judge) Evaluation() (*eval.Evaluation, error) {
	if !j.known {
		return nil, &table.Error{Row: -1, Column: j.target, Message: "no row has a value in the target column", Remedy: "give rows whose outcome is known"}
	}
	e := j.judge.evaluation()
	return &e, nil
}

// judge gathers the metrics of a task, row by row.
type judge struct {
	task       Task
	regression eval.Regression
	binary     eval.Binary
	multiclass eval.Multiclass
}

// add takes in a row of a prediction whose target is y: a number, or that of its class.
func (j *judge) add(p *Prediction, row int, y, weight float64) {
	switch j.task {
	case Binary:
		j.binary.Add(y == 1, p.Probability[row], weight)
	case Multiclass:
		j.multiclass.Add(int(y), p.ofRow(row), weight)
	default:
		j.regression.Add(y, p.Mean[row], p.Std[row], weight)
	}
}

func (j *judge) evaluation() eval.Evaluation {
	switch j.task {
	case Binary:
		return j.binary.Evaluation()
	case Multiclass:
		return j.multiclass.Evaluation()
	}
	return j.regression.Evaluation()
}
