package explain_test

import (
	"reflect"
	"testing"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// rowsFrom is an explanation of rows [from, to) of a table of two columns.
func rowsFrom(t *testing.T, from, to int) *explain.Explanation {
	t.Helper()
	e := &explain.Explanation{
		Head: "exact", Mode: explain.Fast, Exact: true, Z: 2, Top: 1, Outputs: []string{"y"}, Scale: explain.Identity,
		Players: []string{"a", "b"}, FirstRow: from, Rows: to - from, Values: make([]*table.Column, 2),
	}
	var numbers []float64
	var labels []string
	for i := from; i < to; i++ {
		v := float64(i)
		e.Base, e.Prediction, e.PredictionStd = append(e.Base, 1), append(e.Prediction, v), append(e.PredictionStd, v+1)
		e.HiddenStd, e.Residual = append(e.HiddenStd, 0), append(e.Residual, 0)
		e.Mean, e.Std = append(e.Mean, v, -1), append(e.Std, v, 2)
		e.Observed = append(e.Observed, true, true)
		e.ByBag = append(e.ByBag, v, v/2, v/3, 3, 4, 5)
		numbers, labels = append(numbers, v), append(labels, string(rune('p'+i)))
	}
	e.Doubt()
	e.Values[0] = table.NumberColumn("a", numbers, nil)
	e.Values[1] = table.CategoryColumn("b", labels, nil)
	if err := e.Validate(); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestJoinedPartsAreTheWhole(t *testing.T) {
	whole := rowsFrom(t, 3, 9)
	first, second := rowsFrom(t, 3, 5), rowsFrom(t, 5, 9)
	// Levels of a source only grow from chunk to chunk.
	second.Values[1].Levels = whole.Values[1].Levels
	for i := range second.Values[1].Codes {
		second.Values[1].Codes[i] += 2
	}
	got, err := explain.Join([]*explain.Explanation{first, second})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, whole) {
		t.Errorf("joined:\n%+v\nwant:\n%+v", got, whole)
	}
}

// Chunks without an unseen label say nothing of them.
func TestJoinedPartsKeepOthers(t *testing.T) {
	first, second, third := rowsFrom(t, 3, 5), rowsFrom(t, 5, 6), rowsFrom(t, 6, 7)
	second.Other = []bool{false, true}
	for _, c := range []struct {
		parts []*explain.Explanation
		want  []bool
	}{
		{[]*explain.Explanation{first, second, third}, []bool{false, false, false, false, false, true, false, false}},
		{[]*explain.Explanation{second, third}, []bool{false, true, false, false}},
		{[]*explain.Explanation{first, rowsFrom(t, 5, 7)}, nil},
	} {
		for _, part := range c.parts {
			part.Values[1] = nil // of which Join would ask for common levels
		}
		got, err := explain.Join(c.parts)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.Other, c.want) {
			t.Errorf("others %v, want %v", got.Other, c.want)
		}
	}
}

func TestJoinRefusesWhatDoesNotBelongTogether(t *testing.T) {
	for name, second := range map[string]func(e *explain.Explanation){
		"a gap between the rows": func(e *explain.Explanation) { e.FirstRow++ },
		"another model":          func(e *explain.Explanation) { e.Model = "sha256:0" },
		"another content":        func(e *explain.Explanation) { e.Probability = e.Base },
	} {
		e := rowsFrom(t, 5, 9)
		second(e)
		if _, err := explain.Join([]*explain.Explanation{rowsFrom(t, 3, 5), e}); err == nil {
			t.Errorf("%s was joined", name)
		}
	}
	if _, err := explain.Join(nil); err == nil {
		t.Error("nothing was joined")
	}
}
