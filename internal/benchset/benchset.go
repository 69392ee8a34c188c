// Package benchset gives tests and benchmarks the real data sets on which psi is measured, each under the same fixed
// folds, so that figures of different models and days can be laid side by side.
//
// What is known only after the fact, or gives the target away, is left out; what the original file writes as a code for
// missing is missing. The data are not part of the module: they lie in the directory PSI_DATA names, or else in
// ../shared/data beside the module.
package benchset

import (
	"fmt"
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
	for _, r := range append(recipes(), paperRecipes()...) {
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
