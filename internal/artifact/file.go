// Package artifact reads and writes psi's files: models, and checkpoints of training.
//
// A file is a zip of manifest.json and named parts. The manifest contains the kind and format of the file, and the size
// and SHA-256 of every part:
//
//	{"kind":"psi.model","format":2,"requires":["product"],"content":{…},
//	 "parts":{"weights.safetensors":{"size":81920,"sha256":"…"}, …}}
//
// The caller defines the content, and the names of the features that a program must support to read it. New features
// need no new format; an older program refuses them by name. Weights are parts in the safetensors format:
// [EncodeTensors], [DecodeTensors].
//
// [Write] gives the same bytes for the same [File]. [Read] accepts any bytes: it executes nothing, checks sizes before
// it allocates memory, and returns an error if the file does not match its manifest. It never returns damaged content.
//
//nolint:misspell // the package has its name from the design
package artifact

import (
	"archive/zip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/psi-shapley/psi/table"
)

// Version is the format this program writes, and the newest it reads. Format 1 has no list of required features.
const Version = 2

// Kind is the purpose of a file, which distinguishes checkpoints from models.
type Kind string

// Kinds of files.
const (
	Model      Kind = "psi.model"
	Checkpoint Kind = "psi.checkpoint"
)

// noun returns the kind for a message.
func (k Kind) noun() string {
	switch k {
	case Model:
		return "model"
	case Checkpoint:
		return "checkpoint"
	}
	return fmt.Sprintf("file of kind %q", shorten(string(k)))
}

// File is the content of a file.
type File struct {
	Kind     Kind
	Requires []string          // features that a program must support to read the file
	Content  json.RawMessage   // a JSON object; written without insignificant spaces
	Parts    map[string][]byte // by name, such as "weights.safetensors" or "history.csv"
}

// Lacks returns an error if the file requires a feature that is not among the given ones. path is the file's name in
// the error.
func (f *File) Lacks(path string, features ...string) error {
	for _, name := range f.Requires {
		if !slices.Contains(features, name) {
			return &table.Error{
				Row:     -1,
				File:    path,
				Message: fmt.Sprintf("the %s requires %q, which this program does not have", f.Kind.noun(), shorten(name)),
				Remedy:  "update psi",
				Err:     ErrNewer,
			}
		}
	}
	return nil
}

// KindOf returns the kind of a file of size bytes, by the start of its manifest. It reads some kilobytes and checks
// nothing else. It returns "" for a file that psi did not write or that is truncated.
func KindOf(r io.ReaderAt, size int64) Kind {
	const (
		endLength    = 22     // of a zip's last record, without a comment
		maxDirectory = 60_000 // maximum bytes of the directory that psi writes
		maxKind      = 256    // bytes up to the end of the kind, which is the first field
	)
	end := make([]byte, endLength)
	if _, err := r.ReadAt(end, size-endLength); err != nil && !errors.Is(err, io.EOF) || binary.LittleEndian.Uint32(end[12:]) > maxDirectory {
		return ""
	}
	directory, err := zip.NewReader(r, size)
	if err != nil {
		return ""
	}
	manifest, err := directory.Open(manifestName)
	if err != nil {
		return ""
	}
	defer manifest.Close()
	start, err := io.ReadAll(io.LimitReader(manifest, maxKind))
	if err != nil {
		return ""
	}
	found := regexp.MustCompile(`^\{"kind":"(psi\.[a-z]+)",`).FindSubmatch(start)
	if found == nil {
		return ""
	}
	return Kind(found[1])
}

// Limits of a file, for writing and reading. What a small file can expand into is limited by its size too; everything
// else has the same size in memory and in the file.
const (
	MaxFileBytes     = 1<<32 - 1 // maximum of a zip without its 64-bit extension
	MaxManifestBytes = 64 << 20
	MaxTextBytes     = 256 << 20 // the manifest and the text parts together, decompressed
	MaxParts         = 64
	MaxNameBytes     = 128 // of the name of a part
)

const manifestName = "manifest.json"

// checkName accepts names that are plain files on every system.
func checkName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("a part has no name")
	case len(name) > MaxNameBytes:
		return fmt.Errorf("the name of part %q has %d bytes, more than %d", shorten(name), len(name), MaxNameBytes)
	case name == manifestName:
		return fmt.Errorf("no part may be named %s", manifestName)
	case name[0] == '.' || strings.ContainsFunc(name, unusual):
		return fmt.Errorf("part %q is not named by letters, digits, dots, dashes and underscores", shorten(name))
	}
	return nil
}

func unusual(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-", r)
}

// isText reports, by its name, whether a part should be compressed. Weights do not compress.
func isText(name string) bool {
	for _, end := range []string{".json", ".csv", ".txt", ".yaml", ".md"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

func isJSON(name string) bool { return strings.HasSuffix(name, ".json") }

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
	const limit = 40
	if utf8.RuneCountInString(name) <= limit {
		return name
	}
	return string([]rune(name)[:limit-1]) + "…"
}
