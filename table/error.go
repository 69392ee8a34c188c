package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// noRow marks an Error that is not about a row.
const noRow = -1

// Error reports what is wrong with a table, where, and what to do about it.
type Error struct {
	File    string // "" if unknown
	Row     int    // data row, from 0; −1 if the error is not about a row
	Column  string // "" if the error is not about a column
	Message string
	Remedy  string // what the user can do; may be ""
	Err     error  // the cause, if another package reported it
}

func (e *Error) Error() string {
	var where []string
	if e.File != "" {
		where = append(where, e.File)
	}
	if e.Row >= 0 {
		where = append(where, fmt.Sprintf("row %d", e.Row))
	}
	if e.Column != "" {
		where = append(where, fmt.Sprintf("column %q", shorten(e.Column)))
	}
	text := e.Message
	if len(where) > 0 {
		text = strings.Join(where, ", ") + ": " + text
	}
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// shorten truncates a cell to fit into a message.
func shorten(cell string) string {
	const limit = 40
	if utf8.RuneCountInString(cell) <= limit {
		return cell
	}
	return string([]rune(cell)[:limit-1]) + "…"
}

// at sets the row and column of an error that does not name them yet.
func at(err error, row int, column string) error {
	if e, ok := errors.AsType[*Error](err); ok {
		if e.Row < 0 {
			e.Row = row
		}
		if e.Column == "" {
			e.Column = column
		}
	}
	return err
}

// during adds the file to an error and, if another package reported it, the operation. Cancellation and the end of the
// input are not faults of the file and are returned unchanged.
func during(doing, file string, err error) error {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if e, ok := errors.AsType[*Error](err); ok {
		if e.File == "" {
			e.File = file
		}
		return e
	}
	cause := strings.TrimPrefix(err.Error(), file+": ") // name the file once
	return &Error{File: file, Row: noRow, Message: doing + " failed: " + cause, Err: err}
}
