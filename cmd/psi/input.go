package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/psi-shapley/psi/internal/store"
	"github.com/psi-shapley/psi/table"
)

// standardInput is the DATA argument that means standard input, and standardOutput the value of -o.
const (
	standardInput  = "-"
	standardOutput = "-"
)

// data is what the argument DATA names: files, objects behind a URL, or standard input.
type data struct {
	name    string   // for messages
	files   []string // their names
	place   *store.Location
	objects []store.Object // behind a URL, per file
	pattern bool           // the files are those of a pattern
	stdin   io.Reader
	stream  *stream // source of stdin
	format  string  // from --format, for standard input and names without a known extension
	reading *reading
}

// data resolves DATA without opening it.
func (p *program) data(ctx context.Context, argument, format string) (*data, error) {
	d, err := p.find(ctx, argument, format)
	if err != nil {
		return nil, err
	}
	size := int64(0)
	for i := range d.files {
		size += d.size(i)
	}
	d.reading = newReading(p, d.name, size, time.Now)
	return d, nil
}

func (p *program) find(ctx context.Context, argument, format string) (*data, error) {
	d := &data{name: argument, format: format}
	if format != "" {
		if _, err := inputFormat(format); err != nil {
			return nil, err
		}
	}
	if argument == standardInput {
		if format == "" {
			return nil, &usageError{"cannot infer the format of standard input", "add --format csv, tsv, parquet or arrow"}
		}
		d.name, d.stream = "standard input", newStream(ctx, p.stdin)
		d.stdin = d.stream
		return d, nil
	}
	if store.IsURL(argument) {
		if err := d.remote(ctx, argument); err != nil {
			return nil, err
		}
		return d, nil
	}
	found, err := os.Stat(argument)
	switch {
	case err == nil && found.IsDir():
		return nil, &plainError{argument, "this is a directory", fmt.Sprintf("give a file, or a quoted pattern such as '%s'", filepath.Join(argument, "*.csv"))}
	case err == nil:
		d.files = []string{argument}
		return d, nil
	case !strings.ContainsAny(argument, "*?["):
		return nil, &plainError{argument, "there is no such file", "check the path"}
	}
	d.pattern = true
	if d.files, err = filepath.Glob(argument); err != nil {
		return nil, &usageError{fmt.Sprintf("%q is not a valid file pattern", argument), "close its brackets"}
	}
	if len(d.files) == 0 {
		return nil, &plainError{argument, "no file matches the pattern", "check the path"}
	}
	return d, nil
}

func inputFormat(name string) (table.Format, error) {
	format, err := table.ParseFormat(name)
	if err != nil {
		return 0, &usageError{fmt.Sprintf("psi cannot read the format %q", name), "use --format csv, tsv, parquet or arrow"}
	}
	return format, nil
}

// checkFormat rejects a --format that has no effect.
func (d *data) checkFormat() error {
	if d.format == "" || d.stdin != nil {
		return nil
	}
	for _, path := range d.files {
		if _, err := table.FormatOf(path); err != nil {
			return nil //nolint:nilerr // the name tells no format, so --format does
		}
	}
	return &usageError{"--format does not apply here: " + d.name + " has a known extension", "leave it out"}
}

// parts returns the number of tables.
func (d *data) parts() int { return max(1, len(d.files)) }

// part returns the name of a table.
func (d *data) part(i int) string {
	if d.stdin != nil {
		return d.name
	}
	return d.files[i]
}

// open opens table i.
func (d *data) open(ctx context.Context, i int, options table.Options) (table.Source, error) {
	if d.stdin != nil {
		format, err := inputFormat(d.format)
		if err != nil {
			return nil, err
		}
		options.Name = d.name
		return d.openTable(d.stdin, d.stream, format, options)
	}
	path := d.files[i]
	format, err := table.FormatOf(path)
	if err != nil && d.format != "" {
		format, err = inputFormat(d.format)
	}
	if err != nil {
		return nil, err
	}
	if d.place != nil {
		return d.openObject(ctx, i, format, options)
	}
	file, err := openFile(ctx, path)
	if err != nil {
		return nil, cannotOpen(path, err)
	}
	options.Name = path
	return d.openTable(file, file, format, options)
}

// openTable reads a table from r. The source closes the file it comes from.
func (d *data) openTable(r io.Reader, file io.Closer, format table.Format, options table.Options) (table.Source, error) {
	if format == table.CSV || format == table.TSV {
		r = d.reading.count(r) // the other formats need random access
	}
	source, err := table.OpenReader(r, format, options)
	if err != nil {
		_ = file.Close() // read-only
		return nil, err
	}
	return &fileSource{source, file, d.reading}, nil
}

// fileSource closes its file.
type fileSource struct {
	table.Source
	file    io.Closer
	reading *reading
}

// Next returns the next rows. It ends with the context even if the file is a pipe without a writer.
func (s *fileSource) Next(ctx context.Context) (*table.Table, error) {
	if pipe, is := s.file.(*stream); is {
		release := pipe.until(ctx)
		defer release()
	}
	rows, err := s.Source.Next(ctx)
	if err != nil {
		s.reading.end()
		return nil, err
	}
	s.reading.add(0, rows.Rows())
	return rows, nil
}

func (s *fileSource) Close() error {
	s.reading.end()
	_ = s.Source.Close() // read-only
	return s.file.Close()
}

// maxInferred is the maximum size of text for which all rows decide the kinds of columns, as far as they fit into
// memory (table.Options.SampleRows).
const maxInferred = 256 << 20

// sampleRows returns how many rows of text decide the kinds of the columns.
func (d *data) sampleRows() int {
	const all, few = -1, 0
	size := int64(0)
	for i := range d.files {
		if size += d.size(i); size > maxInferred {
			return few
		}
	}
	return all
}

// size returns the size of a file, 0 if unknown.
func (d *data) size(i int) int64 {
	if d.place != nil {
		return d.objects[i].Size
	}
	found, err := os.Stat(d.files[i])
	if err != nil {
		return 0
	}
	return found.Size()
}
