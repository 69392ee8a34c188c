package artifact

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/psi-shapley/psi/table"
)

// Version is the format this program writes, and the newest it reads. Format 1 has no list of required features.
const Version = 2

// Kind says what a file is for, so that a checkpoint is not taken for a model.
type Kind string

// The kinds of files.
const (
	Model      Kind = "psi.model"
	Checkpoint Kind = "psi.checkpoint"
)

// noun is the kind in a message.
func (k Kind) noun() string {
	switch k {
	case Model:
		return "model"
	case Checkpoint:
		return "checkpoint"
	}
	return fmt.Sprintf("file of kind %q", shorten(string(k)))
}

// File is what a file holds.
type File struct {
	Kind     Kind
	Requires []string          // features that a program must have to make sense of the file
	Content  json.RawMessage   // a JSON object; it is written without needless spaces
	Parts    map[string][]byte // by name, such as "weights.safetensors" or "history.csv"
}

// Lacks refuses a file that requires a feature which is not among those of the program. path is what the error calls it.
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
