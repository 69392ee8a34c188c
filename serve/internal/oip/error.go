package oip

import (
	"fmt"
	"unicode/utf8"
)

// Kind is what is wrong with a request, as protocols number it.
type Kind uint8

// The kinds of errors.
const (
	Invalid  Kind = iota // the request contradicts the protocol, itself or the model
	TooLarge             // it is more than the server takes at once
	NotFound             // what it names is not there
)

// Error says what is wrong with a request and what to do about it.
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

// quoted is a name or cell of a request, cut to what fits in a message.
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
