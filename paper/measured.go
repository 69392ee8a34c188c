package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/psi-shapley/psi"
)

// measuredFile holds all answers, a line each.
const measuredFile = "measured.jsonl"

// kept is an answer with its origin: a line of the file.
type kept[T any] struct {
	origin
	Answer T `json:"answer"`
}

// origin is the question and the model that answered it.
type origin struct {
	Asked    string       `json:"asked"` // name of the question
	Training Training     `json:"training"`
	Digest   string       `json:"digest"`            // of the training and its settings
	Revision string       `json:"revision"`          // of the code that trained the model; of the oldest answers, the commit that added them
	Backend  psi.Backend  `json:"backend,omitempty"` // that trained it; older answers do not say
	Settings psi.Settings `json:"settings"`
	Cost     Cost         `json:"cost"`
	Fidelity float64      `json:"fidelity"` // as the audit in the model's file has it
}

// model is the name of the model's file.
func (o *origin) model() string {
	return fmt.Sprintf("%s-%d-%s", o.Training.Set, o.Training.Fold, o.Digest)
}

// question is what an answer is to: the name of the question, and the training. There is one answer to each.
func (o *origin) question() string { return o.Asked + " " + digest(o.Training) }

// measured are the answers so far.
func (l *Lab) measured() ([]kept[json.RawMessage], error) {
	return readLines[kept[json.RawMessage]](filepath.Join(l.dir, measuredFile))
}

// models are those that were asked, by name.
func (l *Lab) models() (map[string]origin, error) {
	answers, err := l.measured()
	models := map[string]origin{}
	for _, k := range answers {
		models[k.model()] = k.origin
	}
	return models, err
}

// keep adds an answer, a kept[T], to the file. Lines are sorted as text: by question, set and fold.
func (l *Lab) keep(answer any) error {
	l.keeping.Lock()
	defer l.keeping.Unlock()
	path := filepath.Join(l.dir, measuredFile)
	lines, err := readLines[json.RawMessage](path) // as they are: settings of old answers lack later fields
	if err != nil {
		return err
	}
	line, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	question, err := questionOf(line)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for i, older := range lines { // an answer by other settings goes
		switch same, err := questionOf(older); {
		case err != nil:
			return fmt.Errorf("%s:%d: %w", path, i+1, err)
		case same == question:
			lines[i] = nil
		}
	}
	lines = append(slices.DeleteFunc(lines, func(l json.RawMessage) bool { return l == nil }), line)
	slices.SortFunc(lines, func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
	var text []byte
	for _, line := range lines {
		text = append(append(text, line...), '\n')
	}
	return replace(path, text)
}

func questionOf(line json.RawMessage) (string, error) {
	var o origin
	err := json.Unmarshal(line, &o)
	return o.question(), err
}

// readLines reads a file with a JSON value in each line; a file that does not exist has none.
func readLines[T any](path string) ([]T, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var values []T
	for line := range bytes.Lines(text) {
		var value T
		if err := json.Unmarshal(line, &value); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, len(values)+1, err)
		}
		values = append(values, value)
	}
	return values, nil
}

// replace writes a file that appears whole or not at all.
func replace(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path+".part", text, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}
