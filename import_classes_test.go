package psi

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/table"
)

// threeClasses is XGBoost's file of three classes. A row with x below 0 has the scores 1, 2 and 3, another 4, 5 and 9.
func threeClasses() []byte {
	tree := func(below, above float64) string {
		return fmt.Sprintf(`{"left_children": [1, -1, -1], "right_children": [2, -1, -1], "split_indices": [0, 0, 0], "split_conditions": [0, %v, %v],
			"default_left": [1, 0, 0], "split_type": [0, 0, 0], "sum_hessian": [4, 2, 2]}`, below, above)
	}
	return []byte(fmt.Sprintf(`{"learner": {"attributes": {}, "feature_names": ["x"], "feature_types": ["float"],
		"gradient_booster": {"name": "gbtree", "model": {"trees": [%s, %s, %s], "tree_info": [0, 1, 2], "iteration_indptr": [0, 3]}},
		"learner_model_param": {"base_score": "[0E0]", "num_class": "3", "num_feature": "1", "num_target": "1"},
		"objective": {"name": "multi:softprob"}}}`, tree(1, 4), tree(2, 5), tree(3, 9)))
}

// Classes of an import have the given names, and each keeps its output whatever the order of the names.
func TestImportedClasses(t *testing.T) {
	x := table.NumberColumn("x", []float64{-1, 1}, nil)
	for _, given := range []struct {
		names   []string
		classes string // of the model
		rows    *table.Column
	}{
		{nil, "0 1 2", nil},
		{[]string{"9", "10", "11"}, "9 10 11", nil},
		{[]string{"red", "blue", "green"}, "blue green red", nil},
		{[]string{"red", "blue", "green"}, "blue green red", classColumn("blue", "red")},
		{nil, "a b c", classColumn("c", "a", "b")},
	} {
		trees, err := ReadTrees(threeClasses(), "")
		if err != nil {
			t.Fatal(err)
		}
		o := ImportOptions{Target: "y", Classes: given.names}
		if given.rows != nil {
			rows, err := table.New(table.NumberColumn("x", make([]float64, given.rows.Len()), nil), given.rows)
			if err != nil {
				t.Fatal(err)
			}
			o.Rows = rows.Source()
		}
		m, err := trees.Import(context.Background(), o)
		if err != nil {
			t.Fatal(given, err)
		}
		if got := strings.Join(m.Manifest().Scale.Classes, " "); got != given.classes {
			t.Errorf("%v: classes %s, want %s", given.names, got, given.classes)
		}
		names := given.names
		if names == nil {
			names = strings.Fields(given.classes)
		}
		rows, err := table.New(x)
		if err != nil {
			t.Fatal(err)
		}
		p, err := m.Predict(context.Background(), rows.Source())
		if err != nil {
			t.Fatal(err)
		}
		for row, scores := range [][]float64{{1, 2, 3}, {4, 5, 9}} {
			for output, want := range scores {
				class := slices.Index(strings.Fields(given.classes), names[output])
				if got := p.Mean[row*3+class]; math.Abs(got-want) > 1e-6 {
					t.Errorf("%v: row %d, class %s: score %v, want %v", given.names, row, names[output], got, want)
				}
			}
		}
		m.Close()
	}
}

// Trees that predict probabilities are measured on the rows of both classes.
func TestImportedShares(t *testing.T) {
	file := []byte(`{"format": "psi-trees", "objective": "gini", "link": "probability", "classes": ["no", "yes"], "ensemble": {
		"columns": [{"name": "x", "edges": [0], "inclusive": true, "labels": null}], "base": [0],
		"trees": [{"output": 0, "column": [0, -1, -1], "left": [1, 0, 0], "right": [2, 0, 0], "below": [1, 0, 0],
			"missing": [1, 0, 0], "cover": [4, 2, 2], "value": [0, 0.25, 0.75]}]}}`)
	trees, err := ReadTrees(file, "")
	if err != nil {
		t.Fatal(err)
	}
	x, y := make([]float64, 100), make([]string, 100)
	for row := range x {
		x[row], y[row] = float64(row%2)-0.5, []string{"no", "yes"}[row%2]
	}
	for row := range 10 {
		y[row] = "yes" // five of them wrong
	}
	rows, err := table.New(table.NumberColumn("x", x, nil), classColumn(y...))
	if err != nil {
		t.Fatal(err)
	}
	m, err := trees.Import(context.Background(), ImportOptions{Target: "y", Rows: rows.Source()})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if got := m.Manifest().Metrics["accuracy"]; math.Abs(got-0.95) > 1e-9 {
		t.Errorf("accuracy %v, want 0.95", got)
	}
	manifest := m.Manifest()
	if scale := manifest.TargetScaleName(); scale != "share" {
		t.Errorf("the scale is %q", scale)
	}
}

func classColumn(texts ...string) *table.Column { return table.CategoryColumn("y", texts, nil) }

func TestWrongClasses(t *testing.T) {
	for want, names := range map[string][]string{"2 names": {"a", "b"}, "two classes": {"a", "b", "a"}, "name \"1.0\"": {"1", "2", "1.0"}} {
		trees, err := ReadTrees(threeClasses(), "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err = trees.Import(context.Background(), ImportOptions{Target: "y", Classes: names}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", names, err, want)
		}
	}
}
