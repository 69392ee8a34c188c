package oip

import (
	"slices"
	"sync"

	"github.com/psi-shapley/psi/table"
)

// Signature describes the inputs and outputs of a model to callers. It must not change while it is in use.
type Signature struct {
	Name, Version string
	Versions      []string // versions in service, including Version

	Columns []Column // inputs, in the model's order
	Ignored []string // columns that training left out: callers may send them
	Players []string // the last axis of attributions
	Outputs []string // the second axis of outputs: classes, or the target
	Classes bool     // the outputs are scores of classes, which have probabilities

	Parameters map[string]string // further entries of the metadata

	once   sync.Once
	places map[string]int   // of columns, by name
	labels []map[string]int // by categorical column, positions of its labels

	counters sync.Pool // of *counter
}

// Column is an input of a model.
type Column struct {
	Name   string
	Kind   table.Kind
	Labels []string // labels of a category that the model knows

	Reading *table.Reading // how text is parsed; nil means plain numbers only
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

// category returns the first categorical column, nil if there is none.
func (s *Signature) category() *Column {
	i := slices.IndexFunc(s.Columns, func(c Column) bool { return c.Kind == table.Category })
	if i < 0 {
		return nil
	}
	return &s.Columns[i]
}

// takes reports whether a tensor name that is not a column stands for all columns.
func (s *Signature) takes(name string) bool {
	s.index()
	if _, column := s.places[name]; column {
		return false
	}
	return name == observedName || name == rowsName && s.category() == nil
}
