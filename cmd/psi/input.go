package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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

// joined reads the files of a pattern as one table. The first file decides the columns and their kinds.
type joined struct {
	data    *data
	options table.Options
	schema  *table.Schema
	source  table.Source // of the current file
	part    int
	labels  map[string]*labels // of each category
}

// join opens the data as one table.
func (d *data) join(ctx context.Context, options table.Options) (table.Source, error) {
	first, err := d.open(ctx, 0, options)
	if err != nil || d.parts() == 1 {
		return first, err
	}
	j := &joined{data: d, schema: &table.Schema{}, source: first, labels: map[string]*labels{}}
	for _, f := range first.Schema().Fields {
		f.Reason += fmt.Sprintf("; from the first of %d files", d.parts())
		j.schema.Fields = append(j.schema.Fields, f)
		j.labels[f.Name] = &labels{codes: map[string]int32{}}
	}
	j.options = options.As(j.schema)
	j.options.Check = nil
	return j, nil
}

func (j *joined) Schema() *table.Schema { return j.schema }

func (j *joined) Close() error { return j.source.Close() }

// Next returns rows of the current file, or of the next one.
func (j *joined) Next(ctx context.Context) (*table.Table, error) {
	for {
		chunk, err := j.source.Next(ctx)
		if err == nil {
			return j.adapt(chunk)
		}
		if !errors.Is(err, io.EOF) || j.part+1 == j.data.parts() {
			return nil, err
		}
		next, err := j.data.open(ctx, j.part+1, j.options)
		if err != nil {
			return nil, err
		}
		_ = j.source.Close() // read-only
		j.part, j.source = j.part+1, next
		for _, l := range j.labels {
			l.here = nil
		}
	}
}

// adapt gives the columns of a chunk the order and the codes of the first file.
func (j *joined) adapt(chunk *table.Table) (*table.Table, error) {
	columns := make([]*table.Column, len(j.schema.Fields))
	for i, f := range j.schema.Fields {
		c := chunk.Column(f.Name)
		if c == nil {
			return nil, &table.Error{
				File: j.data.part(j.part), Row: -1, Column: f.Name, Message: "this column is missing from the file; " + j.data.part(0) + " has it",
				Remedy: "add it, or use files with the same columns",
			}
		}
		if c.Kind == table.Category {
			c = j.labels[f.Name].recode(c)
		}
		columns[i] = c
	}
	return table.New(columns...)
}

// labels holds the labels of a category in all files so far.
type labels struct {
	list  []string
	codes map[string]int32
	here  []int32 // the code of each label of the current file
}

func (l *labels) recode(c *table.Column) *table.Column {
	for _, label := range c.Levels[len(l.here):] {
		code, known := l.codes[label]
		if !known {
			code = int32(len(l.list))
			l.codes[label] = code
			l.list = append(l.list, label)
		}
		l.here = append(l.here, code)
	}
	changed := *c
	changed.Levels = slices.Clip(l.list)
	changed.Codes = make([]int32, len(c.Codes))
	for i, code := range c.Codes {
		changed.Codes[i] = -1
		if code >= 0 {
			changed.Codes[i] = l.here[code]
		}
	}
	return &changed
}

// remote resolves a URL: an object, or the tables of a prefix or a pattern.
func (d *data) remote(ctx context.Context, where string) error {
	d.name, _, _ = strings.Cut(where, "?")
	place, pattern, err := store.Open(ctx, where)
	if err != nil {
		return d.unreachable(err)
	}
	d.place = place
	_, single := store.Single(pattern)
	d.pattern = !single
	for o, err := range place.List(ctx, pattern) {
		if err != nil {
			return errors.Join(d.unreachable(err), d.close())
		}
		name := place.Name(o.Key)
		if _, err := table.FormatOf(name); err != nil && pattern == "" {
			continue // a prefix may contain other objects too
		}
		d.files, d.objects = append(d.files, name), append(d.objects, o)
	}
	switch {
	case len(d.files) > 0:
		return nil
	case pattern == "":
		return errors.Join(&plainError{d.name, "there are no tables under this prefix", "check the URL; tables end in .csv, .csv.gz, .tsv, .parquet or .arrow"}, d.close())
	}
	return errors.Join(&plainError{d.name, "nothing matches the pattern", "check the URL"}, d.close())
}

// close releases the location of a URL.
func (d *data) close() error {
	if d.place == nil {
		return nil
	}
	return d.place.Close()
}

// unreachable adds a remedy to an error of the store.
func (d *data) unreachable(err error) error {
	if e, is := errors.AsType[*store.AddressError](err); is {
		return &usageError{strings.TrimPrefix(e.Where+": "+e.Message, d.name+": "), e.Remedy}
	}
	remedy := "check the URL"
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, fs.ErrPermission):
		remedy = "check the credentials and their permissions"
	case store.IsTransient(err):
		remedy = "try again when the store answers"
	}
	return &plainError{d.name, strings.TrimPrefix(err.Error(), d.name+": "), remedy}
}

// openObject opens an object of a bucket, or a file behind a URL.
func (d *data) openObject(ctx context.Context, i int, format table.Format, options table.Options) (table.Source, error) {
	object, err := d.place.Open(ctx, d.objects[i])
	if err != nil {
		return nil, d.unreachable(err)
	}
	options.Name = d.files[i]
	return d.openTable(object, object, format, options)
}
