package artifact

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

// maxFields is the maximum number of fields read, to name an unknown one.
const maxFields = 64

// object splits a JSON object with at most the given number of fields; the fields share its memory. encoding/json alone
// would let the last of two equal names win, and accept "Kind" for "kind".
func object(data []byte, most int) (map[string]json.RawMessage, error) {
	if !utf8.Valid(data) || !json.Valid(data) {
		return nil, errors.New("it is not valid JSON")
	}
	i := skipSpace(data, 0)
	if data[i] != '{' {
		return nil, errors.New("it is not a JSON object")
	}
	fields := map[string]json.RawMessage{}
	for i = skipSpace(data, i+1); data[i] != '}'; i = skipSpace(data, i) {
		if data[i] == ',' {
			i++
			continue
		}
		end := endOfString(data, i)
		name, err := text(data[i:end])
		if err != nil {
			return nil, err
		}
		if _, twice := fields[name]; twice {
			return nil, fmt.Errorf("field %q is there twice", shorten(name))
		}
		if len(fields) == most {
			return nil, fmt.Errorf("it has more than %d fields", most)
		}
		from := skipSpace(data, skipSpace(data, end)+1) // after the colon
		i = endOfValue(data, from)
		fields[name] = data[from:i:i]
	}
	return fields, nil
}

// skipSpace returns the next position from i on that is not a space. Valid JSON has one.
func skipSpace(data []byte, i int) int {
	for data[i] == ' ' || data[i] == '\t' || data[i] == '\r' || data[i] == '\n' {
		i++
	}
	return i
}

// endOfValue returns the position after the value of a field that begins at i, in valid JSON.
func endOfValue(data []byte, i int) int {
	depth := 0
	for {
		switch data[i] {
		case '"':
			i = endOfString(data, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		default:
			for i++; !ends(data[i]); {
				i++
			}
		}
		for depth > 0 && (data[i] == ',' || data[i] == ':' || data[i] <= ' ') {
			i++
		}
		if depth == 0 {
			return i
		}
	}
}

// exactly checks that an object has the named fields and no others.
func exactly(fields map[string]json.RawMessage, names ...string) error {
	for _, name := range names {
		if fields[name] == nil {
			return fmt.Errorf("it has no %q", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(names, name) {
			return fmt.Errorf("it has an unknown field %q", shorten(name))
		}
	}
	return nil
}

// record splits a JSON object that must have exactly the named fields.
func record(data []byte, names ...string) (map[string]json.RawMessage, error) {
	fields, err := object(data, maxFields)
	if err != nil {
		return nil, err
	}
	return fields, exactly(fields, names...)
}

// count reads a non-negative JSON integer without sign, fraction or exponent.
func count(value json.RawMessage) (int64, error) {
	n, err := strconv.ParseUint(string(value), 10, 63)
	if err != nil {
		return 0, fmt.Errorf("%s is not a count", shorten(string(value)))
	}
	return int64(n), nil
}

// counts reads a short JSON array of counts.
func counts(value json.RawMessage) ([]int64, error) {
	if len(value) > 32*MaxDims {
		return nil, fmt.Errorf("a list of counts has %d bytes", len(value))
	}
	var list []json.RawMessage
	if err := json.Unmarshal(value, &list); err != nil || list == nil {
		return nil, fmt.Errorf("%s is not a list of counts", shorten(string(value)))
	}
	numbers := make([]int64, len(list))
	for i := range list {
		n, err := count(list[i])
		if err != nil {
			return nil, err
		}
		numbers[i] = n
	}
	return numbers, nil
}

// text reads a JSON string.
func text(value json.RawMessage) (string, error) {
	var s *string
	if err := json.Unmarshal(value, &s); err != nil || s == nil {
		return "", fmt.Errorf("%s is not a text", shorten(string(value)))
	}
	return *s, nil
}
