package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// csvSource reads CSV in three steps: the scanner cuts text into cells, a sample of
// the cells fixes each column's kind, decoders turn cells into typed columns.
type csvSource struct {
	scanner  *scanner
	options  Options
	columns  []csvColumn
	buffer   cells
	scanned  int // data rows read so far
	schema   *Schema
	sample   *Table // rows decoded for the schema and not handed out yet
	chunk    int    // rows per chunk
	resource io.Closer
}

// csvColumn is a kept column: where it lies in a record and how its cells are read.
type csvColumn struct {
	index int
	*decoder
}

// mostBufferBytes bounds a stream's sample and chunks however wide their rows are.
const mostBufferBytes = 64 << 20

// openCSV reads the header and the sample. The source closes resource.
func openCSV(ctx context.Context, r io.Reader, resource io.Closer, options Options) (*csvSource, error) {
	text, err := openText(r)
	if err != nil {
		return nil, err
	}
	delimiter := options.Delimiter
	switch delimiter {
	case 0:
		delimiter = sniffDelimiter(text)
	case '"', '\n', '\r':
		return nil, &Error{Row: noRow, Message: fmt.Sprintf("%q cannot be a delimiter", delimiter), Remedy: "use a comma, semicolon or tab"}
	}
	s := &csvSource{scanner: &scanner{in: text, delimiter: delimiter}, options: options, resource: resource}
	names, err := s.header()
	if err != nil {
		return nil, err
	}
	if err := options.checkNames(names); err != nil {
		return nil, err
	}
	if err := s.readSample(ctx, names); err != nil {
		return nil, err
	}
	s.schema = s.sample.Schema()
	s.chunk = options.chunkRows(len(s.columns))
	return s, nil
}

// header reads the column names. Without a header line the columns are x0, x1, …
// and the first record stays in the buffer as data.
func (s *csvSource) header() ([]string, error) {
	n, err := s.scanner.record(&s.buffer)
	if errors.Is(err, io.EOF) {
		return nil, &Error{Row: noRow, Message: "the file is empty", Remedy: "give a file with a header line and rows"}
	}
	if err != nil {
		return nil, err
	}
	s.buffer.width = n
	names := make([]string, n)
	numbers := 0
	for i := range names {
		names[i] = fmt.Sprintf("x%d", i)
		name := s.buffer.at(0, i)
		if _, is := parseNumber(name); is {
			numbers++
		}
		if s.options.NoHeader || len(name) == 0 {
			continue // a header without a name for one column is common: row numbers are often written so
		}
		if !utf8.Valid(name) {
			return nil, &Error{Row: noRow, Message: fmt.Sprintf("the name of column %d is not UTF-8 text", i), Remedy: "save the file in UTF-8"}
		}
		names[i] = string(name)
	}
	if s.options.NoHeader {
		s.scanned = 1
		return names, nil
	}
	s.buffer.reset()
	switch {
	case numbers == n:
		return nil, &Error{
			Row: noRow, Message: "the first line holds only numbers, so it does not look like column names",
			Remedy: "give the columns names, in a first line",
		}
	case strings.ContainsRune(strings.ReplaceAll(strings.Join(names, " "), "\r\n", ""), '\r'):
		return nil, &Error{Row: noRow, Message: "the header contains a carriage return that ends no line", Remedy: "save the file with ordinary line ends"}
	}
	return names, nil
}

// readSample scans and decodes the rows that decide on the kinds.
func (s *csvSource) readSample(ctx context.Context, names []string) error {
	where, since := "", "unlike the rest of the column"
	err := s.scan(ctx, s.options.sampleRows())
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !errors.Is(err, io.EOF) {
		first := "the first " + plural(s.buffer.rows(), "row")
		where = "in " + first + " "
		since = "unlike " + first + ", from which the column's kind was inferred"
	}
	missing := newMissingTokens(s.options.Missing)
	for i, name := range names {
		if !s.options.keeps(name) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		found := infer(s.buffer.column(i), missing, where)
		d := newDecoder(name, found, since, missing)
		if kind, declared := s.options.declaredKind(name); declared {
			d = newDeclaredDecoder(name, kind, missing)
			d.words = found.words // a boolean's own words, if it is written in words
		}
		s.columns = append(s.columns, csvColumn{index: i, decoder: d})
	}
	s.sample, err = s.decode(ctx)
	return err
}

// Schema describes the columns as the sample shows them.
func (s *csvSource) Schema() *Schema { return s.schema }

// Next returns the next chunk of rows.
func (s *csvSource) Next(ctx context.Context) (*Table, error) {
	if s.sample != nil {
		if rows := s.sample.Rows(); rows > s.chunk {
			head := s.sample.slice(0, s.chunk)
			s.sample = s.sample.slice(s.chunk, rows)
			return head, nil
		}
		last := s.sample
		s.sample = nil
		s.buffer = cells{width: s.buffer.width} // the sample's text may be large
		if last.Rows() > 0 {
			return last, nil
		}
	}
	err := s.scan(ctx, s.chunk)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, during("reading", s.options.Name, err)
	}
	if s.buffer.rows() == 0 {
		return nil, io.EOF
	}
	t, err := s.decode(ctx)
	return t, during("reading", s.options.Name, err)
}

// scan reads records until the buffer holds that many rows or, unless everything is
// wanted, as much text as it may. It returns io.EOF at the end of the input.
func (s *csvSource) scan(ctx context.Context, rows int) error {
	for s.buffer.rows() < rows {
		if s.buffer.rows()%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if rows != everyRow && s.buffer.bytes() > mostBufferBytes {
			return nil
		}
		n, err := s.scanner.record(&s.buffer)
		if errors.Is(err, io.EOF) {
			return err
		}
		if err != nil {
			return at(err, s.scanned, "")
		}
		if n != s.buffer.width {
			return &Error{
				Row: s.scanned,
				Message: fmt.Sprintf("the row has %s where the first line has %d, cut at each %s (line %d of the file)",
					plural(n, "cell"), s.buffer.width, delimiterName(s.scanner.delimiter), s.scanner.line),
				Remedy: "complete the row, or quote cells that contain the delimiter",
			}
		}
		s.scanned++
	}
	return nil
}

// decode turns the buffered records into a table and empties the buffer.
func (s *csvSource) decode(ctx context.Context) (*Table, error) {
	firstRow := s.scanned - s.buffer.rows()
	t := &Table{Columns: make([]*Column, len(s.columns))}
	for i, column := range s.columns {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var err error
		if t.Columns[i], err = column.decode(s.buffer.column(column.index), firstRow); err != nil {
			return nil, err
		}
	}
	s.buffer.reset()
	return t, nil
}

// Close releases the input.
func (s *csvSource) Close() error { return s.resource.Close() }

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%s %ss", thousands(n), noun)
}
