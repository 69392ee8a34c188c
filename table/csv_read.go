package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/psi-shapley/psi/internal/prose"
)

// csvSource reads CSV in three steps: the scanner splits text into cells, a sample of the cells decides each column's
// kind, and decoders convert cells to typed columns.
type csvSource struct {
	scanner  *scanner
	options  Options
	budget   *budget
	columns  []csvColumn
	buffer   cells
	scanned  int // data rows read so far
	schema   *Schema
	sample   []csvChunk // rows decoded for the schema but not returned yet
	returned account    // memory of the last returned chunk
	chunk    int        // rows per chunk
	resource io.Closer
}

// csvColumn is a kept column: its index in a record and its decoder.
type csvColumn struct {
	index int
	*decoder
}

// csvChunk is a chunk of decoded rows.
type csvChunk struct {
	rows *Table
	held account
}

// Memory of a sample, as text or decoded, and of a chunk as text, for rows of any width.
const (
	maxBufferBytes = 64 << 20
	maxSampleBytes = 512 << 20 // for a sample of all rows; about 250 MB of text
)

// openCSV reads the header and the sample. The source closes resource.
func openCSV(ctx context.Context, r io.Reader, resource io.Closer, options Options, b *budget) (*csvSource, error) {
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
	s := &csvSource{
		scanner: &scanner{in: text, delimiter: delimiter}, options: options, budget: b, buffer: cells{held: account{budget: b}}, resource: resource,
	}
	names, err := s.header()
	if err != nil {
		return nil, err
	}
	if err := options.checkNames(names); err != nil {
		return nil, err
	}
	for i, name := range names {
		if options.keeps(name) {
			s.columns = append(s.columns, csvColumn{index: i})
		}
	}
	s.chunk = options.chunkRows(len(s.columns))
	if err := s.readSample(ctx, names); err != nil {
		return nil, err
	}
	return s, nil
}

// header reads the column names. Without a header line the columns are x0, x1, … and the first record stays in the
// buffer as data.
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
			continue // row numbers are often written in a column without a name
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

// readSample scans and decodes the rows that decide the kinds. It keeps their text until all kinds are known, in blocks
// that are released one by one.
func (s *csvSource) readSample(ctx context.Context, names []string) error {
	limit := maxBufferBytes
	if s.options.sampleRows() == everyRow {
		limit = s.budget.sample
		s.budget.limit += int64(limit)
	}
	missing := newMissingTokens(s.options.Missing)
	evidence := make([]evidence, len(s.columns))
	for i := range evidence {
		evidence[i].guesses = s.options.Guess != nil
	}
	var blocks []cells
	rows, bytes := 0, 0
	for rows < s.options.sampleRows() && bytes < limit {
		err := s.scan(ctx, min(s.chunk, s.options.sampleRows()-rows))
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			return err
		}
		for i, column := range s.columns {
			evidence[i].add(s.buffer.column(column.index), missing)
		}
		rows += s.buffer.rows()
		bytes += max(s.buffer.bytes(), s.buffer.rows()*len(s.columns)*numberBytes)
		blocks = append(blocks, s.buffer)
		if ended {
			s.buffer = cells{width: s.buffer.width}
			s.decideKinds(names, evidence, missing, "", "unlike the rest of the column")
			return s.decodeSample(ctx, blocks)
		}
		if s.buffer, err = s.buffer.another(); err != nil {
			return err
		}
	}
	first := "the first " + prose.Count(rows, "row")
	s.decideKinds(names, evidence, missing, "in "+first+" ", "unlike "+first+", from which the column's kind was inferred")
	return s.decodeSample(ctx, blocks)
}

// decideKinds creates the decoders. where and since name the rows that the evidence comes from.
func (s *csvSource) decideKinds(names []string, evidence []evidence, missing *missingTokens, where, since string) {
	guess := s.options.Guess
	var signs decimalSigns
	if guess != nil {
		signs = guess.signs(evidence, s.scanner.delimiter)
	}
	for i := range s.columns {
		name := names[s.columns[i].index]
		found := evidence[i].kind(where)
		if guess.about(name) {
			found = evidence[i].guess(guess, signs, where)
		}
		d := newDecoder(name, found, since, missing, s.budget)
		if kind, declared := s.options.declaredKind(name); declared {
			d = newDeclaredDecoder(name, kind, missing, s.budget)
			d.words = evidence[i].words(found) // a boolean keeps its own words
			d.reading = s.options.Readings[name]
		}
		d.unread = s.options.unread(name)
		s.columns[i].decoder = d
	}
}

func (s *csvSource) decodeSample(ctx context.Context, blocks []cells) error {
	parts := make([]*Table, len(blocks))
	first := 0
	for i := range blocks {
		chunk, err := s.decode(ctx, &blocks[i], first)
		if err != nil {
			return err
		}
		first += blocks[i].rows()
		blocks[i].held.release()
		blocks[i] = cells{}
		parts[i] = chunk.rows
		if chunk.rows.Rows() > 0 {
			s.sample = append(s.sample, chunk)
		}
	}
	s.schema = schemaOf(parts...)
	return nil
}

// Schema describes the columns as found in the sample.
func (s *csvSource) Schema() *Schema { return s.schema }

// Next returns the next chunk of rows.
func (s *csvSource) Next(ctx context.Context) (*Table, error) {
	s.returned.release()
	if len(s.sample) > 0 {
		next := s.sample[0]
		s.sample[0] = csvChunk{} // the remaining chunks share its memory
		s.sample, s.returned = s.sample[1:], next.held
		return next.rows, nil
	}
	err := s.scan(ctx, s.chunk)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, during("reading", s.options.Name, err)
	}
	if s.buffer.rows() == 0 {
		return nil, io.EOF
	}
	next, err := s.decode(ctx, &s.buffer, s.scanned-s.buffer.rows())
	if err != nil {
		return nil, during("reading", s.options.Name, err)
	}
	s.buffer.reset()
	s.returned = next.held
	return next.rows, nil
}

// scan reads records until the buffer holds that many rows or the maximum of text. It returns io.EOF at the end of the
// input.
func (s *csvSource) scan(ctx context.Context, rows int) error {
	for s.buffer.rows() < rows && s.buffer.bytes() <= maxBufferBytes {
		if s.buffer.rows()%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		n, err := s.scanner.record(&s.buffer)
		if errors.Is(err, io.EOF) {
			return err
		}
		if err == nil {
			err = s.buffer.charge()
		}
		if err != nil {
			return at(err, s.scanned, "")
		}
		if n != s.buffer.width {
			return &Error{
				Row: s.scanned,
				Message: fmt.Sprintf("the row has %s where the first line has %d, cut at each %s (line %d of the file)",
					prose.Count(n, "cell"), s.buffer.width, delimiterName(s.scanner.delimiter), s.scanner.line),
				Remedy: "complete the row, or quote cells that contain the delimiter",
			}
		}
		s.scanned++
	}
	return nil
}

// decode converts records to typed columns; first is the number of their first row.
func (s *csvSource) decode(ctx context.Context, records *cells, first int) (csvChunk, error) {
	chunk := csvChunk{&Table{Columns: make([]*Column, len(s.columns))}, account{budget: s.budget}}
	for i, column := range s.columns {
		if err := ctx.Err(); err != nil {
			return chunk, err
		}
		if err := chunk.held.take(column.kind.bytes(records.rows())); err != nil {
			return chunk, err
		}
		var err error
		if chunk.rows.Columns[i], err = column.decode(records.column(column.index), first); err != nil {
			return chunk, err
		}
	}
	return chunk, nil
}

// Close releases the input.
func (s *csvSource) Close() error {
	s.budget.close()
	return s.resource.Close()
}
