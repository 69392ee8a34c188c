package table

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
)

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
		g.sample = append(g.sample, csvChunk{t, s.handed})
		s.handed = account{budget: s.budget}
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
		g.handed.release()
		next := g.sample[0]
		g.sample[0] = csvChunk{}
		g.sample, g.handed, t = g.sample[1:], next.held, next.rows
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
			if err := g.handed.take(found.kind.bytes(c.Len())); err != nil {
				return nil, during("reading", g.options.Name, err)
			}
			unread := g.options.unread(c.Name)
			read.Columns[i] = c.read(found.kind, found.reading, func(row int, text string) { unread(g.given+row, []byte(text)) })
		}
	}
	g.given += t.Rows()
	return read, nil
}
