package dataset

import (
	"encoding/binary"
	"math"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/train"
)

// memory holds encoded rows and can be appended to.
type memory struct{ train.Data }

func (m *memory) append(d train.Data) error {
	if m.Rows == nil {
		m.Rows = d.Rows.Like(0)
	}
	m.Rows.Append(d.Rows)
	m.Target = append(m.Target, d.Target...)
	m.Weight = append(m.Weight, d.Weight...)
	return nil
}

// store holds the encoded training rows: in memory while they fit, then in an unlinked file of fixed-size rows.
type store struct {
	memory
	options Options
	like    *encode.Batch // an empty batch with the same players
	rows    int
	disk    *scratch // nil while rows fit into memory
}

func newStore(e *encode.Encoder, o Options) *store {
	s := &store{options: o, like: e.Batch(0)}
	s.memory.Rows = e.Batch(0)
	return s
}

// width returns the cells of a row on disk, 4 bytes each: numbers, cyclic parts, codes, observed marks, the target and
// the weight.
func (s *store) width() int {
	b := s.like
	return 2*b.Numeric + encode.CyclicParts*b.Times + b.Categorical + b.Players() + 2
}

// numbersPerCell is the mean number of encoded numbers per cell of a table.
const numbersPerCell = 3

func (s *store) append(d train.Data) error {
	s.rows += d.Len()
	if s.disk == nil {
		if s.rows*s.width() <= s.options.MemoryCells*numbersPerCell {
			return s.memory.append(d)
		}
		var err error
		if s.disk, err = newScratch(s.options.Scratch); err != nil {
			return err
		}
		held := s.Data
		s.Data = train.Data{}
		if err := s.write(held); err != nil {
			return err
		}
	}
	return s.write(d)
}

func (s *store) write(d train.Data) error {
	b := make([]byte, 0, 4*s.width())
	for i := range d.Len() {
		row := d.Rows.Slice(i, i+1)
		b = appendFloats(b[:0], row.Numbers)
		b = appendFloats(b, row.Cycles)
		for _, code := range row.Codes {
			b = binary.LittleEndian.AppendUint32(b, uint32(code))
		}
		b = appendFloats(b, row.Observed)
		b = appendFloats(b, d.Target[i:i+1])
		b = appendFloats(b, d.Weight[i:i+1])
		if err := s.disk.write(b); err != nil {
			return err
		}
	}
	return nil
}

func appendFloats(b []byte, x []float32) []byte {
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func (s *store) finish() error {
	if s.disk == nil {
		return nil
	}
	return s.disk.flush()
}

// InMemory reports whether all rows are in memory.
func (s *store) InMemory() bool { return s.disk == nil }

// Len returns the number of rows.
func (s *store) Len() int { return s.rows }

// Read returns rows [from, to).
func (s *store) Read(from, to int) (train.Data, error) {
	if s.disk == nil {
		return s.Data.Read(from, to)
	}
	size := 4 * s.width()
	b := make([]byte, (to-from)*size)
	if _, err := s.disk.file.ReadAt(b, int64(from)*int64(size)); err != nil {
		return train.Data{}, err
	}
	d := train.Data{Rows: s.like.Like(to - from), Target: make([]float32, to-from), Weight: make([]float32, to-from)}
	for i := range to - from {
		row := d.Rows.Slice(i, i+1)
		b = takeFloats(b, row.Numbers)
		b = takeFloats(b, row.Cycles)
		for k := range row.Codes {
			row.Codes[k], b = int32(binary.LittleEndian.Uint32(b)), b[4:]
		}
		b = takeFloats(b, row.Observed)
		b = takeFloats(b, d.Target[i:i+1])
		b = takeFloats(b, d.Weight[i:i+1])
	}
	return d, nil
}

func takeFloats(b []byte, x []float32) []byte {
	for i := range x {
		x[i], b = math.Float32frombits(binary.LittleEndian.Uint32(b)), b[4:]
	}
	return b
}

func (s *store) close() error {
	if s.disk == nil {
		return nil
	}
	return s.disk.file.Close()
}
