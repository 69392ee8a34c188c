package main

import (
	"bufio"
	"compress/gzip"
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
	textFormat = "text" // for people; cannot be selected by name
	csvFormat  = "csv"
)

// resultFlags holds the flags about results.
type resultFlags struct {
	out         string
	format      string
	json        bool
	force       bool
	spreadsheet bool // make CSV safe for spreadsheets
}

func (r *resultFlags) add(flags *pflag.FlagSet) {
	flags.StringVarP(&r.out, "out", "o", "", "output `FILE`; the extension sets the format: .csv, .tsv (either with .gz), .parquet, .arrow or .json; - is standard output")
	flags.StringVar(&r.format, "format", "", "`FORMAT` of standard input and output, if DATA or -o is -: csv, tsv, parquet, arrow or json")
	addSpreadsheetSafe(flags, &r.spreadsheet)
	addForce(flags, &r.force)
	addJSON(flags, &r.json)
}

func addSpreadsheetSafe(flags *pflag.FlagSet, to *bool) {
	flags.BoolVar(to, "spreadsheet-safe", false, "in CSV and TSV, put ' before text that starts with =, +, - or @, so that spreadsheets do not run it as a formula")
}

// destination is where and how results are written.
type destination struct {
	path   string // "" means standard output
	format string // format of standard output
	json   bool   // the content is JSON
	staged bool   // standard output gets everything or nothing

	spreadsheet bool // make a table in CSV or TSV safe for spreadsheets
}

// destination resolves the flags; usual is the default format of standard output.
func (r *resultFlags) destination(defaultFormat string) (destination, error) {
	d, err := r.formatted(defaultFormat)
	if err == nil && r.spreadsheet && !d.isText() {
		err = &usageError{"--spreadsheet-safe applies only to CSV and TSV", "leave it out, or write to a file that ends in .csv or .tsv"}
	}
	d.spreadsheet = r.spreadsheet
	return d, err
}

func (r *resultFlags) formatted(defaultFormat string) (destination, error) {
	if r.out == "" || r.out == standardOutput {
		d := destination{format: defaultFormat}
		if r.format != "" {
			d.format = r.format
		}
		if r.json {
			d.format, d.staged = jsonFormat, true // a single document, even on failure
		}
		if d.json = d.format == jsonFormat; d.json || d.format == textFormat && r.format == "" {
			return d, nil
		}
		if _, err := table.ParseFormat(d.format); err != nil {
			return d, &usageError{fmt.Sprintf("psi cannot write the format %q", r.format), "use --format csv, tsv, parquet, arrow or json"}
		}
		return d, nil
	}
	d := destination{path: r.out, json: strings.HasSuffix(strings.ToLower(r.out), ".json")}
	if d.json {
		return d, nil
	}
	return d, checkTableName(d.path)
}

// tableFormat returns the format of a table.
func (d destination) tableFormat() (table.Format, error) {
	if d.path != "" {
		return table.FormatOf(d.path)
	}
	return table.ParseFormat(d.format)
}

// isText reports whether a table is written as CSV or TSV.
func (d destination) isText() bool {
	format, err := d.tableFormat()
	return !d.json && err == nil && (format == table.CSV || format == table.TSV)
}

// output returns the file to write, or standard output.
func (d destination) output() output {
	o := output{path: d.path, content: contentText}
	if d.path == "" {
		o.path = standardOutput
	}
	format, err := d.tableFormat()
	switch {
	case d.json:
		o.content = contentJSON
	case err == nil && format == table.Parquet:
		o.content = contentParquet
	case err == nil && (format == table.Arrow || format == table.ArrowFile):
		o.content = contentArrow
	}
	return o
}

// input resolves DATA. --format also applies to standard input, unless psi can only write it. A --format without effect
// is rejected.
func (r *resultFlags) input(ctx context.Context, p *program, argument string) (*data, error) {
	format := r.format
	if format == jsonFormat {
		if argument == standardInput {
			return nil, &usageError{"psi cannot read JSON tables", "set the format of standard input with --format, and add --json for JSON output"}
		}
		format = ""
	}
	rows, err := p.data(ctx, argument, format)
	if err != nil {
		return nil, err
	}
	if r.out == "" || r.out == standardOutput {
		if p.screen.stdout {
			rows.reading = nil // results are printed on the same screen
		}
		return rows, nil
	}
	if err := rows.checkFormat(); err != nil {
		return nil, err
	}
	return rows, nil
}

// checkTableName rejects a name whose extension is not that of a table format.
func checkTableName(path string) error {
	if found, err := os.Stat(path); store.IsURL(path) || err == nil && found.IsDir() {
		return nil // checkFiles reports the error
	}
	if _, err := table.FormatOf(path); err != nil {
		return &usageError{fmt.Sprintf("cannot infer the format of %q", path), "use .csv, .csv.gz, .tsv, .tsv.gz, .parquet or .arrow, or - with --format"}
	}
	return nil
}

// tableSink is an output table. Abort discards an incomplete file; after Close it does nothing.
type tableSink interface {
	table.Sink
	Abort() error
}

func (p *program) tableSink(ctx context.Context, d destination) (tableSink, error) {
	var options []table.SinkOption
	if d.spreadsheet {
		options = append(options, table.SpreadsheetSafe())
	}
	if d.path != "" && !isStream(d.path) {
		return table.Create(d.path, options...)
	}
	format, err := d.tableFormat()
	if err != nil {
		return nil, err
	}
	to, err := p.openOutput(ctx, d.path)
	if err != nil {
		return nil, err
	}
	out := bufio.NewWriterSize(to, 1<<16)
	var packed *gzip.Writer
	var content io.Writer = out
	if strings.HasSuffix(strings.ToLower(d.path), ".gz") {
		packed = gzip.NewWriter(out)
		content = packed
	}
	sink, err := table.NewSink(content, format, options...)
	return &streamSink{sink, packed, out, to}, err
}

// isStream reports whether a path is a device or a pipe, which is written to and not replaced.
func isStream(path string) bool {
	found, err := os.Stat(path)
	return err == nil && !found.Mode().IsRegular()
}

// outStream is standard output, a device or a pipe. Writes end with a context.
type outStream struct {
	io.Writer
	close func() error
}

// openOutput opens a device or a pipe; "" means standard output.
func (p *program) openOutput(ctx context.Context, path string) (*outStream, error) {
	if path == "" {
		return &outStream{newStreamWriter(ctx, p.stdout), func() error { return nil }}, nil
	}
	file, err := openWaiting(ctx, path, os.O_WRONLY)
	if err != nil {
		return nil, cannotOpen(path, err)
	}
	return &outStream{newStreamWriter(ctx, file), file.Close}, nil
}

// cannotOpen reports that a file cannot be opened, unless the program was stopped meanwhile.
func cannotOpen(path string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return &plainError{path, "cannot be opened: " + err.Error(), "check its permissions"}
}

// streamSink writes each chunk immediately, because a program may wait for it.
type streamSink struct {
	table.Sink
	packed *gzip.Writer // nil without compression
	out    *bufio.Writer
	to     *outStream
}

func (s *streamSink) Write(ctx context.Context, t *table.Table) error {
	if err := s.Sink.Write(ctx, t); err != nil {
		return err
	}
	return s.out.Flush()
}

func (s *streamSink) Close() error {
	err := s.Sink.Close()
	if err == nil && s.packed != nil {
		err = s.packed.Close()
	}
	if err == nil {
		err = s.out.Flush()
	}
	return errors.Join(err, s.to.close())
}

func (s *streamSink) Abort() error { return nil }

// stage is an output document.
type stage struct {
	*bufio.Writer
	file    *os.File // nil: the document is written directly
	publish func() error
}

// stage opens the output of JSON, a page or a picture.
func (p *program) stage(ctx context.Context, d destination) (*stage, error) {
	if !d.staged && (d.path == "" || isStream(d.path)) {
		to, err := p.openOutput(ctx, d.path)
		if err != nil {
			return nil, err
		}
		return &stage{Writer: bufio.NewWriterSize(to, 1<<16), publish: to.close}, nil
	}
	s := &stage{}
	var err error
	if d.path == "" {
		s.file, err = os.CreateTemp("", "psi-*.json")
		s.publish = s.copyTo(newStreamWriter(ctx, p.stdout))
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
			return err // after a crash the name must not refer to incomplete content
		}
		if err := s.file.Close(); err != nil {
			return err // Windows does not rename open files
		}
		return os.Rename(s.file.Name(), path)
	}
}

// Close completes the output.
func (s *stage) Close() error {
	if err := s.Flush(); err != nil {
		return err
	}
	if err := s.publish(); err != nil {
		return err
	}
	return s.Abort()
}

// Abort discards incomplete output; after Close it does nothing.
func (s *stage) Abort() error {
	if s.file == nil {
		return nil
	}
	file := s.file
	s.file = nil
	err := file.Close()
	if errors.Is(err, os.ErrClosed) { // by renameTo
		err = nil
	}
	if e := os.Remove(file.Name()); !errors.Is(e, os.ErrNotExist) { // it may have been renamed already
		err = errors.Join(err, e)
	}
	return err
}
