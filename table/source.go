package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/psi-shapley/psi/internal/prose"
)

// Source reads a table in chunks of rows. It is not safe for concurrent use.
type Source interface {
	// Schema describes the columns. Its notes and counts cover the examined rows, which for a stream are the first
	// ones.
	Schema() *Schema

	// Next returns the next rows, or io.EOF after the last. The levels of a category only grow from chunk to chunk, so
	// a code has the same meaning in all of them.
	Next(ctx context.Context) (*Table, error)

	Close() error
}

// Options configure how a table is read. The zero value reads everything and infers all kinds.
type Options struct {
	Name      string // name of the input in errors; Open and Read set it to the path
	ChunkRows int    // rows per chunk; 0 means 8,192, fewer for very wide tables

	Keep        func(name string) bool // selects the columns to read; nil means all
	Kinds       map[string]Kind        // known kinds; names that the input lacks are ignored
	Categorical []string               // columns to read as categories
	Missing     []string               // strings to treat as missing, besides the empty cell, NA, N/A, NaN, null and ?

	Check func(names []string) error // called with the column names before any row is read; may be nil

	Guess    *Guess                             // infers readings for text that is not in plain notation; nil reads it as categories
	Readings map[string]*Reading                // known readings, for columns that Kinds contains
	Unread   func(row int, column, text string) // called with text that a reading treats as missing; may be nil

	// Reserve is called before the reader takes memory for decompressed or decoded data: text, pages, dictionaries,
	// labels and the chunk that Next returns, which counts until the next call. A negative number returns bytes; Close
	// returns all. If Reserve returns an error, reading ends and the error is wrapped in an *Error. Readers may exceed
	// the reserved bytes by up to 64 MiB.
	//
	// If Reserve is nil, a reader holds at most 512 MiB more than eight times the stored bytes that it is
	// decompressing. It may hold another 512 MiB if all rows of a CSV file decide the kinds.
	Reserve func(bytes int64) error

	RowGroups []int // row groups of a Parquet file to read; nil means all. Errors still count rows from the start of the file

	// The following options apply to CSV only.

	Delimiter byte // 0 means comma, semicolon or tab, whichever fits
	NoHeader  bool // the first line is data; columns are named x0, x1, …

	// SampleRows is the number of rows that decide the kinds. 0 means 10,000; a negative number means all rows, or as
	// many as fit into 512 MiB. Later cells that contradict the kind are errors.
	SampleRows int
}

const (
	defaultChunkRows  = 8192
	defaultChunkCells = 4 << 20 // a chunk of thousands of columns has fewer rows
	defaultSampleRows = 10_000
	everyRow          = math.MaxInt
)

func (o Options) chunkRows(columns int) int {
	if o.ChunkRows > 0 {
		return o.ChunkRows
	}
	return max(1, min(defaultChunkRows, defaultChunkCells/max(1, columns)))
}

func (o Options) sampleRows() int {
	switch {
	case o.SampleRows < 0:
		return everyRow
	case o.SampleRows == 0:
		return defaultSampleRows
	}
	return o.SampleRows
}

func (o Options) keeps(name string) bool { return o.Keep == nil || o.Keep(name) }

// declaredKind returns the kind that the caller chose for the column, if any.
func (o Options) declaredKind(name string) (Kind, bool) {
	if slices.Contains(o.Categorical, name) {
		return Category, true
	}
	kind, declared := o.Kinds[name]
	return kind, declared
}

// As returns options that read another table as one with that schema was read: the same columns, kinds and readings.
func (o Options) As(schema *Schema) Options {
	o.Kinds, o.Readings = map[string]Kind{}, map[string]*Reading{}
	for _, f := range schema.Fields {
		o.Kinds[f.Name], o.Readings[f.Name] = f.Kind, f.Reading
	}
	o.Keep = func(name string) bool { return schema.Field(name) != nil }
	o.Categorical = nil // they are among Kinds
	return o
}

// unread returns the callback for a column's text that does not fit its reading.
func (o Options) unread(column string) func(row int, text []byte) {
	if o.Unread == nil {
		return func(int, []byte) {}
	}
	return func(row int, text []byte) { o.Unread(row, column, string(text)) }
}

// checkNames checks that a file's column names are distinct and agree with the options.
func (o Options) checkNames(names []string) error {
	if err := checkColumns(len(names)); err != nil {
		return err
	}
	position := make(map[string]int, len(names))
	kept := 0
	for i, name := range names {
		if name == "" {
			return &Error{Row: noRow, Message: fmt.Sprintf("column %d has no name", i), Remedy: "give every column a name"}
		}
		if first, seen := position[name]; seen {
			return &Error{Row: noRow, Column: name, Message: fmt.Sprintf("columns %d and %d have the same name", first, i), Remedy: "rename one of them"}
		}
		position[name] = i
		if o.keeps(name) {
			kept++
		}
	}
	if o.Check != nil {
		if err := o.Check(names); err != nil {
			return err
		}
	}
	for _, name := range o.Categorical {
		if _, exists := position[name]; !exists {
			return &Error{Row: noRow, Column: name, Message: "the column is declared a category but the table has no such column", Remedy: "check the spelling"}
		}
	}
	if kept == 0 {
		return &Error{Row: noRow, Message: "none of the table's columns is wanted", Remedy: "check the names of the columns to read"}
	}
	return nil
}

func checkColumns(n int) error {
	if n > maxColumns {
		return &Error{Row: noRow, Message: fmt.Sprintf("the table has more than %s columns", prose.Thousands(maxColumns)), Remedy: "split the table"}
	}
	return nil
}

// Open opens a file, whose extension sets the format: .csv, .tsv (either with .gz), .parquet or .arrow. The caller
// closes the source.
func Open(path string, options Options) (Source, error) {
	return open(context.Background(), path, options)
}

func open(ctx context.Context, path string, options Options) (Source, error) {
	format, err := FormatOf(path)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, &Error{File: path, Row: noRow, Message: "cannot be opened: " + err.Error(), Remedy: "check the path and its permissions", Err: err}
	}
	options.Name = path
	source, err := openReader(ctx, file, file, format, options)
	if err != nil {
		return nil, during("reading", path, errors.Join(err, file.Close()))
	}
	return source, nil
}

// OpenReader reads a table from r. Parquet needs random access: if r does not support it, OpenReader first copies r to
// a temporary file. Close does not close r.
func OpenReader(r io.Reader, format Format, options Options) (Source, error) {
	source, err := openReader(context.Background(), r, io.NopCloser(r), format, options)
	if err != nil {
		return nil, during("reading", options.Name, err)
	}
	return source, nil
}

// openReader opens r in the given format. The returned source closes resource.
func openReader(ctx context.Context, r io.Reader, resource io.Closer, format Format, options Options) (Source, error) {
	b := newBudget(options)
	source, err := openFormat(ctx, r, resource, format, options, b)
	if err != nil {
		b.close()
		return nil, b.why(err)
	}
	return source, nil
}

func openFormat(ctx context.Context, r io.Reader, resource io.Closer, format Format, options Options, b *budget) (Source, error) {
	if options.RowGroups != nil && format != Parquet {
		return nil, &Error{Row: noRow, Message: "only Parquet files have row groups", Remedy: "read the file whole"}
	}
	var typed *typedSource
	var err error
	switch format {
	case TSV:
		if options.Delimiter == 0 {
			options.Delimiter = '\t'
		}
		return openCSV(ctx, r, resource, options, b)
	case CSV:
		return openCSV(ctx, r, resource, options, b)
	case Parquet:
		typed, err = openParquet(r, resource, options, b)
	case Arrow, ArrowFile:
		typed, err = openArrow(r, resource, options, b)
	default:
		err = &Error{Row: noRow, Message: fmt.Sprintf("unknown format %d", format)}
	}
	switch {
	case err != nil:
		return nil, err
	case options.Guess == nil:
		return typed, nil
	}
	return guessTyped(ctx, typed), nil
}

// Read reads a whole file. The kinds of CSV columns are inferred from all rows.
func Read(ctx context.Context, path string, options Options) (*Table, error) {
	options.SampleRows = -1
	source, err := open(ctx, path, options)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	return ReadAll(ctx, source)
}

// ReadAll reads the remaining rows of a source. It does not close the source.
func ReadAll(ctx context.Context, source Source) (*Table, error) {
	var chunks []*Table
	for {
		chunk, err := source.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		chunks = append(chunks, chunk)
	}
	if len(chunks) == 0 {
		return source.Schema().empty(), nil
	}
	return Concat(chunks)
}

// Format is a file format of tables.
type Format uint8

// Formats that this package reads and writes.
const (
	CSV       Format = iota // text; delimiter detected when read, comma when written
	TSV                     // CSV with tabs
	Parquet                 // Apache Parquet
	Arrow                   // Arrow IPC stream, for pipes; readers accept both Arrow formats
	ArrowFile               // Arrow IPC file, for .arrow files
)

// ParseFormat returns the format with the given name: csv, tsv, parquet or arrow.
func ParseFormat(name string) (Format, error) {
	switch name {
	case "csv":
		return CSV, nil
	case "tsv":
		return TSV, nil
	case "parquet":
		return Parquet, nil
	case "arrow":
		return Arrow, nil
	}
	return 0, &Error{Row: noRow, Message: fmt.Sprintf("unknown format %q", shorten(name)), Remedy: "use csv, tsv, parquet or arrow"}
}

// FormatOf returns the format of a file by its extension.
func FormatOf(path string) (Format, error) {
	name := strings.TrimSuffix(strings.ToLower(path), ".gz")
	packed := len(name) < len(path)
	switch {
	case strings.HasSuffix(name, ".csv"):
		return CSV, nil
	case strings.HasSuffix(name, ".tsv"):
		return TSV, nil
	case strings.HasSuffix(name, ".parquet") && !packed:
		return Parquet, nil
	case strings.HasSuffix(name, ".arrow") && !packed:
		return ArrowFile, nil
	}
	switch filepath.Ext(name) {
	case ".xlsx", ".xls", ".xlsm", ".ods":
		return 0, &Error{File: path, Row: noRow, Message: "psi neither reads nor writes spreadsheets", Remedy: "use .csv, which spreadsheet programs open and save"}
	}
	return 0, &Error{
		File: path, Row: noRow, Message: "cannot infer the format from the file name",
		Remedy: "use .csv, .csv.gz, .tsv, .tsv.gz, .parquet or .arrow, or name the format",
	}
}

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
