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

	"github.com/psi-shapley/psi/table"
)

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
