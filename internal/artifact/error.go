package artifact

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// What can be wrong with a file, for [errors.Is].
var (
	ErrNotPsi   = errors.New("not a file of psi")
	ErrKind     = errors.New("a file of another kind")
	ErrNewer    = errors.New("a file of a newer psi")
	ErrDamaged  = errors.New("a damaged file")
	ErrTooLarge = errors.New("a file beyond the limits")
)

// Error says what is wrong with a file and what to do about it.
type Error struct {
	File    string // empty if unknown
	Message string
	Remedy  string // what the user can do; may be empty
	Err     error  // one of this package's errors, the cause, or both
}

func (e *Error) Error() string {
	text := e.Message
	if e.File != "" {
		text = e.File + ": " + text
	}
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// damaged is for bytes that are not as they were written.
func damaged(format string, values ...any) *Error {
	return &Error{
		Message: "the file is damaged: " + fmt.Sprintf(format, values...),
		Remedy:  "copy it again",
		Err:     ErrDamaged,
	}
}

func tooLarge(format string, values ...any) *Error {
	return &Error{Message: fmt.Sprintf(format, values...), Err: ErrTooLarge}
}

func notPsi(kind Kind, why string) *Error {
	return &Error{
		Message: "the file is not a psi " + kind.noun() + why,
		Remedy:  "give a " + kind.noun() + " that psi has written",
		Err:     ErrNotPsi,
	}
}

// during names the file of an error, and what was being done to it if another package
// reports the error.
func during(doing, file string, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		if e.File == "" {
			e.File = file
		}
		return e
	}
	return &Error{File: file, Message: doing + " failed: " + err.Error(), Err: err}
}

// shorten cuts a name to what fits in a message.
func shorten(name string) string {
	const most = 40
	if utf8.RuneCountInString(name) <= most {
		return name
	}
	return string([]rune(name)[:most-1]) + "…"
}
