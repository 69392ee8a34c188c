package encode

import (
	"fmt"
	"slices"

	"github.com/psi-shapley/psi/table"
)

// Task is the kind of prediction.
type Task string

// Tasks.
const (
	Auto       Task = "auto" // inferred from the target's values; never the task of a Target
	Regression Task = "regression"
	Binary     Task = "binary"
	Multiclass Task = "multiclass"
)

// Check returns an error if a column of the kind cannot have the task. Labels checks the values.
func (t Task) Check(column string, kind table.Kind) error {
	switch t {
	case Auto, "", Binary, Multiclass:
		return nil
	case Regression:
		if kind == table.Number || kind == table.Time {
			return nil
		}
		return &table.Error{
			Row: noRow, Column: column,
			Message: fmt.Sprintf("the target is a %v, and only numbers have a regression", kind), Remedy: "choose a column of numbers, or another Config.Task",
		}
	}
	return fmt.Errorf("encode: the task %q is unknown: choose %s, %s, %s or %s", t, Auto, Regression, Binary, Multiclass)
}

// maxClasses limits the outputs of a network.
const maxClasses = 100

// fewNumbers is the number of distinct integers up to which a target may well be classes.
const fewNumbers = 10

// Target returns the task that fits the values so far, and its classes; TargetFitter fits the rest. asked may be "",
// which means Auto. positive may be "", which means the last of two classes. The note tells users about what they might
// not expect.
func (l *Labels) Target(asked Task, positive string) (t Target, note string, err error) {
	if err := l.check(); err != nil {
		return Target{}, "", err
	}
	t.Kind = l.kind
	if t.Task, note, err = l.task(asked); err != nil {
		return Target{}, "", err
	}
	if t.Task != Regression {
		t.Classes = l.list()
	}
	t.NonNegative = t.Task == Regression && t.Kind == table.Number && l.least >= 0
	if positive != "" {
		err = l.choosePositive(&t, positive)
	}
	return t, note, err
}

// check returns an error if there is nothing to learn.
func (l *Labels) check() error {
	switch l.len() {
	case 0:
		return l.wrong("no row has a target", "name the column that holds the targets")
	case 1:
		return l.wrong(fmt.Sprintf("the target is %s in every row: there is nothing to learn", l.list()[0]), "check that this is the column to predict")
	}
	return nil
}

func (l *Labels) wrong(message, remedy string) error {
	return &table.Error{Row: noRow, Column: l.name, Message: message, Remedy: remedy}
}

func (l *Labels) task(asked Task) (task Task, note string, err error) {
	if err := asked.Check(l.name, l.kind); err != nil {
		return "", "", err
	}
	n := l.len()
	switch asked {
	case Regression:
		return Regression, "", nil
	case Binary:
		if n != 2 {
			return "", "", l.wrong(fmt.Sprintf("the target has %s different values, and Config.Task=binary needs two", l.count()), "choose another Config.Task, or another column")
		}
	case Multiclass:
		if n > 2 && l.kind == table.Time {
			return "", "", l.wrong("the target is a time, whose values are no classes", "choose Config.Task=regression, or another column")
		}
		if n == 2 {
			note = fmt.Sprintf("the target has two classes, %s: their task is binary", quoted(l.list(), "and"))
		}
	default:
		if n > 2 && (l.kind == table.Number || l.kind == table.Time) {
			return Regression, l.hintOfClasses(), nil
		}
	}
	switch {
	case n > maxClasses:
		return "", "", l.wrong(fmt.Sprintf("the target has more than %d different values, too many for classes", maxClasses), "merge rare classes, or choose another column")
	case n == 2:
		return Binary, note, nil
	}
	return Multiclass, "", nil
}

// hintOfClasses is for targets such as 1, 2, 3, which may be names as well as quantities.
func (l *Labels) hintOfClasses() string {
	if l.kind != table.Number || l.len() > fewNumbers || !l.whole() {
		return ""
	}
	return fmt.Sprintf("the target has %d different values, all whole, and is learned as a quantity: Config.Task=multiclass takes them for classes", l.len())
}

func (l *Labels) choosePositive(t *Target, positive string) error {
	if t.Task != Binary {
		return l.wrong(fmt.Sprintf("a positive class is given, %q, but the task is %s", shortened(positive), t.Task), "leave it out, or choose a target with two classes")
	}
	k, ok := t.classOf(positive)
	if !ok {
		return l.wrong(fmt.Sprintf("the target has no class %q to be the positive one", shortened(positive)), "choose "+quoted(t.Classes, "or"))
	}
	if k == 0 {
		slices.Reverse(t.Classes)
	}
	return nil
}
