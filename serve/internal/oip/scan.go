package oip

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// scanner parses JSON without copying it. The caller must check that it is UTF-8. NaN, Infinity and -Infinity count as
// numbers, since Python's json writes them.
type scanner struct {
	text []byte
	at   int
}

const deepest = 32 // lists and objects in each other

func (s *scanner) broken(what string) error {
	return invalid("send a JSON document", "the JSON is broken at byte %d: %s", s.at, what)
}

// peek returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

func (s *scanner) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// take skips space and then, if it is next, the byte.
func (s *scanner) take(c byte) bool {
	s.space()
	if s.peek() != c {
		return false
	}
	s.at++
	return true
}

func (s *scanner) word(word string) bool {
	if !bytes.HasPrefix(s.text[s.at:], []byte(word)) {
		return false
	}
	s.at += len(word)
	return true
}

// null skips a null.
func (s *scanner) null() bool {
	s.space()
	return s.word("null")
}

// each calls a function for each member of a list, which must read it.
func (s *scanner) each(member func() error) error {
	if !s.take('[') {
		return s.broken("a list should be here")
	}
	if s.take(']') {
		return nil
	}
	for {
		s.space()
		if err := member(); err != nil {
			return err
		}
		if s.take(']') {
			return nil
		}
		if !s.take(',') {
			return s.broken("a comma or the end of the list should be here")
		}
	}
}

// fields calls a function for each member of an object, which must read its value and not keep its key.
func (s *scanner) fields(field func(key []byte) error) error {
	if !s.take('{') {
		return s.broken("an object should be here")
	}
	if s.take('}') {
		return nil
	}
	for {
		s.space()
		key, escaped, err := s.quoted()
		if err != nil {
			return err
		}
		if escaped {
			key = unescape(nil, key)
		}
		if !s.take(':') {
			return s.broken("a colon should be here")
		}
		s.space()
		if err := field(key); err != nil {
			return err
		}
		if s.take('}') {
			return nil
		}
		if !s.take(',') {
			return s.broken("a comma or the end of the object should be here")
		}
	}
}

// skip skips a value of any kind.
func (s *scanner) skip(depth int) error {
	if depth == deepest {
		return s.broken("lists or objects are in each other too deeply")
	}
	s.space()
	switch s.peek() {
	case '[':
		return s.each(func() error { return s.skip(depth + 1) })
	case '{':
		return s.fields(func([]byte) error { return s.skip(depth + 1) })
	default:
		_, err := s.element()
		return err
	}
}

// elementKind is the kind of a JSON value other than a list or an object.
type elementKind uint8

const (
	nullElement elementKind = 1 << iota
	boolElement
	numberElement
	textElement
)

// element skips a value other than a list or an object.
func (s *scanner) element() (elementKind, error) {
	switch c := s.peek(); {
	case c == '"':
		_, _, err := s.quoted()
		return textElement, err
	case c == 'n' && s.word("null"):
		return nullElement, nil
	case c == 't' && s.word("true"), c == 'f' && s.word("false"):
		return boolElement, nil
	default:
		_, err := s.number()
		return numberElement, err
	}
}

// quoted skips a string and returns what is between its quotes. If that has escapes, unescape decodes it.
func (s *scanner) quoted() (span []byte, escaped bool, err error) {
	if s.peek() != '"' {
		return nil, false, s.broken("a text in double quotes should be here")
	}
	s.at++
	start := s.at
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			return s.text[start : s.at-1], escaped, nil
		case c < ' ':
			return nil, false, s.broken("a control character stands in a text")
		case c == '\\':
			escaped = true
			if err := s.escape(); err != nil {
				return nil, false, err
			}
		default:
			s.at++
		}
	}
	return nil, false, s.broken("a text has no end")
}

// escape skips an escape, or two that are halves of one character.
func (s *scanner) escape() error {
	s.at++
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.at++
		return nil
	case 'u':
		unit, ok := hexadecimal(s.text[s.at+1:])
		if !ok {
			return s.broken("\\u needs four hexadecimal digits")
		}
		s.at += 5
		if !utf16.IsSurrogate(unit) {
			return nil
		}
		if s.word(`\u`) {
			if low, ok := hexadecimal(s.text[s.at:]); ok && utf16.DecodeRune(unit, low) != utf8.RuneError {
				s.at += 4
				return nil
			}
		}
		return s.broken("half a character is escaped")
	default:
		return s.broken("no such escape")
	}
}

func hexadecimal(text []byte) (r rune, ok bool) {
	if len(text) < 4 {
		return 0, false
	}
	for _, c := range text[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// unescape appends the text of a string that quoted returned.
func unescape(into, span []byte) []byte {
	for i := 0; i < len(span); i++ {
		if span[i] != '\\' {
			into = append(into, span[i])
			continue
		}
		i++
		switch c := span[i]; c {
		case 'b':
			into = append(into, '\b')
		case 'f':
			into = append(into, '\f')
		case 'n':
			into = append(into, '\n')
		case 'r':
			into = append(into, '\r')
		case 't':
			into = append(into, '\t')
		case 'u':
			r, _ := hexadecimal(span[i+1:])
			i += 4
			if utf16.IsSurrogate(r) {
				low, _ := hexadecimal(span[i+3:])
				r = utf16.DecodeRune(r, low)
				i += 6
			}
			into = utf8.AppendRune(into, r)
		default:
			into = append(into, c)
		}
	}
	return into
}

// string parses a string.
func (s *scanner) string() (string, error) {
	span, escaped, err := s.quoted()
	if err != nil {
		return "", err
	}
	if escaped {
		span = unescape(nil, span)
	}
	return string(span), nil
}

// number skips a number and returns its text.
func (s *scanner) number() ([]byte, error) {
	start := s.at
	if s.peek() == '-' {
		s.at++
	}
	switch c := s.peek(); {
	case c == '0':
		s.at++
	case c >= '1' && c <= '9':
		s.digits()
	case c == 'I' && s.word("Infinity"), c == 'N' && start == s.at && s.word("NaN"):
		return s.text[start:s.at], nil
	default:
		return nil, s.broken("a value should be here")
	}
	if s.peek() == '.' {
		s.at++
		if !s.digits() {
			return nil, s.broken("a number ends in its point")
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.at++
		if c := s.peek(); c == '+' || c == '-' {
			s.at++
		}
		if !s.digits() {
			return nil, s.broken("a number lacks its exponent")
		}
	}
	return s.text[start:s.at], nil
}

func (s *scanner) digits() bool {
	start := s.at
	for s.at < len(s.text) && s.text[s.at]-'0' <= 9 {
		s.at++
	}
	return s.at > start
}

// valueOf returns the float64 nearest to a scanned number; infinite if it is out of range.
func valueOf(number []byte) float64 {
	v, _ := strconv.ParseFloat(string(number), 64)
	return v
}

// toElement skips what is between the elements of a scanned list.
func (s *scanner) toElement() {
	for {
		switch s.peek() {
		case '[', ']', ',', ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// jsonNumbers is numbers for data in JSON.
func (t *Tensor) jsonNumbers(into []float64) error {
	s := scanner{text: t.json}
	for i := range into {
		s.toElement()
		switch s.peek() {
		case 'n':
			s.at += len("null")
			into[i] = math.NaN()
		case 't':
			s.at += len("true")
			into[i] = 1
		case 'f':
			s.at += len("false")
			into[i] = 0
		default:
			number, err := s.number()
			if err != nil {
				return err
			}
			v := valueOf(number)
			if !math.IsNaN(v) && !t.Datatype.holds(v) {
				return t.misfit(v)
			}
			into[i] = v
		}
	}
	return nil
}
