package jsonrows

import (
	"bytes"
	"encoding/json"
)

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
		case !text && bytes.HasPrefix(body[i:], word) && !wordy(body, i-1) && !wordy(body, i+len(word)):
			out = append(append(out, body[kept:i]...), "null"...)
			i += len(word) - 1
			kept = i + 1
		}
	}
	return append(out, body[kept:]...)
}

// wordy reports whether a byte can be part of a word or number.
func wordy(body []byte, at int) bool {
	if at < 0 || at >= len(body) {
		return false
	}
	c := body[at]
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c == '_' || c >= 0x80
}
