package table

import (
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Sink writes a table in chunks of rows with the same columns. It is not safe for concurrent use.
type Sink interface {
	// Write appends rows. A table without rows still sets the columns.
	Write(ctx context.Context, t *Table) error

	// Close completes the output. It fails if an earlier Write failed, or if nothing was written, because a table needs
	// columns.
	Close() error
}

// encoder writes one format. start is called once, with the first table.
type encoder interface {
	start(t *Table) error
	write(ctx context.Context, t *Table) error
	finish() error
}

// SinkOption configures a sink.
type SinkOption func(*sinkOptions)

type sinkOptions struct{ spreadsheetSafe bool }

// SpreadsheetSafe makes CSV and TSV safe against formula injection. It puts an apostrophe before labels and column
// names that begin with =, +, - or @, also after spaces, tabs and line ends. Numbers, times and labels that are
// numbers, such as -1, stay unchanged. Other formats ignore the option because their cells are typed.
//
// Escaped cells read back with the apostrophe.
func SpreadsheetSafe() SinkOption { return func(o *sinkOptions) { o.spreadsheetSafe = true } }

// NewSink returns a sink that writes a table to w. Close does not close w.
func NewSink(w io.Writer, format Format, options ...SinkOption) (Sink, error) {
	return newSink(w, format, options)
}

func newSink(w io.Writer, format Format, options []SinkOption) (*encoderSink, error) {
	var chosen sinkOptions
	for _, option := range options {
		option(&chosen)
	}
	switch format {
	case CSV:
		return &encoderSink{encoder: newCSVEncoder(w, ',', chosen)}, nil
	case TSV:
		return &encoderSink{encoder: newCSVEncoder(w, '\t', chosen)}, nil
	case Parquet:
		return &encoderSink{encoder: &parquetEncoder{out: w}}, nil
	case Arrow, ArrowFile:
		return &encoderSink{encoder: &arrowEncoder{out: w, file: format == ArrowFile}}, nil
	}
	return nil, &Error{Row: noRow, Message: fmt.Sprintf("unknown format %d", format)}
}

// encoderSink is the part that all formats share: it checks that chunks agree, and refuses to continue after a failure.
type encoderSink struct {
	encoder encoder
	columns *Table // the first table without its rows
	failure error
}

func (s *encoderSink) Write(ctx context.Context, t *Table) error {
	if s.failure == nil {
		s.failure = s.write(ctx, t)
	}
	return s.failure
}

func (s *encoderSink) write(ctx context.Context, t *Table) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.columns == nil {
		if len(t.Columns) == 0 {
			return &Error{Row: noRow, Message: "a table without columns cannot be written"}
		}
		if err := s.encoder.start(t); err != nil {
			return err
		}
		s.columns = t.slice(0, 0)
	}
	if err := sameColumns(s.columns, t); err != nil {
		return err
	}
	return s.encoder.write(ctx, t)
}

func (s *encoderSink) Close() error {
	if s.failure != nil {
		return s.failure
	}
	if s.columns == nil {
		return &Error{Row: noRow, Message: "no table was written"}
	}
	return s.encoder.finish()
}

// FileSink writes a file that appears under its name only when Close succeeds. It is not safe for concurrent use.
type FileSink struct {
	path   string
	file   *os.File // temporary file; nil when done
	packed *gzip.Writer
	*encoderSink
}

// Create returns a sink for a file, whose extension sets the format as in Open. An existing file stays unchanged until
// Close replaces it. Create refuses directories, devices and pipes, which cannot be replaced; use NewSink to write to a
// pipe.
func Create(path string, options ...SinkOption) (*FileSink, error) {
	format, err := FormatOf(path)
	if err != nil {
		return nil, err
	}
	if found, err := os.Stat(path); err == nil && !found.Mode().IsRegular() {
		return nil, &Error{File: path, Row: noRow, Message: "cannot be replaced: it is not a regular file", Remedy: "give the path of a file"}
	}
	temporary := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+rand.Text()[:8]+".tmp")
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, &Error{File: path, Row: noRow, Message: "cannot be created: " + err.Error(), Remedy: "check the directory and its permissions", Err: err}
	}
	s := &FileSink{path: path, file: file}
	var out io.Writer = file
	if strings.HasSuffix(strings.ToLower(path), ".gz") {
		s.packed = gzip.NewWriter(file)
		out = s.packed
	}
	if s.encoderSink, err = newSink(out, format, options); err != nil {
		return nil, errors.Join(err, s.Abort())
	}
	return s, nil
}

// Write appends rows.
func (s *FileSink) Write(ctx context.Context, t *Table) error {
	return during("writing", s.path, s.encoderSink.Write(ctx, t))
}

// Close completes the file and renames it to its final name. If anything fails, now or in an earlier Write, no file is
// left behind.
func (s *FileSink) Close() error {
	if s.file == nil {
		return nil
	}
	err := s.encoderSink.Close()
	if err == nil && s.packed != nil {
		err = s.packed.Close()
	}
	if err == nil {
		err = s.file.Sync() // after a crash the name must not refer to incomplete content
	}
	if err != nil {
		return errors.Join(during("writing", s.path, err), s.Abort())
	}
	temporary := s.file.Name()
	err = s.file.Close()
	s.file = nil
	if err == nil {
		err = os.Rename(temporary, s.path)
	}
	if err != nil {
		return errors.Join(during("writing", s.path, err), os.Remove(temporary))
	}
	return nil
}

// Abort discards what was written. After Close it does nothing, so it can be deferred.
func (s *FileSink) Abort() error {
	if s.file == nil {
		return nil
	}
	file := s.file
	s.file = nil
	return errors.Join(file.Close(), os.Remove(file.Name()))
}
