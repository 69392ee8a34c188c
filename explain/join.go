package explain

import (
	"errors"

	"github.com/psi-shapley/psi/table"
)

// Join concatenates explanations of consecutive chunks of one source.
func Join(parts []*Explanation) (*Explanation, error) {
	if len(parts) == 0 {
		return nil, errors.New("explain: nothing to join")
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	whole := *parts[0]
	whole.Rows, whole.Slope, whole.Evaluations = 0, nil, nil
	chunks := make([]*table.Table, len(parts))
	var lists [14][][]float64
	var observed, other []bool
	anyOther := false
	for i, p := range parts {
		if difference := difference(parts[0], p); difference != "" {
			return nil, errors.New("explain: parts of different explanations: " + difference)
		}
		if p.FirstRow != whole.FirstRow+whole.Rows {
			return nil, errors.New("explain: parts that do not follow each other")
		}
		whole.Rows += p.Rows
		whole.Slope = append(whole.Slope, p.Slope...)
		whole.Evaluations = append(whole.Evaluations, p.Evaluations...)
		observed = append(observed, p.Observed...)
		if p.Other != nil {
			anyOther = true
			other = append(other, p.Other...)
		} else {
			other = append(other, make([]bool, len(p.Observed))...)
		}
		for k, list := range p.lists() {
			if (*list == nil) != (*parts[0].lists()[k] == nil) {
				return nil, errors.New("explain: parts of different explanations: what they hold")
			}
			lists[k] = append(lists[k], *list)
		}
		chunks[i] = &table.Table{}
		for _, c := range p.Values {
			if c != nil {
				chunks[i].Columns = append(chunks[i].Columns, c)
			}
		}
	}
	for k, list := range whole.lists() {
		*list = joined(lists[k])
	}
	whole.Observed, whole.Other = observed, nil
	if anyOther {
		whole.Other = other
	}
	values, err := table.Concat(chunks)
	if err != nil {
		return nil, err
	}
	whole.Values = make([]*table.Column, len(parts[0].Values))
	for d, c := range parts[0].Values {
		if c != nil {
			whole.Values[d] = values.Column(c.Name)
		}
	}
	return &whole, nil
}

// lists returns all arrays of numbers: seven [rows, outputs], four [rows, outputs, players], two [rows, outputs,
// players, players], one [rows, outputs, players, bags].
func (e *Explanation) lists() [14]*[]float64 {
	return [...]*[]float64{
		&e.Base, &e.Prediction, &e.PredictionStd, &e.HiddenStd, &e.Probability, &e.Residual,
		&e.Mean, &e.Std, &e.StandardError, &e.ModelStd, &e.Interactions, &e.InteractionError, &e.ByBag, &e.RangeStd,
	}
}

func joined(lists [][]float64) []float64 {
	n := 0
	for _, list := range lists {
		n += len(list)
	}
	if lists[0] == nil {
		return nil
	}
	all := make([]float64, 0, n)
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}
