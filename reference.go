package psi

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/psi-shapley/psi/internal/artifact"
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/train"
	"github.com/psi-shapley/psi/table"
)

const referencePart = "reference.safetensors"

// referenceStream is the second word of the seed that draws reference rows.
const referenceStream = 0x7265666572

// someRows draws n rows of a store with a fixed seed; nil if n is 0.
func someRows(of train.Store, n int) (*encode.Batch, error) {
	if n == 0 {
		return nil, nil //nolint:nilnil // none are wanted
	}
	var all *encode.Batch
	for _, at := range drawNumbers(of.Len(), min(n, of.Len())) {
		d, err := of.Read(at, at+1)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = d.Rows.Like(0)
		}
		all.Append(d.Rows)
	}
	return all, nil
}

// drawNumbers draws n distinct numbers below a limit, uniformly over all subsets, and sorts them. It uses Floyd's
// algorithm, whose memory depends on n alone.
func drawNumbers(limit, n int) []int {
	rng := rand.New(rand.NewPCG(0, referenceStream))
	drawn := make(map[int]bool, n)
	for last := limit - n; last < limit; last++ {
		at := rng.IntN(last + 1)
		if drawn[at] {
			at = last
		}
		drawn[at] = true
	}
	return slices.Sorted(maps.Keys(drawn))
}

// referenceDims returns the dimensions of rows stored in a file.
func referenceDims(b *encode.Batch) map[string][]int {
	return map[string][]int{
		"numbers": {b.Rows, b.Numeric, 2}, "cycles": {b.Rows, b.Times, encode.CyclicParts}, "codes": {b.Rows, b.Categorical}, "observed": {b.Rows, b.Players()},
	}
}

// referenceTensors returns rows as a file stores them: the network's inputs, without names or targets.
func referenceTensors(b *encode.Batch) map[string]artifact.Tensor {
	codes := make([]int64, len(b.Codes))
	for i, c := range b.Codes {
		codes[i] = int64(c)
	}
	dims := referenceDims(b)
	return map[string]artifact.Tensor{
		"numbers":  {Dims: dims["numbers"], Floats: b.Numbers},
		"cycles":   {Dims: dims["cycles"], Floats: b.Cycles},
		"codes":    {Dims: dims["codes"], Ints: codes},
		"observed": {Dims: dims["observed"], Floats: b.Observed},
	}
}

// decodeReference checks rows stored in a file.
func decodeReference(content []byte, e *encode.Encoder) (*encode.Batch, error) {
	tensors, err := artifact.DecodeTensors(content)
	if err != nil {
		return nil, err
	}
	observed := tensors["observed"]
	if len(observed.Dims) != 2 || observed.Dims[0] > maxReference {
		return nil, fmt.Errorf("reference rows: at most %d are kept", maxReference)
	}
	levels := e.EmbeddingRows()
	b := &encode.Batch{Rows: observed.Dims[0], Numeric: e.Numeric(), Times: e.Times(), Categorical: len(levels)}
	for name, dims := range referenceDims(b) {
		t, ok := tensors[name]
		if !ok || !slices.Equal(t.Dims, dims) || (t.Ints != nil) != (name == "codes") {
			return nil, fmt.Errorf("reference rows: %s are not as the columns need them", name)
		}
		if slices.ContainsFunc(t.Floats, func(v float32) bool { return v-v != 0 }) {
			return nil, fmt.Errorf("reference rows: %s contain NaN or infinity", name)
		}
	}
	b.Numbers, b.Cycles, b.Observed = tensors["numbers"].Floats, tensors["cycles"].Floats, observed.Floats
	from := make([]int64, len(levels)+1) // row of the embedding table at which the levels of each column start
	for k, rows := range levels {
		from[k+1] = from[k] + int64(rows)
	}
	b.Codes = make([]int32, len(tensors["codes"].Ints))
	for i, code := range tensors["codes"].Ints {
		if k := i % len(levels); code < from[k] || code >= from[k+1] {
			return nil, errors.New("reference rows: a level is not one of its column's")
		}
		b.Codes[i] = int32(code)
	}
	if slices.ContainsFunc(b.Observed, func(v float32) bool { return v != 0 && v != 1 }) {
		return nil, errors.New("reference rows: a cell is neither observed nor missing")
	}
	return b, nil
}

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
func (m *Model) sample(ctx context.Context, source Source, limit int, wanted func(y, weight float64) bool) (*sampled, error) {
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
			if seen++; seen > limit {
				if at = rng.IntN(seen); at >= limit {
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
