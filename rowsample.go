package psi

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/table"
)

// sampled is a sample of the rows of a source.
type sampled struct {
	rows   *encode.Batch // nil if there are none
	y      []float64     // targets, as Model.truth returns them; NaN where not known
	weight []float64
	units  []uint64 // unit of each row (Provenance.ValidationBy); nil if the source has none
}

// anyRow accepts all rows for a sample.
func anyRow(float64, float64) bool { return true }

// sample draws at most the given number of rows from the rows of a source whose target and weight are wanted.
func (m *Model) sample(ctx context.Context, source Source, most int, wanted func(y, weight float64) bool) (*sampled, error) {
	by := m.manifest.Provenance.ValidationBy()
	rng := rand.New(rand.NewPCG(0, auditStream))
	s, seen := &sampled{}, 0
	for c, err := range m.chunks(ctx, source, span{}, nil) {
		if err != nil {
			return nil, err
		}
		var unit *table.Column
		if by != "" {
			unit = c.table.Column(by)
		}
		truth := slices.Repeat([]float64{math.NaN()}, c.batch.Rows)
		if c.table.Column(m.manifest.Target) != nil {
			if truth, err = m.truth(c.table); err != nil {
				return nil, err
			}
		}
		weight := m.weights(c.table)
		for i := range c.batch.Rows {
			if !wanted(truth[i], weight(i)) {
				continue
			}
			// Reservoir sampling: row number s stays with probability most/s.
			at := seen
			if seen++; seen > most {
				if at = rng.IntN(seen); at >= most {
					continue
				}
			} else {
				s.grow(c.batch, unit != nil)
			}
			s.rows.Set(at, c.batch, i)
			s.y[at], s.weight[at] = truth[i], weight(i)
			if unit != nil {
				s.units[at] = unitOf(unit, i, seen)
			}
		}
	}
	return s, nil
}

// grow makes room for another row.
func (s *sampled) grow(like *encode.Batch, units bool) {
	if s.rows == nil {
		s.rows = like.Like(0)
	}
	s.rows.Append(s.rows.Like(1))
	s.y, s.weight = append(s.y, 0), append(s.weight, 0)
	if units {
		s.units = append(s.units, 0)
	}
}

// unitOf returns a number shared by all rows with the same value. A row without a value is a unit of its own, derived
// from its row number.
func unitOf(c *table.Column, i, number int) uint64 {
	h := fnv.New64a()
	text := c.Text(i)
	if text == "" {
		text = fmt.Sprintf("\x00%d", number)
	}
	_, _ = h.Write([]byte(text)) // a hash never fails
	return h.Sum64()
}
