package jsonrows

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// walker iterates over JSON without copying it. It finds where values begin and end; readers of the values, or Check,
// validate numbers and words.
type walker struct {
	text []byte
	at   int
}

var errSyntax = errors.New("a value, a comma or an end is missing")

func (w *walker) space() {
	for w.at < len(w.text) {
		switch w.text[w.at] {
		case ' ', '\t', '\n', '\r':
			w.at++
		default:
			return
		}
	}
}

// take skips space and then, if it is next, the byte.
func (w *walker) take(c byte) bool {
	w.space()
	if w.at == len(w.text) || w.text[w.at] != c {
		return false
	}
	w.at++
	return true
}

// value skips a value of any kind and returns it.
func (w *walker) value() ([]byte, error) {
	w.space()
	start, depth := w.at, 0
	for w.at < len(w.text) {
		switch w.text[w.at] {
		case '"':
			if err := w.quoted(); err != nil {
				return nil, err
			}
		case '[', '{':
			depth++
			w.at++
		case ']', '}':
			if depth--; depth < 0 {
				return nil, errSyntax
			}
			w.at++
		default:
			if depth == 0 {
				w.word()
			} else {
				w.at++
			}
		}
		if depth == 0 {
			if w.at == start {
				return nil, errSyntax
			}
			return w.text[start:w.at], nil
		}
	}
	return nil, errSyntax
}

// quoted skips a string.
func (w *walker) quoted() error {
	for w.at++; w.at < len(w.text); w.at++ {
		switch w.text[w.at] {
		case '\\':
			w.at++
		case '"':
			w.at++
			return nil
		}
	}
	w.at = len(w.text)
	return errSyntax
}

// word skips a number, true, false or null.
func (w *walker) word() {
	for w.at < len(w.text) {
		switch w.text[w.at] {
		case ' ', '\t', '\n', '\r', ',', ':', ']', '}', '[', '{', '"':
			return
		}
		w.at++
	}
}

// members iterates over the members of a list or an object up to its closing byte.
func (w *walker) members(closing byte, member func(i int) error) error {
	for i := 0; !w.take(closing); i++ {
		if i > 0 && !w.take(',') {
			return Syntax(errSyntax)
		}
		if err := member(i); err != nil {
			return err
		}
	}
	if w.space(); w.at < len(w.text) {
		return Syntax(errSyntax)
	}
	return nil
}

// each calls f with the elements of a list. It returns an error if there are too many.
func each(list json.RawMessage, what string, limit int, f func(i int, element json.RawMessage) error) error {
	w := walker{text: list}
	if !w.take('[') {
		return wrong(-1, "", "see /openapi.json for what a request looks like", "%s is not a list", what)
	}
	return w.members(']', func(i int) error {
		if i == limit {
			return &TooManyError{limit}
		}
		element, err := w.value()
		if err != nil {
			return Syntax(err)
		}
		return f(i, element)
	})
}

// count returns the number of a list's elements.
func count(list json.RawMessage, what string, limit int) (n int, err error) {
	err = each(list, what, limit, func(int, json.RawMessage) error {
		n++
		return nil
	})
	return n, err
}

// Fields calls f with the fields of an object, in their order. It returns an error if there are too many. Names and values
// share the memory of the object, except names with escapes.
func Fields(object json.RawMessage, limit int, f func(name, value []byte) error) error {
	w := walker{text: object}
	if !w.take('{') {
		return wrong(-1, "", "see /openapi.json for what a request looks like", "it is not an object")
	}
	return w.members('}', func(i int) error {
		if i == limit {
			return wrong(-1, "", "send the model's columns alone", "an object has more than %d fields", limit)
		}
		quoted, err := w.value()
		if err != nil {
			return Syntax(err)
		}
		name, err := text(quoted)
		if err != nil {
			return err
		}
		if !w.take(':') {
			return Syntax(errSyntax)
		}
		value, err := w.value()
		if err != nil {
			return Syntax(err)
		}
		return f(name, value)
	})
}

// text decodes a string.
func text(quoted []byte) ([]byte, error) {
	if len(quoted) < 2 || quoted[0] != '"' {
		return nil, Syntax(errSyntax)
	}
	if span := quoted[1 : len(quoted)-1]; !slices.Contains(span, '\\') {
		return span, nil
	}
	var plain string
	err := json.Unmarshal(quoted, &plain)
	return []byte(plain), Syntax(err)
}

// Texts parses a list of strings. It returns an error if there are too many.
func Texts(list json.RawMessage, what string, limit int) ([]string, error) {
	var all []string
	err := each(list, what, limit, func(_ int, element json.RawMessage) error {
		t, err := text(element)
		if err != nil {
			return wrong(-1, "", "send a list of texts", "%s holds what is not a text", what)
		}
		all = append(all, string(t))
		return nil
	})
	if _, many := errors.AsType[*TooManyError](err); many {
		return nil, wrong(-1, "", "send fewer", "%s has more than %d elements", what, limit)
	}
	return all, err
}

// Syntax converts an error of encoding/json into one for the caller; nil stays nil.
func Syntax(err error) error {
	if err == nil {
		return nil
	}
	return wrong(-1, "", "send JSON in UTF-8; a missing cell is null, for JSON has no NaN", "the body is not JSON: %s", err)
}

// Check returns an error unless the text is JSON in UTF-8.
func Check(body []byte) error {
	if !utf8.Valid(body) {
		return wrong(-1, "", "send JSON in UTF-8", "the body is not UTF-8")
	}
	if !json.Valid(body) {
		var v json.RawMessage
		return Syntax(json.Unmarshal(body, &v))
	}
	return nil
}

// TooManyError refuses more rows than a request may have.
type TooManyError struct{ Limit int }

func (e *TooManyError) Error() string {
	return fmt.Sprintf("the request has more than %d rows: send them in several", e.Limit)
}

// NullForNaN replaces the word NaN by null. JSON has no NaN, but Python and so MLflow's client write it for a missing
// number. Strings and valid JSON stay as they are.
func NullForNaN(body []byte) []byte {
	word := []byte("NaN")
	if !bytes.Contains(body, word) || json.Valid(body) {
		return body
	}
	var out []byte
	kept, text := 0, false
	for i := 0; i < len(body); i++ {
		switch {
		case body[i] == '"':
			text = !text
		case text && body[i] == '\\':
			i++
		case !text && bytes.HasPrefix(body[i:], word) && !isWordByte(body, i-1) && !isWordByte(body, i+len(word)):
			out = append(append(out, body[kept:i]...), "null"...)
			i += len(word) - 1
			kept = i + 1
		}
	}
	return append(out, body[kept:]...)
}

// isWordByte reports whether a byte can be part of a word or number.
func isWordByte(body []byte, at int) bool {
	if at < 0 || at >= len(body) {
		return false
	}
	c := body[at]
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c == '_' || c >= 0x80
}
