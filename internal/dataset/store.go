package dataset

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/train"
	"github.com/psi-shapley/psi/table"
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
		inMemory := s.Data
		s.Data = train.Data{}
		if err := s.write(inMemory); err != nil {
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

// spill holds chunks of a table in an unlinked file: for each column the observed marks, then numbers or codes. Labels
// stay in memory, where the source has them anyway, so a long label takes no more room on disk than a short one.
type spill struct {
	scratch
	columns []*table.Column // without rows, but with all labels so far
	rows    []int           // of each chunk
	content []byte          // of one chunk
}

func newSpill(dir string) (*spill, error) {
	file, err := newScratch(dir)
	if err != nil {
		return nil, err
	}
	return &spill{scratch: *file}, nil
}

func (s *spill) append(chunk *table.Table) error {
	s.columns = s.columns[:0]
	s.content = s.content[:0]
	for _, c := range chunk.Columns {
		empty := *c
		empty.Observed, empty.Numbers, empty.Codes = nil, nil, nil
		s.columns = append(s.columns, &empty)
		for _, observed := range c.Observed {
			mark := byte(0)
			if observed {
				mark = 1
			}
			s.content = append(s.content, mark)
		}
		for _, v := range c.Numbers {
			s.content = binary.LittleEndian.AppendUint64(s.content, math.Float64bits(v))
		}
		for _, code := range c.Codes {
			s.content = binary.LittleEndian.AppendUint32(s.content, uint32(code))
		}
	}
	s.rows = append(s.rows, chunk.Rows())
	return s.write(s.content)
}

// each calls visit with every chunk.
func (s *spill) each(ctx context.Context, visit func(chunk *table.Table) error) error {
	in := bufio.NewReaderSize(io.NewSectionReader(s.file, 0, math.MaxInt64), 1<<20)
	for _, rows := range s.rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		chunk, err := s.read(in, rows)
		if err != nil {
			return err
		}
		if err := visit(chunk); err != nil {
			return err
		}
	}
	return nil
}

func (s *spill) read(in io.Reader, rows int) (*table.Table, error) {
	chunk := &table.Table{Columns: make([]*table.Column, len(s.columns))}
	for i, like := range s.columns {
		c := *like
		width := 1 + 8
		if c.Kind == table.Category {
			width = 1 + 4
		}
		if cap(s.content) < width*rows {
			s.content = make([]byte, width*rows)
		}
		content := s.content[:width*rows]
		if _, err := io.ReadFull(in, content); err != nil {
			return nil, fmt.Errorf("rows that were kept on disk cannot be read: %w", err)
		}
		c.Observed = make([]bool, rows)
		for row := range rows {
			c.Observed[row] = content[row] == 1
		}
		content = content[rows:]
		if c.Kind == table.Category {
			c.Codes = make([]int32, rows)
			for row := range rows {
				c.Codes[row] = int32(binary.LittleEndian.Uint32(content[4*row:]))
			}
		} else {
			c.Numbers = make([]float64, rows)
			for row := range rows {
				c.Numbers[row] = math.Float64frombits(binary.LittleEndian.Uint64(content[8*row:]))
			}
		}
		chunk.Columns[i] = &c
	}
	return chunk, nil
}

// scratch is a file without a name: the system frees it when the process ends, for whatever reason.
type scratch struct {
	file   *os.File
	buffer *bufio.Writer
	dir    string
	bytes  int64
}

func newScratch(dir string) (*scratch, error) {
	file, err := os.CreateTemp(dir, "psi-rows-*")
	if err != nil {
		return nil, noRoom(dir, 0, err)
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, noRoom(dir, 0, errors.Join(err, file.Close()))
	}
	return &scratch{file: file, buffer: bufio.NewWriterSize(file, 1<<20), dir: dir}, nil
}

func (s *scratch) write(content []byte) error {
	if _, err := s.buffer.Write(content); err != nil {
		return noRoom(s.dir, s.bytes, err)
	}
	s.bytes += int64(len(content))
	return nil
}

func (s *scratch) flush() error {
	if err := s.buffer.Flush(); err != nil {
		return noRoom(s.dir, s.bytes, err)
	}
	return nil
}

// noRoom reports that rows cannot be kept on disk.
func noRoom(dir string, written int64, err error) error {
	if dir == "" {
		dir = os.TempDir()
	}
	return &table.Error{
		Row:     -1,
		Message: fmt.Sprintf("rows that do not fit into memory cannot be kept in %s, after %d MB: %v", dir, written/1e6, err),
		Remedy:  "make room there, or write the model to a directory on a larger disk",
		Err:     err,
	}
}
