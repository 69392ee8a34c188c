package artifact

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/psi-shapley/psi/table"
)

// Kinds of errors, for [errors.Is].
var (
	ErrNotPsi   = errors.New("not a file of psi")
	ErrKind     = errors.New("a file of another kind")
	ErrNewer    = errors.New("a file of a newer psi")
	ErrDamaged  = errors.New("a damaged file")
	ErrTooLarge = errors.New("a file beyond the limits")
)

// Refused reports whether the content of a file is wrong, so that reading it again cannot help.
func Refused(err error) bool {
	return slices.ContainsFunc([]error{ErrNotPsi, ErrKind, ErrNewer, ErrDamaged, ErrTooLarge}, func(cause error) bool { return errors.Is(err, cause) })
}

// damaged reports bytes that differ from what was written.
func damaged(format string, values ...any) *table.Error {
	return &table.Error{
		Row:     -1,
		Message: "the file is damaged: " + fmt.Sprintf(format, values...),
		Remedy:  "copy it again",
		Err:     ErrDamaged,
	}
}

func tooLarge(format string, values ...any) *table.Error {
	return &table.Error{Row: -1, Message: fmt.Sprintf(format, values...), Err: ErrTooLarge}
}

func notPsi(kind Kind, why string) *table.Error {
	return &table.Error{
		Row:     -1,
		Message: "the file is not a psi " + kind.noun() + why,
		Remedy:  "give a " + kind.noun() + " that psi has written",
		Err:     ErrNotPsi,
	}
}

// during adds the file to an error and, if another package reported it, the operation.
func during(doing, file string, err error) error {
	if e, ok := errors.AsType[*table.Error](err); ok {
		if e.File == "" {
			e.File = file
		}
		return e
	}
	return &table.Error{Row: -1, File: file, Message: doing + " failed: " + err.Error(), Err: err}
}

// shorten truncates a name to fit into a message.
func shorten(name string) string {
	const most = 40
	if utf8.RuneCountInString(name) <= most {
		return name
	}
	return string([]rune(name)[:most-1]) + "…"
}
