package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Opening a pipe waits until its other end is opened, and reading and writing pipes, terminals and devices may block
// for ever. Goroutines do it here, so that the caller's wait ends with its context. An abandoned goroutine ends with
// the program, or when the call returns.

// openFile opens a file for reading. A file that is not regular is opened as a stream.
func openFile(ctx context.Context, path string) (io.ReadCloser, error) {
	if found, err := os.Stat(path); err != nil || found.Mode().IsRegular() {
		return os.Open(path)
	}
	file, err := openWaiting(ctx, path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return newStream(ctx, file), nil
}

// openWaiting opens a pipe or a device. It waits for the other end until the context ends.
func openWaiting(ctx context.Context, path string, flag int) (*os.File, error) {
	type result struct {
		file *os.File
		err  error
	}
	opened := make(chan result, 1)
	go func() {
		file, err := os.OpenFile(path, flag, 0)
		opened <- result{file, err}
	}()
	select {
	case r := <-opened:
		return r.file, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// stream is an input whose reads end with a context.
type stream struct {
	*io.PipeReader
	from io.Reader
	end  func(error)
}

func newStream(ctx context.Context, from io.Reader) *stream {
	reader, writer := io.Pipe()
	s := &stream{PipeReader: reader, from: from, end: func(err error) { _ = writer.CloseWithError(err) }} // it always returns nil
	go func() {
		const buffer = 256 << 10
		_, err := io.CopyBuffer(struct{ io.Writer }{writer}, struct{ io.Reader }{from}, make([]byte, buffer))
		s.end(err)
	}()
	s.until(ctx)
	return s
}

// until ends reading when a context ends, unless release is called before.
func (s *stream) until(ctx context.Context) (release func() bool) {
	return context.AfterFunc(ctx, func() { s.end(ctx.Err()) })
}

// Close ends reading, and closes the input if possible.
func (s *stream) Close() error {
	err := s.PipeReader.Close()
	if c, is := s.from.(io.Closer); is {
		err = errors.Join(err, c.Close())
	}
	return err
}

// readFile reads a file or pipe of at most limit bytes.
func readFile(ctx context.Context, path string, limit int64) ([]byte, error) {
	file, err := openFile(ctx, path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("it has more than %d bytes", limit)
	}
	return text, err
}

// streamWriter is an output whose writes end with a context.
type streamWriter struct {
	to   io.Writer
	done <-chan struct{} // of the context
	lost bool            // a write was abandoned
}

func newStreamWriter(ctx context.Context, to io.Writer) *streamWriter {
	return &streamWriter{to: to, done: ctx.Done()}
}

// Write writes a copy, because an abandoned write may still read it when the caller reuses content.
func (w *streamWriter) Write(content []byte) (int, error) {
	if w.lost {
		return 0, context.Canceled
	}
	type result struct {
		n   int
		err error
	}
	written := make(chan result, 1)
	content = bytes.Clone(content)
	go func() {
		n, err := w.to.Write(content)
		written <- result{n, err}
	}()
	select {
	case r := <-written:
		return r.n, r.err
	case <-w.done:
	}
	const moment = 100 * time.Millisecond // for a write that is about to finish anyway
	select {
	case r := <-written:
		return r.n, r.err
	case <-time.After(moment):
		w.lost = true
		return 0, context.Canceled
	}
}
