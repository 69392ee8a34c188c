package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
)

// typedReader reads the cells of a file with typed columns.
type typedReader interface {
	// ready returns how many rows can be read next, at least one, or io.EOF after the last.
	ready(ctx context.Context) (rows int, err error)

	// advance records that the given number of rows has been read from every column.
	advance(rows int)

	// close releases the current data.
	close()
}

// cellReader reads the cells of one column, in order.
type cellReader interface {
	// read reads the next column.Len() cells: their observed marks and, for observed cells, numbers or labels. A label
	// is valid only during the call.
	read(column *Column, label func(row int, text []byte) error) error

	// integer returns the text of an observed cell just read if the column is stored as integers; else nil.
	integer(row int) []byte
}

// typedSource reads Arrow and Parquet into tables.
type typedSource struct {
	options  Options
	budget   *budget
	schema   *Schema
	columns  []*typedColumn
	reader   typedReader
	resource io.Closer
	rows     int     // rows returned
	returned account // memory of the last returned chunk
	chunk    int     // rows per chunk
	failed   error   // reading ends after a failure, because columns may be at different rows

	rowInFile func(row int) int     // converts a row counted from the first one read; nil if that is the file's first
	why       func(err error) error // replaces an error by the failure of the input that caused it
}

// newTypedSource returns a source of the wanted fields. The caller sets its reader and the columns' cells.
func newTypedSource(fields []arrow.Field, resource io.Closer, options Options, b *budget) (*typedSource, error) {
	names := make([]string, len(fields))
	for i, field := range fields {
		names[i] = field.Name
	}
	if err := options.checkNames(names); err != nil {
		return nil, err
	}
	s := &typedSource{options: options, budget: b, schema: &Schema{}, resource: resource, returned: account{budget: b}}
	missing := newMissingTokens(options.Missing)
	for i, field := range fields {
		if !options.keeps(field.Name) {
			continue
		}
		column, err := newTypedColumn(i, field, options, missing, b)
		if err != nil {
			return nil, err
		}
		s.columns = append(s.columns, column)
		s.schema.Fields = append(s.schema.Fields, Field{Name: field.Name, Kind: column.kind, Reason: column.reason})
	}
	s.chunk = options.chunkRows(len(s.columns))
	return s, nil
}

// Schema describes the columns as the file declares them.
func (s *typedSource) Schema() *Schema { return s.schema }

// Next returns the next chunk of rows. Chunks of Arrow end where batches end.
func (s *typedSource) Next(ctx context.Context) (t *Table, err error) {
	s.returned.release()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.failed != nil {
		return nil, s.failed
	}
	err = guard(func() error {
		rows, err := s.reader.ready(ctx)
		if err != nil {
			return err
		}
		t, err = s.read(min(s.chunk, rows))
		return err
	})
	if err != nil {
		s.failed = during("reading", s.options.Name, s.explained(err))
		return nil, s.failed
	}
	return t, nil
}

func (s *typedSource) read(rows int) (*Table, error) {
	t := &Table{Columns: make([]*Column, len(s.columns))}
	for i, column := range s.columns {
		var err error
		if t.Columns[i], err = column.next(rows, s.rows, &s.returned); err != nil {
			return nil, err
		}
	}
	s.reader.advance(rows)
	s.rows += rows
	return t, nil
}

// explained returns the error with its row as the file counts it, or the cause: refused memory or a failure of the
// input.
func (s *typedSource) explained(err error) error {
	if s.why != nil && !errors.Is(err, io.EOF) {
		err = s.why(err)
	}
	err = s.budget.why(err)
	if e, ok := errors.AsType[*Error](err); ok && e.Row >= 0 && s.rowInFile != nil {
		e.Row = s.rowInFile(e.Row)
	}
	return err
}

// Close releases the input.
func (s *typedSource) Close() error {
	s.reader.close()
	s.budget.close()
	return s.resource.Close()
}

// guard runs f and turns a panic into an error: positions outside a damaged file panic here and in arrow-go.
func guard(f func() error) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = damaged(fmt.Errorf("%v", fault))
		}
	}()
	return f()
}

// damaged hides an io.EOF inside the cause: the end of a damaged file must not look like the end of the rows.
func damaged(cause error) error {
	if errors.Is(cause, io.EOF) {
		cause = io.ErrUnexpectedEOF
	}
	return &Error{Row: noRow, Message: "the file is damaged or not in its format: " + cause.Error(), Remedy: "write the file anew", Err: cause}
}

// typedColumn converts the cells of one field to columns, chunk by chunk.
type typedColumn struct {
	index          int // index of the field in the file
	name           string
	kind           Kind // kind of the columns returned
	stored         Kind // kind in the file
	reason         string
	cells          cellReader
	levels         *levelSet
	missing        *missingTokens
	missingNumbers []float64
	declared       *decoder // parses the text of stored cells if kind differs from stored
	free           bool     // text whose meaning neither the file nor the caller declares
}

func newTypedColumn(index int, field arrow.Field, options Options, missing *missingTokens, b *budget) (*typedColumn, error) {
	stored, ok := storedKind(field.Type)
	if !ok {
		return nil, at(unreadable(field.Type), noRow, field.Name)
	}
	c := &typedColumn{
		index: index, name: field.Name, kind: stored, stored: stored, reason: "stored as " + field.Type.String(),
		levels: newLevelSet(b), missing: missing, missingNumbers: missing.numbers(),
	}
	kind, declared := options.declaredKind(field.Name)
	c.free = !declared && isFree(field.Type) && options.Guess.about(field.Name)
	if declared && kind != stored {
		c.kind = kind
		c.reason = fmt.Sprintf("declared a %s, stored as %s", kind, field.Type)
		c.declared = newDeclaredDecoder(field.Name, kind, newMissingTokens(nil), b)
		c.declared.reason = c.reason
		c.declared.unread = options.unread(field.Name)
		if stored == Category {
			c.declared.reading = options.Readings[field.Name]
		}
	}
	return c, nil
}

// storedKind returns the column kind of an Arrow type.
func storedKind(t arrow.DataType) (kind Kind, ok bool) {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return storedKind(t.ValueType)
	case arrow.ExtensionType:
		return storedKind(t.StorageType())
	case arrow.DecimalType:
		return Number, true
	}
	switch t.ID() {
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64,
		arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64, arrow.NULL:
		return Number, true
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW:
		return Category, true
	case arrow.BOOL:
		return Boolean, true
	case arrow.DATE32, arrow.DATE64, arrow.TIMESTAMP:
		return Time, true
	}
	return 0, false
}

// next reads the next cells; firstRow is the number of the first one among the rows read.
func (c *typedColumn) next(rows, firstRow int, held *account) (*Column, error) {
	if err := held.take(c.stored.bytes(rows)); err != nil {
		return nil, err
	}
	column := &Column{Name: c.name, Kind: c.stored, Reason: c.reason, Observed: make([]bool, rows)}
	if c.stored == Category {
		column.Codes = slices.Repeat([]int32{-1}, rows)
	} else {
		column.Numbers = make([]float64, rows)
	}
	err := c.cells.read(column, func(row int, text []byte) error { return c.label(column, row, firstRow+row, text) })
	if err == nil && c.stored != Category {
		err = c.checkNumbers(column, firstRow)
	}
	if err != nil {
		return nil, at(err, noRow, c.name)
	}
	column.Levels = c.labels()
	if c.declared == nil {
		return column, nil
	}
	if err := held.take(c.kind.bytes(rows)); err != nil {
		return nil, err
	}
	return c.declared.decode(textColumn{rows: rows, cell: func(row int) []byte {
		if !column.Observed[row] {
			return nil
		}
		// Beyond 2⁵³ two integers can be the same float64, but they remain two labels.
		if text := c.cells.integer(row); text != nil {
			return text
		}
		return column.appendText(nil, row)
	}}, firstRow)
}

// label records the label of a row. The same length limit applies as in CSV.
func (c *typedColumn) label(column *Column, row, inFile int, text []byte) error {
	if len(text) > maxCellBytes {
		return at(&Error{
			Row: inFile, Message: fmt.Sprintf("the cell is longer than %d MiB", maxCellBytes>>20),
			Remedy: "shorten it, or drop the column",
		}, inFile, c.name)
	}
	if c.missing.hasLabel(text) {
		column.Observed[row] = false
		return nil
	}
	code, err := c.levels.code(text)
	if err != nil {
		return at(err, inFile, c.name)
	}
	column.Codes[row] = code
	return nil
}

func (c *typedColumn) labels() []string {
	if c.stored == Category {
		return c.levels.list()
	}
	return nil
}

// checkNumbers marks numbers that mean missing, and rejects values that are not finite.
func (c *typedColumn) checkNumbers(column *Column, firstRow int) error {
	for row, v := range column.Numbers {
		if !column.Observed[row] || c.stored == Number && (math.IsNaN(v) || slices.Contains(c.missingNumbers, v)) {
			column.Observed[row], column.Numbers[row] = false, 0
			continue
		}
		if c.stored == Number && math.IsInf(v, 0) {
			return at(infinite(fmt.Sprint(v)), firstRow+row, c.name)
		}
		if c.stored == Time && !inCalendar(v) {
			return &Error{Row: firstRow + row, Column: c.name, Message: "the time lies outside the years 1 to 9999", Remedy: "correct it or leave the cell empty"}
		}
	}
	return nil
}

func unreadable(of arrow.DataType) error {
	return &Error{
		Row: noRow, Message: fmt.Sprintf("cells of type %s cannot be read", of),
		Remedy: "drop the column, or store it as numbers, text, booleans or times",
	}
}

// guessedSource is a typed source in which some text columns are numbers or times, judged by its first rows. Text that
// is a plain number stays text, and declared categories stay categories: both were a decision of the file's author.
type guessedSource struct {
	*typedSource
	sample  []csvChunk // the first rows, not returned yet
	guesses []finding  // per column; those without a reading stay unchanged
	given   int        // rows returned
}

// guessTyped examines the first rows of a source. Next reports their errors.
func guessTyped(ctx context.Context, s *typedSource) Source {
	g := &guessedSource{typedSource: s, guesses: make([]finding, len(s.columns))}
	evidence := make([]evidence, len(s.columns))
	text := false
	for i, column := range s.columns {
		evidence[i].guesses = column.free
		text = text || column.free
	}
	if !text {
		return s
	}
	missing := newMissingTokens(s.options.Missing)
	for rows := 0; rows < defaultSampleRows; {
		t, err := s.Next(ctx)
		if err != nil {
			break
		}
		rows += t.Rows()
		g.sample = append(g.sample, csvChunk{t, s.returned})
		s.returned = account{budget: s.budget}
		for i, c := range t.Columns {
			if s.columns[i].free {
				evidence[i].add(textColumn{rows: c.Len(), cell: func(row int) []byte { return c.appendText(nil, row) }}, missing)
			}
		}
	}
	guess := s.options.Guess
	signs := guess.signs(evidence, 0)
	for i := range evidence {
		found := evidence[i].guess(guess, signs, "")
		if !evidence[i].guesses || found.kind != Time && found.reading == nil {
			continue
		}
		if found.reading == nil {
			found.reading = &Reading{}
		}
		g.guesses[i] = found
		field := &s.schema.Fields[i]
		field.Kind, field.Notes, field.Reading = found.kind, found.remarks, found.reading
		field.Reason += "; " + found.reason
	}
	return g
}

// isFree reports whether a type leaves the meaning of its texts open.
func isFree(t arrow.DataType) bool {
	kind, ok := storedKind(t)
	return ok && kind == Category && t.ID() != arrow.DICTIONARY
}

// Next returns the next chunk of rows.
func (g *guessedSource) Next(ctx context.Context) (*Table, error) {
	var t *Table
	if len(g.sample) > 0 {
		g.returned.release()
		next := g.sample[0]
		g.sample[0] = csvChunk{}
		g.sample, g.returned, t = g.sample[1:], next.held, next.rows
	} else {
		var err error
		if t, err = g.typedSource.Next(ctx); err != nil {
			return nil, err
		}
	}
	read := &Table{Columns: make([]*Column, len(t.Columns))}
	for i, c := range t.Columns {
		read.Columns[i] = c
		if found := &g.guesses[i]; found.reading != nil {
			if err := g.returned.take(found.kind.bytes(c.Len())); err != nil {
				return nil, during("reading", g.options.Name, err)
			}
			unread := g.options.unread(c.Name)
			read.Columns[i] = c.read(found.kind, found.reading, func(row int, text string) { unread(g.given+row, []byte(text)) })
		}
	}
	g.given += t.Rows()
	return read, nil
}
