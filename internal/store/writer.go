package store

import (
	"errors"
	"io"
)

// Writer writes an object. Close shows it, Abort drops it; one of them ends it.
type Writer struct {
	to     io.Writer
	name   string
	finish func() error
	drop   func()
	failed error
	ended  bool
}

// Write is of io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	if err != nil {
		w.failed = fault(w.name, err)
		return n, w.failed
	}
	return n, nil
}

// Close makes the object visible, whole. After a failed Write it drops it, and fails too.
func (w *Writer) Close() error {
	if w.ended {
		return errors.New(w.name + ": this was ended before")
	}
	if w.failed != nil {
		w.Abort()
		return w.failed
	}
	w.ended = true
	return fault(w.name, w.finish())
}

// Abort drops what was written. After Close it does nothing, so that it can be deferred.
func (w *Writer) Abort() {
	if !w.ended {
		w.ended = true
		w.drop()
	}
}
