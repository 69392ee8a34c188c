package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/psi-shapley/psi/internal/store"
	"github.com/psi-shapley/psi/table"
)

// Formats of results, as --format names them.
const (
	jsonFormat = "json"
	textFormat = "text" // for people; has no name
	csvFormat  = "csv"
)

// resultFlags say where results go.
type resultFlags struct {
	out    string
	format string
	json   bool
}

func (r *resultFlags) add(flags *pflag.FlagSet) {
	flags.StringVarP(&r.out, "out", "o", "", "`FILE` for the result, its format told by its end: .csv, .tsv (either with .gz), .parquet, .arrow or .json; - is standard output")
	flags.StringVar(&r.format, "format", "", "`FORMAT` of standard input and output, where DATA or -o is -: csv, tsv, parquet, arrow or json")
	addJSON(flags, &r.json)
}

// destination is where results go and how.
type destination struct {
	path   string // "" is standard output
	format string // of standard output
	json   bool   // the content is JSON
	staged bool   // standard output gets all or nothing
}

// destination settles the flags; usual is the format of standard output if none is named.
func (r *resultFlags) destination(usual string) (destination, error) {
	if r.out == "" || r.out == standardOutput {
		d := destination{format: usual}
		if r.format != "" {
			d.format = r.format
		}
		if r.json {
			d.format, d.staged = jsonFormat, true // one document, be it that of a failure
		}
		if d.json = d.format == jsonFormat; d.json || d.format == textFormat && r.format == "" {
			return d, nil
		}
		if _, err := table.ParseFormat(d.format); err != nil {
			return d, &usageError{fmt.Sprintf("%q is no format that can be written", r.format), "use --format csv, tsv, parquet, arrow or json"}
		}
		return d, nil
	}
	d := destination{path: r.out, json: strings.HasSuffix(strings.ToLower(r.out), ".json")}
	if d.json {
		return d, checkPlace(d.path)
	}
	return d, checkTablePath(d.path)
}

// input is DATA. --format is that of standard input too, unless it can only be written; one
// that would be of no use is refused.
func (r *resultFlags) input(ctx context.Context, p *program, argument string) (*data, error) {
	format := r.format
	if format == jsonFormat {
		if argument == standardInput {
			return nil, &usageError{"JSON cannot be read", "name the format of standard input by --format, and add --json for a result in JSON"}
		}
		format = ""
	}
	rows, err := p.data(ctx, argument, format)
	if err != nil || r.out == "" || r.out == standardOutput {
		return rows, err
	}
	if err := rows.checkFormat(); err != nil {
		return nil, err
	}
	return rows, nil
}

// checkTablePath sees, before any work, that a table can be written there.
func checkTablePath(path string) error {
	if err := checkNoDirectory(path); err != nil {
		return err
	}
	if _, err := table.FormatOf(path); err != nil {
		return &usageError{fmt.Sprintf("the end of %q tells no format", path), "use .csv, .csv.gz, .tsv, .tsv.gz, .parquet or .arrow, or - with --format"}
	}
	return checkPlace(path)
}

// checkPlace sees, before any work, that a file can be made there.
func checkPlace(path string) error {
	if err := checkNoDirectory(path); err != nil {
		return err
	}
	trial, err := os.CreateTemp(filepath.Dir(path), ".psi-*.tmp")
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return &plainError{path, "its directory does not exist", "make it first: mkdir -p " + filepath.Dir(path)}
		}
		return &plainError{path, "cannot be created: " + err.Error(), "check the directory and its permissions"}
	}
	return errors.Join(trial.Close(), os.Remove(trial.Name()))
}

func checkNoDirectory(path string) error {
	if store.IsURL(path) {
		return &usageError{"results cannot be written to a URL", "name a file, and copy it there"}
	}
	if found, err := os.Stat(path); err == nil && found.IsDir() {
		return &plainError{path, "this is a directory", "give the path of a file"}
	}
	return nil
}

// tableSink is a table on its way out. Abort drops what was written of a file; after
// Close it does nothing.
type tableSink interface {
	table.Sink
	Abort() error
}

func (p *program) tableSink(d destination) (tableSink, error) {
	if d.path != "" {
		return table.Create(d.path)
	}
	format, err := table.ParseFormat(d.format)
	if err != nil {
		return nil, err
	}
	out := bufio.NewWriterSize(p.stdout, 1<<16)
	sink, err := table.NewSink(out, format)
	return &streamSink{sink, out}, err
}

// streamSink sends each chunk on as soon as it is there: a program may wait for it.
type streamSink struct {
	table.Sink
	out *bufio.Writer
}

func (s *streamSink) Write(ctx context.Context, t *table.Table) error {
	if err := s.Sink.Write(ctx, t); err != nil {
		return err
	}
	return s.out.Flush()
}

func (s *streamSink) Close() error {
	if err := s.Sink.Close(); err != nil {
		return err
	}
	return s.out.Flush()
}

func (*streamSink) Abort() error { return nil }

// stage is text on its way out.
type stage struct {
	*bufio.Writer
	file    *os.File // nil: the text goes out as it comes
	publish func() error
}

// stage gives a place to write JSON to.
func (p *program) stage(d destination) (*stage, error) {
	if d.path == "" && !d.staged {
		return &stage{Writer: bufio.NewWriterSize(p.stdout, 1<<16)}, nil
	}
	s := &stage{}
	var err error
	if d.path == "" {
		s.file, err = os.CreateTemp("", "psi-*.json")
		s.publish = s.copyTo(p.stdout)
	} else {
		temporary := filepath.Join(filepath.Dir(d.path), "."+filepath.Base(d.path)+"."+rand.Text()[:8]+".tmp")
		s.file, err = os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		s.publish = s.renameTo(d.path)
	}
	if err != nil {
		return nil, &plainError{d.path, "cannot be created: " + err.Error(), "check the directory and its permissions"}
	}
	s.Writer = bufio.NewWriterSize(s.file, 1<<16)
	return s, nil
}

func (s *stage) copyTo(w io.Writer) func() error {
	return func() error {
		if _, err := s.file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		_, err := io.Copy(w, s.file)
		return err
	}
}

func (s *stage) renameTo(path string) func() error {
	return func() error {
		if err := s.file.Sync(); err != nil {
			return err // the name must not outlive a crash that the content does not
		}
		return os.Rename(s.file.Name(), path)
	}
}

// Close completes the output.
func (s *stage) Close() error {
	err := s.Flush()
	if s.file == nil || err != nil {
		return err
	}
	if err := s.publish(); err != nil {
		return err
	}
	return s.Abort()
}

// Abort drops what is not complete; after Close it does nothing.
func (s *stage) Abort() error {
	if s.file == nil {
		return nil
	}
	file := s.file
	s.file = nil
	err := file.Close()
	if e := os.Remove(file.Name()); !errors.Is(e, os.ErrNotExist) { // it may have its name by now
		err = errors.Join(err, e)
	}
	return err
}
