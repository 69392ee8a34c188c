package artifact

import (
	"encoding/json"
	"fmt"
	"slices"

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
