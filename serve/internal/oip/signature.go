package oip

import (
	"slices"
	"sync"

	"github.com/psi-shapley/psi/table"
)

// Signature is what callers must know of a model. It is not to be changed once it is in use.
type Signature struct {
	Name, Version string
	Versions      []string // all that are served, Version among them

	Columns []Column // inputs, in the model's order
	Ignored []string // columns that callers may send as well, as training left them out
	Players []string // the last axis of attributions
	Outputs []string // the second axis of outputs: classes, or the target
	Classes bool     // the outputs are scores of classes, so there are probabilities

	Parameters map[string]string // what else to say in the metadata

	once   sync.Once
	places map[string]int   // of columns, by name
	labels []map[string]int // of a category's column, places of its labels

	counters sync.Pool // of *counter
}

// Column is an input of a model.
type Column struct {
	Name   string
	Kind   table.Kind
	Labels []string // of a category, those that the model knows

	Reading *table.Reading // of its text; nil if it must be written plainly
}

// Names of tensors that stand for no single column.
const (
	rowsName     = "rows"
	observedName = "observed"
)

func (s *Signature) index() {
	s.once.Do(func() {
		s.places = make(map[string]int, len(s.Columns))
		s.labels = make([]map[string]int, len(s.Columns))
		most := 0
		for j, c := range s.Columns {
			s.places[c.Name] = j
			s.labels[j] = make(map[string]int, len(c.Labels))
			for k, label := range c.Labels {
				s.labels[j][label] = k
			}
			most = max(most, len(c.Labels))
		}
		s.counters.New = func() any { return newCounter(most) }
	})
}

// category is the first column that is one, nil if all are numbers, booleans and times.
func (s *Signature) category() *Column {
	i := slices.IndexFunc(s.Columns, func(c Column) bool { return c.Kind == table.Category })
	if i < 0 {
		return nil
	}
	return &s.Columns[i]
}

// takes tells whether a tensor of that name, which is not a column's, stands for all columns.
func (s *Signature) takes(name string) bool {
	s.index()
	if _, column := s.places[name]; column {
		return false
	}
	return name == observedName || name == rowsName && s.category() == nil
}
