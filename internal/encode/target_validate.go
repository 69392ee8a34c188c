package encode

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/psi-shapley/psi/table"
)

// farthestBase limits the initial scores of classes. Fewer than 2^64 rows, whose weights differ by a factor below
// 2^128, stay within it.
const farthestBase = 200

// Limits of a target's mean and standard deviation. Within them, every finite output of a network is finite in the
// target's units, also squared, and values within 10^8 standard deviations fit into 32 bits.
const (
	farthestMean = 1e37
	largestStd   = 1e30
)

// largestLogStd exceeds any standard deviation of logs of 64-bit numbers, which lie within ±745.
const largestLogStd = 745

// Validate returns an error if a target read from a file is invalid.
func (t Target) Validate() error {
	if t.Kind > table.Time {
		return fmt.Errorf("encode: the target's kind %v is unknown", t.Kind)
	}
	var err error
	switch t.Task {
	case Regression:
		err = t.validateRegression()
	case Binary, Multiclass:
		err = errors.Join(t.validateClasses(), t.validateBase())
	default:
		err = fmt.Errorf("the task %.40q is unknown", t.Task)
	}
	if err != nil {
		return fmt.Errorf("encode: target: %w", err)
	}
	return nil
}

func (t Target) validateRegression() error {
	switch {
	case t.Kind == table.Category || t.Kind == table.Boolean:
		return fmt.Errorf("a %v has no regression", t.Kind)
	case t.Link.validate() != nil:
		return t.Link.validate()
	case t.Link != IdentityLink && (!t.NonNegative || !(t.Std <= largestLogStd)):
		return fmt.Errorf("the log of a number that may be negative, or with a standard deviation of %g", t.Std)
	case t.NonNegative && (t.Kind != table.Number || t.Mean < 0 && t.Link == IdentityLink):
		return fmt.Errorf("a %v with the mean %g is said never to be negative", t.Kind, t.Mean)
	case len(t.Classes) > 0 || len(t.Base) > 0:
		return errors.New("a regression has no classes and no base")
	case !(math.Abs(t.Mean) <= farthestMean) || !(t.Std > 0 && t.Std <= largestStd):
		return fmt.Errorf("the mean %v is beyond ±%g, or the standard deviation %v is not between 0 and %g", t.Mean, farthestMean, t.Std, largestStd)
	}
	return nil
}

func (t Target) validateClasses() error {
	n := len(t.Classes)
	switch {
	case t.Mean != 0 || t.Std != 0 || t.NonNegative || t.Link != IdentityLink:
		return errors.New("classes have no mean, no standard deviation and no sign")
	case t.Task == Binary && n != 2:
		return fmt.Errorf("%d classes, but two are binary", n)
	case t.Task == Multiclass && (n < 3 || n > maxClasses):
		return fmt.Errorf("%d classes are not between 3 and %d", n, maxClasses)
	case t.Task == Multiclass && (t.Kind == table.Boolean || t.Kind == table.Time):
		return fmt.Errorf("a %v has no %d classes", t.Kind, n)
	}
	var last string
	for k, class := range t.Classes {
		if !utf8.ValidString(class) {
			return fmt.Errorf("class %d is not UTF-8 text", k)
		}
		if v, err := strconv.ParseFloat(class, 64); t.Kind == table.Number && (err != nil || !finite(v)) {
			return fmt.Errorf("class %d, %.40q, is not a finite number", k, class)
		}
		switch {
		case k == 0:
		case t.Task == Binary && (t.ascend(last, class) || t.ascend(class, last)):
		case t.Task == Multiclass && t.ascend(last, class):
		default:
			return fmt.Errorf("class %d, %.40q, does not come after the one before", k, class)
		}
		last = class
	}
	return nil
}

// ascend reports whether label b follows a in the order of classes.
func (t Target) ascend(a, b string) bool {
	if t.Kind != table.Number {
		return a < b
	}
	v, _ := strconv.ParseFloat(a, 64) // both are numbers
	w, _ := strconv.ParseFloat(b, 64)
	return v < w
}

func (t Target) validateBase() error {
	if len(t.Base) != t.Outputs() {
		return fmt.Errorf("a base of %d numbers for %d outputs", len(t.Base), t.Outputs())
	}
	sum := 0.0
	for k, v := range t.Base {
		if !(math.Abs(v) <= farthestBase) {
			return fmt.Errorf("base %d, %v, is not between %d and %d", k, v, -farthestBase, farthestBase)
		}
		sum += v
	}
	if t.Task == Multiclass && math.Abs(sum) > 1e-6 {
		return fmt.Errorf("the base of the classes adds up to %v, not to 0", sum)
	}
	return nil
}
