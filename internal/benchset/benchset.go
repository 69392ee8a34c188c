// Package benchset gives tests and benchmarks the real data sets on which psi is measured, each under the same fixed
// folds, so that figures of different models and days can be laid side by side.
//
// What is known only after the fact, or gives the target away, is left out; what the original file writes as a code for
// missing is missing. The data are not part of the module: they lie in the directory PSI_DATA names, or else in
// ../shared/data beside the module.
package benchset

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/psi-shapley/psi/table"
)

// Task is what a set's target asks for.
type Task string

// The tasks.
const (
	Regression Task = "regression"
	Binary     Task = "binary"
	Multiclass Task = "multiclass"
)

// Target is the name of every set's target column, which is its last. A class target has the labels c0, c1, …; of two
// classes c1 is the positive one.
const Target = "target"

// Set is a data set ready for training.
type Set struct {
	Name   string
	Task   Task
	Table  *table.Table // inputs in file order, then the target
	Target string
}

// Names returns the names of the sets that psi is measured on.
func Names() []string { return namesOf(recipes()) }

func namesOf(all []recipe) []string {
	names := make([]string, len(all))
	for i, r := range all {
		names[i] = r.name
	}
	return names
}

// Load reads a set. If its files are not there the error is ErrAbsent.
func Load(name string) (*Set, error) {
	for _, r := range slices.Concat(recipes(), paperRecipes(), unseenRecipes()) {
		if r.name != name {
			continue
		}
		dir, err := dataDir()
		if err != nil {
			return nil, fmt.Errorf("benchset: %s: %w", name, err)
		}
		prepared, err := r.load(dir)
		if err != nil {
			return nil, fmt.Errorf("benchset: %s: %w", name, err)
		}
		return &Set{Name: name, Task: r.task, Table: prepared, Target: Target}, nil
	}
	return nil, fmt.Errorf("benchset: no data set %q: there are %s", name, strings.Join(Names(), ", "))
}

// Folds is the number of folds.
const Folds = 5

// splitmix64 is the first output of the generator of that name (Steele, Lea and Flood 2014) from state x:
//
//	z ← x + 0x9E3779B97F4A7C15
//	z ← (z ⊕ z≫30) · 0xBF58476D1CE4E5B9
//	z ← (z ⊕ z≫27) · 0x94D049BB133111EB
//	z ⊕ z≫31
func splitmix64(x uint64) uint64 {
	z := x + 0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// part returns the fold that tests the row, h mod 5 with h = splitmix64(row + 1), and whether the other folds hold it
// out for validation, (h≫32) mod 10 = 0.
func part(row int) (fold int, validates bool) {
	h := splitmix64(uint64(row) + 1)
	return int(h % Folds), (h>>32)%10 == 0
}

// Fold returns the rows of each part of fold k, 0 ≤ k < Folds, in row order. The parts are disjoint and cover the table;
// recipes are chosen on validation, never on test.
func (s *Set) Fold(k int) (train, validation, test []int) {
	if k < 0 || k >= Folds {
		panic(fmt.Sprintf("benchset: fold %d: there are 0 to %d", k, Folds-1))
	}
	for row := range s.Table.Rows() {
		switch fold, validates := part(row); {
		case fold == k:
			test = append(test, row)
		case validates:
			validation = append(validation, row)
		default:
			train = append(train, row)
		}
	}
	return train, validation, test
}

// ErrAbsent says that the data are not on this machine. Tests skip on it.
var ErrAbsent = errors.New("data not found; set PSI_DATA to the directory that holds them")

const modulePath = "github.com/psi-shapley/psi"

// dataDir returns PSI_DATA, or ../shared/data seen from the root of the module.
func dataDir() (string, error) {
	if dir := os.Getenv("PSI_DATA"); dir != "" {
		return dir, nil
	}
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, "..", "shared", "data"), nil
}

// moduleRoot walks up from the working directory to psi's own go.mod, past those of modules nested in it.
func moduleRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(text, []byte("module "+modulePath+"\n")) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod of %s above %s: %w", modulePath, start, ErrAbsent)
		}
	}
}
