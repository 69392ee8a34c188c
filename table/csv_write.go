package table

import (
	"bufio"
	"bytes"
	"context"
	"io"
)

// csvEncoder writes CSV that this package reads back: a header, numbers with the
// fewest digits that keep them, times in ISO 8601, nothing for a missing cell.
type csvEncoder struct {
	out       *bufio.Writer
	delimiter byte
	record    []byte
	cell      []byte
}

func newCSVEncoder(w io.Writer, delimiter byte) *csvEncoder {
	return &csvEncoder{out: bufio.NewWriter(w), delimiter: delimiter}
}

func (e *csvEncoder) start(t *Table) error {
	for _, c := range t.Columns {
		e.cell = append(e.cell[:0], c.Name...)
		e.appendCell()
	}
	return e.endRecord()
}

func (e *csvEncoder) write(ctx context.Context, t *Table) error {
	for row := range t.Rows() {
		if row%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		for _, c := range t.Columns {
			e.cell = c.appendText(e.cell[:0], row)
			e.appendCell()
		}
		if err := e.endRecord(); err != nil {
			return err
		}
	}
	return nil
}

func (e *csvEncoder) finish() error { return e.out.Flush() }

// appendCell adds the cell and a delimiter to the record.
func (e *csvEncoder) appendCell() {
	if needsQuotes(e.cell) {
		e.record = append(e.record, '"')
		e.record = append(e.record, bytes.ReplaceAll(e.cell, []byte{'"'}, []byte(`""`))...)
		e.record = append(e.record, '"')
	} else {
		e.record = append(e.record, e.cell...)
	}
	e.record = append(e.record, e.delimiter)
}

// needsQuotes also covers delimiters other than ours and what looks like a byte
// order mark, so that sniffing a file we wrote cannot go astray.
func needsQuotes(cell []byte) bool {
	return bytes.ContainsAny(cell, delimiters+"\"\r\n") ||
		len(bytes.TrimSpace(cell)) != len(cell) ||
		bytes.HasPrefix(cell, byteOrderMark())
}

func (e *csvEncoder) endRecord() error {
	e.record[len(e.record)-1] = '\n' // in place of the last delimiter
	if len(e.record) == 1 {
		e.record = append(e.record[:0], "\"\"\n"...) // else a blank line
	}
	_, err := e.out.Write(e.record)
	e.record = e.record[:0]
	return err
}
