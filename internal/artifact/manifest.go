package artifact

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/psi-shapley/psi/table"
)

// manifest is manifest.json.
type manifest struct {
	Kind     Kind            `json:"kind"`
	Format   int             `json:"format"`
	Requires []string        `json:"requires"`
	Content  json.RawMessage `json:"content"`
	Parts    map[string]part `json:"parts"`
}

// part is the manifest's entry of a part.
type part struct {
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

func describe(content []byte) part {
	digest := sha256.Sum256(content)
	return part{Size: int64(len(content)), SHA256: hex.EncodeToString(digest[:])}
}

// encodeManifest checks a file against all limits and returns its manifest.
func encodeManifest(f *File) ([]byte, error) {
	if f.Kind != Model && f.Kind != Checkpoint {
		return nil, &table.Error{Row: -1, Message: fmt.Sprintf("a %s cannot be written", f.Kind.noun()), Err: ErrKind}
	}
	const spareManifest = 1 << 16 // for the list of parts
	if len(f.Content) > MaxManifestBytes-spareManifest {
		return nil, tooLarge("the content of the manifest has %d bytes, more than %d", len(f.Content), MaxManifestBytes-spareManifest)
	}
	if !utf8.Valid(f.Content) || !json.Valid(f.Content) || bytes.TrimLeft(f.Content, " \t\r\n")[0] != '{' {
		return nil, &table.Error{Row: -1, Message: "the content of the manifest is not a JSON object"}
	}
	if len(f.Parts) > MaxParts {
		return nil, tooLarge("there are %d parts, more than %d", len(f.Parts), MaxParts)
	}
	if len(f.Requires) > maxRequires {
		return nil, tooLarge("%d features are required, more than %d", len(f.Requires), maxRequires)
	}
	m := manifest{Kind: f.Kind, Format: Version, Requires: append([]string{}, f.Requires...), Content: f.Content, Parts: map[string]part{}}
	var total, texts int64
	for _, name := range slices.Sorted(maps.Keys(f.Parts)) {
		if err := checkName(name); err != nil {
			return nil, &table.Error{Row: -1, Message: err.Error()}
		}
		total += int64(len(f.Parts[name]))
		if isText(name) {
			texts += int64(len(f.Parts[name]))
		}
	}
	const spare = 1 << 20 // for zip's own headers, and text that grows under compression
	if total > MaxFileBytes-MaxManifestBytes-spare {
		return nil, tooLarge("the parts have %d bytes; a file can have %d", total, int64(MaxFileBytes))
	}
	if texts > MaxTextBytes-MaxManifestBytes {
		return nil, tooLarge("the text parts have %d bytes, more than %d", texts, MaxTextBytes-MaxManifestBytes)
	}
	for name, content := range f.Parts {
		m.Parts[name] = describe(content)
	}

	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // it would rewrite the caller's content
	if err := encoder.Encode(m); err != nil {
		return nil, &table.Error{Row: -1, Message: "the manifest cannot be encoded: " + err.Error(), Err: err}
	}
	if !json.Valid(out.Bytes()) { // encoding/json limits the depth, and the manifest is one level deeper
		return nil, &table.Error{Row: -1, Message: "the content of the manifest is nested too deeply"}
	}
	return out.Bytes(), nil
}

// decodeManifest reads the manifest of a file of the given kind. It checks the format first, because a newer one may
// differ in everything else.
func decodeManifest(data []byte, kind Kind) (*manifest, error) {
	fields, err := object(data, maxFields)
	if err != nil {
		return nil, damaged("%s cannot be read: %v", manifestName, err)
	}
	if fields["kind"] == nil || fields["format"] == nil {
		return nil, notPsi(kind, ": its "+manifestName+" is not psi's")
	}
	format, err := count(fields["format"])
	if err != nil || format < 1 {
		return nil, damaged("format %s is unknown", shorten(string(fields["format"])))
	}
	if format > Version {
		return nil, &table.Error{
			Row:     -1,
			Message: fmt.Sprintf("the file was written by a newer psi (format %d; this program reads up to %d)", format, Version),
			Remedy:  "update psi",
			Err:     ErrNewer,
		}
	}
	found, err := text(fields["kind"])
	if err != nil {
		return nil, damaged("kind: %v", err)
	}
	if Kind(found) != kind {
		return nil, &table.Error{
			Row:     -1,
			Message: fmt.Sprintf("the file is a %s, not a %s", Kind(found).noun(), kind.noun()),
			Remedy:  "give a " + kind.noun(),
			Err:     ErrKind,
		}
	}
	names := []string{"kind", "format", "content", "parts"}
	if format > 1 {
		names = append(names, "requires")
	}
	if err := exactly(fields, names...); err != nil {
		return nil, damaged("%s cannot be read: %v", manifestName, err)
	}
	requires, err := decodeRequires(fields["requires"])
	if err != nil {
		return nil, damaged("the features that %s requires cannot be read: %v", manifestName, err)
	}
	if fields["content"][0] != '{' {
		return nil, damaged("the content of %s is not a JSON object", manifestName)
	}
	parts, err := decodeParts(fields["parts"])
	if err != nil {
		return nil, damaged("the parts in %s cannot be read: %v", manifestName, err)
	}
	return &manifest{Kind: kind, Format: int(format), Requires: requires, Content: fields["content"], Parts: parts}, nil
}

// maxRequires limits the list of required features.
const maxRequires = 64

// decodeRequires reads the list of required features; nil if it is empty.
func decodeRequires(data json.RawMessage) ([]string, error) {
	const limit = 1 << 14
	if data == nil {
		return nil, nil
	}
	if len(data) > limit {
		return nil, fmt.Errorf("they take %d bytes, more than %d", len(data), limit)
	}
	var names []string
	if err := json.Unmarshal(data, &names); err != nil || names == nil || len(names) > maxRequires {
		return nil, fmt.Errorf("%s is not a list of at most %d names", shorten(string(data)), maxRequires)
	}
	return names, nil
}

func decodeParts(data json.RawMessage) (map[string]part, error) {
	list, err := object(data, MaxParts)
	if err != nil {
		return nil, err
	}
	parts := make(map[string]part, len(list))
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if err := checkName(name); err != nil {
			return nil, err
		}
		fields, err := record(list[name], "size", "sha256")
		if err != nil {
			return nil, fmt.Errorf("part %q: %w", name, err)
		}
		size, err := count(fields["size"])
		if err != nil {
			return nil, fmt.Errorf("part %q: %w", name, err)
		}
		digest, err := text(fields["sha256"])
		if err != nil {
			return nil, fmt.Errorf("part %q: %w", name, err)
		}
		parts[name] = part{Size: size, SHA256: digest}
	}
	return parts, nil
}

// maxFields is the maximum number of fields read, to name an unknown one.
const maxFields = 64

// object splits a JSON object with at most the given number of fields; the fields share its memory. encoding/json alone
// would let the last of two equal names win, and accept "Kind" for "kind".
func object(data []byte, limit int) (map[string]json.RawMessage, error) {
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
		if len(fields) == limit {
			return nil, fmt.Errorf("it has more than %d fields", limit)
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
