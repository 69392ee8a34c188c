package table

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/psi-shapley/psi/internal/prose"
)

// openText prepares CSV bytes for the scanner. It decompresses gzip, recognised by its first bytes, and removes a byte
// order mark.
func openText(r io.Reader) (*bufio.Reader, error) {
	text := bufio.NewReaderSize(r, sniffBytes)
	if start, _ := text.Peek(2); bytes.Equal(start, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(text)
		if err != nil {
			return nil, err
		}
		text = bufio.NewReaderSize(unpacked, sniffBytes)
	}
	start, err := text.Peek(3)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.Equal(start, byteOrderMark()):
		_, err = text.Discard(3)
		return text, err
	case bytes.HasPrefix(start, []byte{0xff, 0xfe}), bytes.HasPrefix(start, []byte{0xfe, 0xff}):
		return nil, &Error{Row: noRow, Message: "the text is UTF-16", Remedy: "save the file in UTF-8"}
	}
	return text, nil
}

func byteOrderMark() []byte { return []byte("\ufeff") }

// sniffBytes is how much of the start decides the delimiter, and the size of the read buffer.
const sniffBytes = 256 << 10

const delimiters = ",;\t"

// sniffDelimiter returns the delimiter that splits the first records into the most cells, with the same number in every
// record. If there is none, it returns the one that splits the first record into the most cells.
func sniffDelimiter(text *bufio.Reader) byte {
	start, err := text.Peek(sniffBytes)
	whole := errors.Is(err, io.EOF)
	best, bestWidth, bestEven := delimiters[0], 1, false
	for _, delimiter := range []byte(delimiters) {
		width, even := trialCut(start, whole, delimiter)
		if width > 1 && (even && !bestEven || even == bestEven && width > bestWidth) {
			best, bestWidth, bestEven = delimiter, width, even
		}
	}
	return best
}

// trialCut splits the start of a text. It returns the width of the first record, and whether the others have the same
// width. A record truncated by the end of start is ignored, unless it is the only one.
func trialCut(start []byte, whole bool, delimiter byte) (width int, even bool) {
	const limit = 100
	s := &scanner{in: bufio.NewReader(bytes.NewReader(start)), delimiter: delimiter}
	var scratch cells
	even = true
	previous := 0
	for range limit {
		scratch.reset()
		n, err := s.record(&scratch)
		if errors.Is(err, io.EOF) {
			if whole && previous != 0 && previous != width {
				even = false
			}
			return width, even
		}
		if err != nil {
			return max(width, n), false
		}
		if width == 0 {
			width = n
		} else if previous != 0 && previous != width {
			even = false
		}
		previous = n
	}
	return width, even
}

// delimiterName returns the name of the delimiter for messages.
func delimiterName(delimiter byte) string {
	switch delimiter {
	case ',':
		return "comma"
	case ';':
		return "semicolon"
	case '\t':
		return "tab"
	case ' ':
		return "space"
	}
	return fmt.Sprintf("%q", delimiter)
}

// Limits of one record. Files beyond them are damaged or hostile.
const (
	maxColumns     = 1 << 16
	maxCellBytes   = 1 << 20
	maxRecordBytes = 16 << 20
)

// cells holds records as text without a pointer per cell, so that a sample of millions of cells does not slow down the
// garbage collector.
type cells struct {
	width int // cells per record
	text  []byte
	ends  []uint32 // end of each cell in text, which is far shorter than 4 GiB
	held  account
}

const endBytes = 4 // of one end

func (c *cells) rows() int {
	if c.width == 0 {
		return 0
	}
	return len(c.ends) / c.width
}

// bytes returns the memory of the cells.
func (c *cells) bytes() int { return len(c.text) + endBytes*len(c.ends) }

// charge counts the memory that the cells have grown to.
func (c *cells) charge() error {
	return c.held.take(int64(cap(c.text)+endBytes*cap(c.ends)) - c.held.counted)
}

// another returns an empty buffer of the same capacity.
func (c *cells) another() (cells, error) {
	a := cells{width: c.width, held: account{budget: c.held.budget}}
	if err := a.held.take(int64(c.bytes())); err != nil {
		return a, err
	}
	a.text, a.ends = make([]byte, 0, len(c.text)), make([]uint32, 0, len(c.ends))
	return a, nil
}

func (c *cells) reset() { c.text, c.ends = c.text[:0], c.ends[:0] }

// at returns the text of a cell, valid until the next reset.
func (c *cells) at(row, column int) []byte {
	i := row*c.width + column
	start := uint32(0)
	if i > 0 {
		start = c.ends[i-1]
	}
	return c.text[start:c.ends[i]]
}

func (c *cells) column(i int) textColumn {
	return textColumn{rows: c.rows(), cell: func(row int) []byte { return c.at(row, i) }}
}

// scanner splits CSV text into records.
//
// It replaces encoding/csv, which does not fit for four reasons:
//   - it rejects spaces after a closing quote and does not distinguish quoted cells, so spaces cannot be trimmed outside quotes
//     only;
//   - it skips blank lines, which shifts the rows of a table with one column;
//   - it changes line ends inside quotes;
//   - it holds lines of any length in memory.
type scanner struct {
	in        *bufio.Reader
	delimiter byte
	line      int    // number of the last line read, from 1
	long      []byte // a line that did not fit in's buffer
	taken     int    // bytes of the current record so far
}

// record appends the cells of the next record and returns their number. It returns io.EOF after the last record; blank
// lines at the end do not count.
func (s *scanner) record(into *cells) (int, error) {
	s.taken = 0
	line, err := s.readLine()
	if err != nil {
		return 0, err
	}
	if s.blank(line) {
		return 0, s.blankToEnd()
	}
	first := len(into.ends)
	rest, lineEnd := splitLineEnd(line)
	for {
		start := len(into.text)
		rest = s.trimLeft(rest)
		if len(rest) > 0 && rest[0] == '"' {
			if rest, lineEnd, err = s.quoted(into, rest[1:], lineEnd); err != nil {
				return 0, err
			}
		} else {
			end := bytes.IndexByte(rest, s.delimiter)
			if end < 0 {
				end = len(rest)
			}
			into.text = append(into.text, s.trimRight(rest[:end])...)
			rest = rest[end:]
		}
		into.ends = append(into.ends, uint32(len(into.text)))
		switch n := len(into.ends) - first; {
		case len(into.text)-start > maxCellBytes:
			return 0, s.fault(fmt.Sprintf("cell %d is longer than %d MiB", n, maxCellBytes>>20), "shorten it, or look for a quote that is never closed")
		case n > maxColumns:
			return n, s.fault(fmt.Sprintf("the record has more than %s cells", prose.Thousands(maxColumns)), "check the delimiter, or split the table")
		case len(rest) == 0:
			return n, nil
		}
		rest = rest[1:] // the delimiter
	}
}

// quoted appends the cell whose opening quote has been read, over any number of lines. It returns what follows the
// closing quote and the spaces after it.
func (s *scanner) quoted(into *cells, rest, lineEnd []byte) (after, end []byte, err error) {
	opened := s.line
	for {
		quote := bytes.IndexByte(rest, '"')
		if quote < 0 {
			into.text = append(append(into.text, rest...), lineEnd...)
			line, err := s.readLine()
			if errors.Is(err, io.EOF) {
				return nil, nil, s.fault(fmt.Sprintf("the quote opened in line %d is never closed", opened), "close it, or double quotes that belong to the text")
			}
			if err != nil {
				return nil, nil, err
			}
			rest, lineEnd = splitLineEnd(line)
			continue
		}
		into.text = append(into.text, rest[:quote]...)
		rest = rest[quote+1:]
		if len(rest) > 0 && rest[0] == '"' {
			into.text = append(into.text, '"')
			rest = rest[1:]
			continue
		}
		rest = s.trimLeft(rest)
		if len(rest) > 0 && rest[0] != s.delimiter {
			return nil, nil, s.fault(fmt.Sprintf("%q follows a closing quote", shorten(string(rest))), "double quotes that belong to the text")
		}
		return rest, lineEnd, nil
	}
}

// readLine returns the next line with its line end, valid until the next call.
func (s *scanner) readLine() ([]byte, error) {
	s.long = s.long[:0]
	for {
		part, err := s.in.ReadSlice('\n')
		if s.taken += len(part); s.taken > maxRecordBytes {
			return nil, s.fault(fmt.Sprintf("the record is longer than %d MiB", maxRecordBytes>>20), "check the line ends, and look for a quote that is never closed")
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			s.long = append(s.long, part...)
			continue
		case errors.Is(err, io.EOF) && len(part)+len(s.long) == 0:
			return nil, io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		}
		s.line++
		if len(s.long) > 0 {
			s.long = append(s.long, part...)
			part = s.long
		}
		return part, nil
	}
}

// blankToEnd checks that only blank lines follow a blank line.
func (s *scanner) blankToEnd() error {
	blank := s.line
	for {
		s.taken = 0
		line, err := s.readLine()
		if err != nil {
			return err
		}
		if !s.blank(line) {
			return &Error{
				Row: noRow, Message: fmt.Sprintf("line %d of the file is blank", blank),
				Remedy: `remove it; in a table of one column write "" for a missing cell`,
			}
		}
	}
}

func (s *scanner) blank(line []byte) bool {
	rest, _ := splitLineEnd(line)
	return len(s.trimLeft(rest)) == 0
}

func (s *scanner) space(b byte) bool { return (b == ' ' || b == '\t') && b != s.delimiter }

func (s *scanner) trimLeft(text []byte) []byte {
	for len(text) > 0 && s.space(text[0]) {
		text = text[1:]
	}
	return text
}

func (s *scanner) trimRight(text []byte) []byte {
	for len(text) > 0 && s.space(text[len(text)-1]) {
		text = text[:len(text)-1]
	}
	return text
}

func (s *scanner) fault(message, remedy string) error {
	return &Error{Row: noRow, Message: fmt.Sprintf("%s (line %d of the file)", message, s.line), Remedy: remedy}
}

func splitLineEnd(line []byte) (content, lineEnd []byte) {
	content = bytes.TrimSuffix(line, []byte("\n"))
	if len(content) < len(line) {
		content = bytes.TrimSuffix(content, []byte("\r"))
	}
	return content, line[len(content):]
}
