package encode_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/table"
)

func TestValidateTarget(t *testing.T) {
	regression := func(change func(t *encode.Target)) encode.Target {
		of := encode.Target{Task: encode.Regression, Mean: -3, Std: 0.5}
		change(&of)
		return of
	}
	binary := func(change func(t *encode.Target)) encode.Target {
		of := encode.Target{Task: encode.Binary, Kind: table.Category, Classes: []string{"b", "a"}, Base: []float64{-1}}
		change(&of)
		return of
	}
	three := func(change func(t *encode.Target)) encode.Target {
		of := encode.Target{Task: encode.Multiclass, Kind: table.Category, Classes: []string{"10", "9", "a"}, Base: []float64{1, -3, 2}}
		change(&of)
		return of
	}
	digits := func(change func(t *encode.Target)) encode.Target {
		return three(func(t *encode.Target) {
			t.Kind, t.Classes = table.Number, []string{"-1", "9", "10"}
			change(t)
		})
	}
	same := func(*encode.Target) {}
	for _, c := range []struct {
		name   string
		target encode.Target
		says   string // nothing: it is valid
	}{
		{"a regression", regression(same), ""},
		{"a regression of times", regression(func(t *encode.Target) { t.Kind = table.Time }), ""},
		{"two classes", binary(same), ""},
		{"an empty label", binary(func(t *encode.Target) { t.Classes[0] = "" }), ""},
		{"two booleans", binary(func(t *encode.Target) { t.Kind = table.Boolean }), ""},
		{"two numbers, turned", binary(func(t *encode.Target) { t.Kind, t.Classes = table.Number, []string{"10", "9"} }), ""},
		{"three texts", three(same), ""},
		{"three numbers", digits(same), ""},
		{"the most classes", three(func(t *encode.Target) { t.Classes, t.Base = count(100, name).Levels, make([]float64, 100) }), ""},

		{"nothing", encode.Target{}, "task"},
		{"no task", regression(func(t *encode.Target) { t.Task = "auto" }), "task"},
		{"an unknown kind", regression(func(t *encode.Target) { t.Kind = 9 }), "kind"},
		{"no scale", regression(func(t *encode.Target) { t.Std = 0 }), "deviation"},
		{"a negative scale", regression(func(t *encode.Target) { t.Std = -1 }), "deviation"},
		{"a scale that is no number", regression(func(t *encode.Target) { t.Std = missing }), "deviation"},
		{"a scale without bounds", regression(func(t *encode.Target) { t.Std = math.Inf(1) }), "deviation"},
		{"a mean that is no number", regression(func(t *encode.Target) { t.Mean = missing }), "mean"},
		{"a mean without bounds", regression(func(t *encode.Target) { t.Mean = math.Inf(-1) }), "mean"},
		{"a regression of texts", regression(func(t *encode.Target) { t.Kind = table.Category }), "category"},
		{"a regression of booleans", regression(func(t *encode.Target) { t.Kind = table.Boolean }), "boolean"},
		{"a regression with classes", regression(func(t *encode.Target) { t.Classes = []string{"a"} }), "classes"},
		{"a regression with a base", regression(func(t *encode.Target) { t.Base = []float64{1} }), "base"},
		{"classes with a mean", binary(func(t *encode.Target) { t.Mean = 1 }), "mean"},
		{"classes with a scale", three(func(t *encode.Target) { t.Std = 1 }), "deviation"},
		{"three binary classes", three(func(t *encode.Target) { t.Task = encode.Binary }), "binary"},
		{"two of many classes", binary(func(t *encode.Target) { t.Task = encode.Multiclass }), "classes"},
		{"no classes", three(func(t *encode.Target) { t.Classes = nil }), "classes"},
		{"too many classes", three(func(t *encode.Target) { t.Classes, t.Base = count(101, name).Levels, make([]float64, 101) }), "classes"},
		{"one class twice", binary(func(t *encode.Target) { t.Classes[1] = "b" }), "class 1"},
		{"one number twice", binary(func(t *encode.Target) { t.Kind, t.Classes = table.Number, []string{"1", "1.0"} }), "class 1"},
		{"classes out of order", three(func(t *encode.Target) { slices.Reverse(t.Classes) }), "class 1"},
		{"numbers in the order of texts", digits(func(t *encode.Target) { t.Classes = []string{"-1", "10", "9"} }), "class 2"},
		{"a number that is none", digits(func(t *encode.Target) { t.Classes[1] = "x" }), "class 1"},
		{"a number without bounds", digits(func(t *encode.Target) { t.Classes[2] = "inf" }), "class 2"},
		{"not a text", binary(func(t *encode.Target) { t.Classes[0] = "\xff" }), "class 0"},
		{"three booleans", three(func(t *encode.Target) { t.Kind = table.Boolean }), "boolean"},
		{"three times", three(func(t *encode.Target) { t.Kind = table.Time }), "time"},
		{"no base", binary(func(t *encode.Target) { t.Base = nil }), "base"},
		{"too long a base", binary(func(t *encode.Target) { t.Base = []float64{0, 0} }), "base"},
		{"too short a base", three(func(t *encode.Target) { t.Base = []float64{0, 0} }), "base"},
		{"a base that is no number", binary(func(t *encode.Target) { t.Base[0] = missing }), "base 0"},
		{"a base without bounds", three(func(t *encode.Target) { t.Base[2] = math.Inf(1) }), "base 2"},
		{"a far base", binary(func(t *encode.Target) { t.Base[0] = -201 }), "base 0"},
		{"a base off centre", three(func(t *encode.Target) { t.Base[0] = 2 }), "adds up"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.target.Validate()
			if c.says == "" && err != nil {
				t.Error("refused:", err)
			}
			if c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("the error %v does not say %q", err, c.says)
			}
		})
	}
}

// FuzzTarget: whatever a model file says, a target that is valid encodes any column into
// numbers that a loss can take, or says why not.
func FuzzTarget(f *testing.F) {
	for _, text := range []string{
		`{"task":"regression","kind":"number","mean":-1.7e308,"std":5e-324}`,
		`{"task":"binary","kind":"boolean","classes":["Yes","no"],"base":[-3]}`,
		`{"task":"multiclass","kind":"number","classes":["-1","0","1.5"],"base":[1,1,-2]}`,
		`{"task":"multiclass","kind":"category","classes":["","a","b"],"base":[0,0,0]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var target encode.Target
		if json.Unmarshal(text, &target) != nil || target.Validate() != nil {
			return
		}
		if len(target.Base) != target.Outputs() && target.Task != encode.Regression {
			t.Errorf("a base of %d numbers for %d outputs", len(target.Base), target.Outputs())
		}
		for _, y := range []*table.Column{
			numbers(-1, 0, 1.5, -math.MaxFloat64, math.MaxFloat64), booleans(nil, true, false), times(1, 2), texts(append([]string{"a", "b"}, target.Classes...)...),
		} {
			for row := range y.Len() {
				v, err := target.Encode(y, []int{row})
				if err != nil {
					wantTableError(t, err, "y", row)
					continue
				}
				if size := math.Abs(float64(v[0])); !(size <= 1e6) {
					t.Errorf("encoded as %g", v[0])
				}
				if k := float64(v[0]); target.Task != encode.Regression && (k != math.Trunc(k) || k < 0 || int(k) >= len(target.Classes)) {
					t.Errorf("class %g of %d", k, len(target.Classes))
				}
			}
		}
	})
}
