package store

import (
	"errors"
	"io"
)

// Writer writes an object. Call Close to publish it, or Abort to discard it. It is not safe for concurrent use.
type Writer struct {
	to     io.Writer
	name   string
	finish func() error
	drop   func()
	failed error
	ended  bool
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	if err != nil {
		w.failed = fault(w.name, err)
		return n, w.failed
	}
	return n, nil
}

// Close publishes the complete object. After a failed Write it discards the object, and returns an error.
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

// Abort discards what was written. After Close it does nothing, so that it can be deferred.
func (w *Writer) Abort() {
	if !w.ended {
		w.ended = true
		w.drop()
	}
}
