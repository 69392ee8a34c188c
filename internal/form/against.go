package form

import (
	"errors"

	"github.com/psi-shapley/psi/internal/encode"
)

// Referential is an evaluator that also has the interventional game: absent columns have the values of reference rows,
// and v is the mean over these rows.
type Referential interface {
	Evaluator
	Against(references *encode.Batch) (Evaluator, error)
}

// Against returns the ensemble in the interventional game. σ and h are those of the ensemble's own game. The result
// shares the ensemble's memory and needs no Close.
func (e *Ensemble) Against(references *encode.Batch) (*Ensemble, error) {
	members, err := against(e.members, references)
	if err != nil {
		return nil, err
	}
	bags, err := against(e.bags, references)
	return &Ensemble{config: e.config, members: members, bags: bags, noise: e.noise, mixed: e.mixed}, err
}

func against(all []Evaluator, references *encode.Batch) ([]Evaluator, error) {
	list := make([]Evaluator, len(all))
	for i, one := range all {
		r, is := one.(Referential)
		if !is {
			return nil, errors.New("form: the evaluator has no game of reference rows")
		}
		var err error
		if list[i], err = r.Against(references); err != nil {
			return nil, err
		}
	}
	return list, nil
}
