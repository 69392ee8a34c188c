package psi

import "github.com/psi-shapley/psi/eval"

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
