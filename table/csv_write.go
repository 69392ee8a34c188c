package table

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// csvEncoder writes CSV that this package reads back: a header, numbers with the fewest digits that keep them, times in
// ISO 8601, and nothing for a missing cell.
type csvEncoder struct {
	out       *bufio.Writer
	delimiter byte
	safe      bool // text never begins like a formula
	record    []byte
	cell      []byte
}

func newCSVEncoder(w io.Writer, delimiter byte, options sinkOptions) *csvEncoder {
	return &csvEncoder{out: bufio.NewWriter(w), delimiter: delimiter, safe: options.spreadsheetSafe}
}

func (e *csvEncoder) start(t *Table) error {
	for _, c := range t.Columns {
		e.cell = append(e.cell[:0], c.Name...)
		e.appendText()
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
			switch c.Kind {
			case Number, Time:
				e.appendCell()
			default:
				e.appendText()
			}
		}
		if err := e.endRecord(); err != nil {
			return err
		}
	}
	return nil
}

func (e *csvEncoder) finish() error { return e.out.Flush() }

// appendText adds a cell of text, escaped if it is a formula and SpreadsheetSafe is set.
func (e *csvEncoder) appendText() {
	if e.safe && isFormula(e.cell) {
		e.cell = slices.Insert(e.cell, 0, '\'')
	}
	e.appendCell()
}

// isFormula reports whether a spreadsheet may evaluate text as a formula. The first character other than white space
// decides, in its ASCII or full-width form. A plain number is not a formula.
//
// https://owasp.org/www-community/attacks/CSV_Injection
func isFormula(cell []byte) bool {
	start := bytes.TrimLeftFunc(cell, func(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' || r == 0 })
	first, _ := utf8.DecodeRune(start)
	if !strings.ContainsRune("=+-@＝＋－＠", first) {
		return false
	}
	_, number := parseNumber(cell)
	return !number
}

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

// needsQuotes also covers other delimiters and byte order marks, so that sniffing a file written by psi cannot fail.
func needsQuotes(cell []byte) bool {
	return bytes.ContainsAny(cell, delimiters+"\"\r\n") ||
		len(bytes.TrimSpace(cell)) != len(cell) ||
		bytes.HasPrefix(cell, byteOrderMark())
}

func (e *csvEncoder) endRecord() error {
	e.record[len(e.record)-1] = '\n' // in place of the last delimiter
	if len(e.record) == 1 {
		e.record = append(e.record[:0], "\"\"\n"...) // otherwise it would be a blank line
	}
	_, err := e.out.Write(e.record)
	e.record = e.record[:0]
	return err
}
