package oip

import (
	"fmt"
	"unicode/utf8"
)

// Kind is the class of an error, from which servers choose status codes.
type Kind uint8

// The kinds of errors.
const (
	Invalid  Kind = iota // the request contradicts the protocol, itself or the model
	TooLarge             // the request exceeds a limit of the server
	NotFound             // the request names something that does not exist
)

// Error describes what is wrong with a request, and the remedy.
type Error struct {
	Kind    Kind
	Message string
	Remedy  string // may be empty
}

func (e *Error) Error() string {
	if e.Remedy == "" {
		return e.Message
	}
	return e.Message + "; " + e.Remedy
}

func invalid(remedy, format string, args ...any) *Error {
	return &Error{Kind: Invalid, Message: fmt.Sprintf(format, args...), Remedy: remedy}
}

// quoted quotes a name or cell of a request, shortened for a message.
func quoted[T string | []byte](text T) string {
	const most = 40
	if len(text) > most*utf8.UTFMax {
		text = text[:most*utf8.UTFMax]
	}
	if runes := []rune(string(text)); len(runes) > most {
		return fmt.Sprintf("%q", string(runes[:most-1])+"…")
	}
	return fmt.Sprintf("%q", string(text))
}
