package psi

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/table"
)

// classes sets the names of classes: those that are given, those of the file, or those of the rows.
func (i *importing) classes(t *encode.Target) error {
	switch {
	case i.Classes != nil && len(i.Classes) != len(t.Classes):
		return wrongSetting(fmt.Sprintf("%d names of classes, but the trees have %d classes", len(i.Classes), len(t.Classes)), "name all of them in ImportOptions.Classes, in the order of the trees")
	case i.Classes != nil:
		t.Classes = i.Classes
	case i.file.Classes != nil:
		t.Classes = i.file.Classes
	case i.target != nil:
		return i.classesOfRows(t)
	default:
		return nil
	}
	t.Kind = kindOf(t.Classes)
	if i.target != nil && (i.target.Kind != table.Number || t.Kind == table.Number) {
		t.Kind = i.target.Kind
	}
	for k, name := range t.Classes {
		if slices.ContainsFunc(t.Classes[:k], func(other string) bool { return t.Compare(name, other) == 0 }) {
			return wrongSetting(fmt.Sprintf("two classes have the name %q", name), "give distinct names in ImportOptions.Classes")
		}
	}
	if t.Task == Multiclass {
		i.sortClasses(t)
	}
	return nil
}

func (i *importing) classesOfRows(t *encode.Target) error {
	found, _, err := i.labels.Target(t.Task, "")
	if err != nil {
		return err
	}
	if len(found.Classes) != len(t.Classes) {
		return &table.Error{
			Row: -1, Column: i.Target, Message: fmt.Sprintf("the rows have %d classes, and the trees %d", len(found.Classes), len(t.Classes)),
			Remedy: "name them in ImportOptions.Classes, or give rows with all classes, or none",
		}
	}
	t.Classes, t.Kind = found.Classes, found.Kind
	return nil
}

// kindOf returns Number if all labels are numbers, else Category.
func kindOf(labels []string) table.Kind {
	for _, label := range labels {
		if v, err := strconv.ParseFloat(label, 64); err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return table.Category
		}
	}
	return table.Number
}

// sortClasses puts several classes, and the outputs of the trees with them, in the order of classes of all models.
func (i *importing) sortClasses(t *encode.Target) {
	order := make([]int, len(t.Classes)) // at each place, the output that belongs there
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return t.Compare(t.Classes[a], t.Classes[b]) })
	i.file.Reorder(order)
	classes, base := make([]string, len(order)), make([]float64, len(order))
	for place, output := range order {
		classes[place], base[place] = t.Classes[output], t.Base[output]
	}
	t.Classes, t.Base = classes, base
}
