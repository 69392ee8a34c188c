package encode_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/table"
)

func numbers(values ...float64) *table.Column { return table.NumberColumn("y", values, nil) }

func texts(labels ...string) *table.Column { return table.CategoryColumn("y", labels, nil) }

func booleans(words []string, values ...bool) *table.Column {
	c := table.BooleanColumn("y", values, nil)
	c.Levels = words
	return c
}

func times(days ...int) *table.Column {
	var all []time.Time
	for _, d := range days {
		all = append(all, time.Date(2020, 1, d, 0, 0, 0, 0, time.UTC))
	}
	return table.TimeColumn("y", all, nil)
}

func count(n int, label func(i int) string) *table.Column {
	var labels []string
	for i := range n {
		labels = append(labels, label(i))
	}
	return texts(labels...)
}

func name(i int) string { return fmt.Sprintf("%03d", i) }

// chosen is the target for the values of columns, one after the other.
func chosen(asked encode.Task, positive string, columns ...*table.Column) (encode.Target, string, error) {
	var l encode.Labels
	for _, c := range columns {
		if err := l.Add(c, nil); err != nil {
			return encode.Target{}, "", err
		}
	}
	return l.Target(asked, positive)
}

func TestTasks(t *testing.T) {
	const auto, regression, binary, multiclass = encode.Auto, encode.Regression, encode.Binary, encode.Multiclass
	hundredNumbers := make([]float64, 100)
	for i := range hundredNumbers {
		hundredNumbers[i] = float64(i) / 2
	}
	for _, c := range []struct {
		name     string
		asked    encode.Task
		positive string
		y        *table.Column
		task     encode.Task // empty: an error that says what note does
		classes  []string
		note     string
	}{
		{"numbers", auto, "", numbers(1.5, 2, 3), regression, nil, ""},
		{"not said", "", "", numbers(1.5, 2, 3), regression, nil, ""},
		{"few whole numbers", auto, "", numbers(3, 1, 2), regression, nil, "Config.Task=multiclass"},
		{"whole numbers", auto, "", numbers(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), regression, nil, ""},
		{"two numbers", auto, "", numbers(10, 9, 10), binary, []string{"9", "10"}, ""},
		{"two numbers and no number", auto, "", numbers(10, missing, 9), binary, []string{"9", "10"}, ""},
		{"two zeros", auto, "", numbers(0, math.Copysign(0, -1), 1), binary, []string{"0", "1"}, ""},
		{"booleans", auto, "", booleans(nil, true, false), binary, []string{"false", "true"}, ""},
		{"booleans in words", auto, "", booleans([]string{"No", "Yes"}, true, false), binary, []string{"No", "Yes"}, ""},
		{"two texts", auto, "", texts(">50K", "<=50K", ">50K"), binary, []string{"<=50K", ">50K"}, ""},
		{"three texts", auto, "", texts("b", "a", "10", "9"), multiclass, []string{"10", "9", "a", "b"}, ""},
		{"the most classes", auto, "", count(100, name), multiclass, count(100, name).Levels, ""},
		{"times", auto, "", times(1, 2, 5), regression, nil, ""},
		{"two times", auto, "", times(2, 1), binary, []string{"2020-01-01", "2020-01-02"}, ""},

		{"regression of two numbers", regression, "", numbers(0, 1), regression, nil, ""},
		{"regression of times", regression, "", times(1, 2), regression, nil, ""},
		{"binary of texts", binary, "", texts("a", "b"), binary, []string{"a", "b"}, ""},
		{"classes of numbers", multiclass, "", numbers(10, 9, -1, 2.5), multiclass, []string{"-1", "2.5", "9", "10"}, ""},
		{"a hundred numbers", multiclass, "", numbers(hundredNumbers...), multiclass, []string{"0", "0.5", "1", "1.5"}, ""},
		{"two classes", multiclass, "", texts("a", "b"), binary, []string{"a", "b"}, "binary"},
		{"two booleans as classes", multiclass, "", booleans(nil, true, false), binary, []string{"false", "true"}, "binary"},

		{"a positive text", auto, "a", texts("a", "b"), binary, []string{"b", "a"}, ""},
		{"the positive text as ever", auto, "b", texts("a", "b"), binary, []string{"a", "b"}, ""},
		{"a positive number", auto, "1.0", numbers(1, 2), binary, []string{"2", "1"}, ""},
		{"a positive word", auto, "false", booleans([]string{"nay", "aye"}, true, false), "", nil, `choose "nay" or "aye"`},
		{"a positive boolean", auto, "false", booleans([]string{"No", "Yes"}, true, false), binary, []string{"Yes", "No"}, ""},

		{"an unknown positive text", auto, "c", texts("a", "b"), "", nil, `choose "a" or "b"`},
		{"a positive number of a regression", auto, "1", numbers(1, 2, 3), "", nil, "regression"},
		{"a positive class of three", auto, "a", texts("a", "b", "c"), "", nil, "multiclass"},
		{"no label", auto, "", texts(), "", nil, "no row"},
		{"one text", auto, "", texts("a", "a"), "", nil, "is a in every row"},
		{"one number", regression, "", numbers(2.5, 2.5), "", nil, "is 2.5 in every row"},
		{"one boolean", auto, "", booleans(nil, true, true), "", nil, "is true in every row"},
		{"too many texts", auto, "", count(101, name), "", nil, "more than 100"},
		{"too many classes", multiclass, "", numbers(append(hundredNumbers, -1)...), "", nil, "more than 100"},
		{"binary of three", binary, "", texts("a", "b", "c"), "", nil, "has 3 different values"},
		{"binary of many", binary, "", numbers(append(hundredNumbers, -1)...), "", nil, "has more than 100 different values"},
		{"classes of times", multiclass, "", times(1, 2, 3), "", nil, "time"},
		{"regression of texts", regression, "", texts("1", "2"), "", nil, "category"},
		{"regression of booleans", regression, "", booleans(nil, true, false), "", nil, "boolean"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, note, err := chosen(c.asked, c.positive, c.y)
			if c.task == "" {
				wantTableError(t, err, "y", -1)
				if !strings.Contains(err.Error(), c.note) {
					t.Errorf("the error %q does not say %q", err, c.note)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Task != c.task || got.Kind != c.y.Kind || !slices.Equal(got.Classes[:min(len(got.Classes), len(c.classes))], c.classes) {
				t.Errorf("%s of a %v: %q, want %s: %q", got.Task, got.Kind, got.Classes, c.task, c.classes)
			}
			if (c.note == "") != (note == "") || !strings.Contains(note, c.note) {
				t.Errorf("note %q, want one with %q", note, c.note)
			}
		})
	}
}

func TestUnknownTask(t *testing.T) {
	if _, _, err := chosen("ranking", "", texts("a", "b")); err == nil || !strings.Contains(err.Error(), "ranking") {
		t.Errorf("error %v", err)
	}
}

// All chunks decide together, and only rows that are kept.
func TestLabelsInChunks(t *testing.T) {
	got, _, err := chosen(encode.Auto, "", texts("b", "b"), texts(), texts("c", "b"), texts("a"))
	if err != nil || got.Task != encode.Multiclass || !slices.Equal(got.Classes, []string{"a", "b", "c"}) {
		t.Errorf("%v: %+v", err, got)
	}
	var l encode.Labels
	if err := l.Add(numbers(1, 2, 3), func(row int) bool { return row < 2 }); err != nil {
		t.Fatal(err)
	}
	if got, _, err = l.Target(encode.Auto, ""); err != nil || got.Task != encode.Binary {
		t.Errorf("%v: %+v, want two classes", err, got)
	}
}

func TestLabelErrors(t *testing.T) {
	_, _, err := chosen(encode.Auto, "", numbers(1, 2), texts("a"))
	wantTableError(t, err, "y", -1)
	_, _, err = chosen(encode.Auto, "", texts("a", "b", "\xff"))
	wantTableError(t, err, "y", 2)
	infinite := &table.Column{Name: "y", Observed: []bool{true, true}, Numbers: []float64{1, math.Inf(1)}}
	_, _, err = chosen(encode.Auto, "", infinite)
	wantTableError(t, err, "y", 1)
}

// A column with as many values as rows is counted no further than classes go.
func TestLabelsAreBounded(t *testing.T) {
	var l encode.Labels
	before := heap()
	for i := range 20 {
		values := make([]float64, 8192)
		for k := range values {
			values[k] = float64(i*8192 + k)
		}
		if err := l.Add(numbers(values...), nil); err != nil {
			t.Fatal(err)
		}
	}
	if grown := heap() - before; grown > 1<<20 {
		t.Errorf("the labels of a number take %d KiB", grown>>10)
	}
	if got, _, err := l.Target(encode.Auto, ""); err != nil || got.Task != encode.Regression {
		t.Errorf("%v: %+v", err, got)
	}
}
