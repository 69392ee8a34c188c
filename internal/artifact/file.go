package artifact

import (
	"encoding/json"
	"fmt"
)

// Version is the format this program writes, and the newest it reads.
const Version = 1

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
	Kind    Kind
	Content json.RawMessage   // a JSON object; it is written without needless spaces
	Parts   map[string][]byte // by name, such as "weights.safetensors" or "history.csv"
}
