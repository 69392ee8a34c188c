package table

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
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
	const most = 100
	s := &scanner{in: bufio.NewReader(bytes.NewReader(start)), delimiter: delimiter}
	var scratch cells
	even = true
	previous := 0
	for range most {
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
