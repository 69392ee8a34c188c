package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"gocloud.dev/blob"
)

// access is what formats with a footer need.
type access interface {
	io.Reader
	io.ReaderAt
	io.Seeker
	io.Closer
	unchanged() error // ErrChanged if the object has changed since it was opened
}

// Reader reads an object. ReadAt is safe for concurrent use, and makes one request to the store.
type Reader struct {
	access
	requests, bytes atomic.Int64
}

// ReadAt implements io.ReaderAt.
func (r *Reader) ReadAt(p []byte, offset int64) (int, error) {
	n, err := r.access.ReadAt(p, offset)
	r.requests.Add(1)
	r.bytes.Add(int64(n))
	return n, err
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	n, err := r.access.Read(p)
	r.bytes.Add(int64(n))
	return n, err
}

// Taken returns the number of bytes read, and of calls of ReadAt.
func (r *Reader) Taken() (requests, bytes int64) { return r.requests.Load(), r.bytes.Load() }

// windowBytes is how much Read requests at a time: the store would cut off a stream that stays open while its reader
// computes.
const windowBytes = 4 << 20

// ranges reads an object of a bucket.
type ranges struct {
	name  string
	size  int64
	start func(offset, length int64) (*blob.Reader, error)
	pause func() error
	same  func() error // nil if every range is checked

	at     int64 // position of Read
	window []byte
	from   int64 // start of the window
}

func (r *ranges) ReadAt(p []byte, offset int64) (int, error) {
	if offset < 0 {
		return 0, fmt.Errorf("%s: there is no byte %d", r.name, offset)
	}
	if offset >= r.size {
		return 0, io.EOF
	}
	short := int64(len(p)) > r.size-offset
	if short {
		p = p[:r.size-offset]
	}
	if len(p) == 0 {
		return 0, nil
	}
	if err := r.fetch(p, offset); err != nil {
		return 0, fault(r.name, err)
	}
	if short {
		return len(p), io.EOF
	}
	return len(p), nil
}

// fetch fills p. The library retries requests, but not those whose answer ends early.
func (r *ranges) fetch(p []byte, offset int64) error {
	const tries = 3
	for try := 1; ; try++ {
		err := r.once(p, offset)
		if _, broken := errors.AsType[*brokenError](err); !broken || try == tries {
			return err
		}
		if err := r.pause(); err != nil {
			return err
		}
	}
}

func (r *ranges) once(p []byte, offset int64) error {
	from, err := r.start(offset, int64(len(p)))
	if err != nil {
		return err
	}
	defer from.Close()
	if from.Size() != r.size {
		return ErrChanged
	}
	if _, err := io.ReadFull(from, p); err != nil {
		return &brokenError{err}
	}
	return nil
}

// rest pauses before a retry.
func rest(ctx context.Context) error {
	const moment = 200 * time.Millisecond
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(moment):
		return nil
	}
}

func (r *ranges) Read(p []byte) (int, error) {
	if r.at >= r.size {
		return 0, io.EOF
	}
	if r.at < r.from || r.at >= r.from+int64(len(r.window)) {
		if r.window == nil {
			r.window = make([]byte, min(windowBytes, r.size))
		}
		r.window, r.from = r.window[:min(int64(cap(r.window)), r.size-r.at)], r.at
		if err := r.fetch(r.window, r.at); err != nil {
			r.window = r.window[:0]
			return 0, fault(r.name, err)
		}
	}
	n := copy(p, r.window[r.at-r.from:])
	r.at += int64(n)
	return n, nil
}

func (r *ranges) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return 0, fmt.Errorf("%s: there is no byte %d", r.name, offset)
	}
	r.at = offset
	return offset, nil
}

func (r *ranges) unchanged() error {
	if r.same == nil {
		return nil
	}
	return r.same()
}

func (r *ranges) Close() error {
	r.window = nil
	return nil
}

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
