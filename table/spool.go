package table

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// randomAccess is required by formats with a footer.
type randomAccess interface {
	io.Reader
	io.ReaderAt
	io.Seeker
}

// seekable returns r with random access from its start, if r supports it.
func seekable(r io.Reader) (randomAccess, bool) {
	file, ok := r.(randomAccess)
	if !ok {
		return nil, false
	}
	// A pipe has the method too; only a call shows whether it works.
	position, err := file.Seek(0, io.SeekCurrent)
	return file, err == nil && position == 0
}

// spooled is a temporary copy of an input.
type spooled struct {
	*os.File
	input io.Closer
}

// spool copies an input to disk, which must have room for all of it.
func spool(r io.Reader, input io.Closer) (*spooled, error) {
	file, err := os.CreateTemp("", "psi-table-*")
	if err != nil {
		return nil, notSpooled(err)
	}
	s := &spooled{File: file, input: input}
	if _, err := io.Copy(file, r); err != nil {
		if fault, is := errors.AsType[*fs.PathError](err); is && fault.Path == file.Name() {
			err = notSpooled(err)
		}
		return nil, errors.Join(err, s.remove())
	}
	return s, nil
}

// notSpooled reports that there is no room for the copy.
func notSpooled(err error) error {
	return &Error{
		Row: noRow, Message: "a copy of the input, which is read at random, cannot be written: " + err.Error(),
		Remedy: "make room in " + os.TempDir() + ", set TMPDIR to a larger directory, or give a file instead of a pipe", Err: err,
	}
}

func (s *spooled) remove() error {
	return errors.Join(s.File.Close(), os.Remove(s.Name()))
}

// Close removes the copy and closes the input it was made from.
func (s *spooled) Close() error { return errors.Join(s.remove(), s.input.Close()) }
