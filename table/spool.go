package table

import (
	"errors"
	"io"
	"os"
)

// randomAccess is what formats with a footer need to be read.
type randomAccess interface {
	io.Reader
	io.ReaderAt
	io.Seeker
}

// seekable returns r as random access if it gives that, from its start.
func seekable(r io.Reader) (randomAccess, bool) {
	file, ok := r.(randomAccess)
	if !ok {
		return nil, false
	}
	// A pipe has the methods too; only trying tells.
	position, err := file.Seek(0, io.SeekCurrent)
	return file, err == nil && position == 0
}

// spooled is a temporary copy of an input.
type spooled struct {
	*os.File
	input io.Closer
}

func spool(r io.Reader, input io.Closer) (*spooled, error) {
	file, err := os.CreateTemp("", "psi-table-*")
	if err != nil {
		return nil, err
	}
	s := &spooled{File: file, input: input}
	if _, err := io.Copy(file, r); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return s, nil
}

func (s *spooled) remove() error {
	return errors.Join(s.File.Close(), os.Remove(s.Name()))
}

// Close removes the copy and closes the input it was made from.
func (s *spooled) Close() error { return errors.Join(s.remove(), s.input.Close()) }
