package trees

import (
	"encoding/json"
	"reflect"
	"testing"
)

// MarshalJSON writes the open form, as exporters do.
func (e *Ensemble) MarshalJSON() ([]byte, error) {
	s := storedEnsemble{Base: e.Base}
	for d := range e.Columns {
		c := &e.Columns[d]
		column := storedColumn{Name: c.Name, Edges: c.Edges, Inclusive: c.Inclusive, Single: c.Single, Labels: c.Labels}
		if c.Zero != Missing {
			column.Zero = &c.Zero
		}
		s.Columns = append(s.Columns, column)
	}
	for i := range e.Trees {
		t := storedTree{Output: e.Trees[i].Output}
		for k := range e.Trees[i].Nodes {
			t.add(k, &e.Trees[i].Nodes[k])
		}
		s.Trees = append(s.Trees, t)
	}
	return json.Marshal(s)
}

func (t *storedTree) add(at int, n *Node) {
	t.Column, t.Left, t.Right, t.Below = append(t.Column, n.Column), append(t.Left, n.Left), append(t.Right, n.Right), append(t.Below, n.Below)
	t.Cover, t.Value = append(t.Cover, n.Cover), append(t.Value, n.Value)
	flags := 0
	for flag, is := range map[int]bool{storedMissingLeft: n.MissingLeft, storedZero: n.Zero, storedSetLeft: n.SetLeft} {
		if is {
			flags |= flag
		}
	}
	t.Missing = append(t.Missing, flags)
	if n.Set != nil {
		if t.Set == nil {
			t.Set = map[int][]Code{}
		}
		t.Set[at] = n.Set
	}
}

// An ensemble comes back from the open form as it was, whatever library it is of.
func TestStoredEnsemble(t *testing.T) {
	check := func(name string, e *Ensemble) {
		content, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var back Ensemble
		if err := json.Unmarshal(content, &back); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(&back, e) {
			t.Errorf("%s: another ensemble came back", name)
		}
	}
	for library, read := range map[string]func([]byte) (*Model, error){"lightgbm": ReadLightGBM, "xgboost": ReadXGBoost} {
		for _, c := range libraries(t, library) {
			m, err := read([]byte(c.Model))
			if err != nil {
				t.Fatal(err)
			}
			check(library+" "+c.Name, &m.Ensemble)
		}
	}
	for content, why := range map[string]string{
		`{"base":[0],"trees":[{"column":[-1],"left":[0]}]}`:                                                                                       "lists of different lengths",
		`{"base":[0],"trees":[{"column":[-1],"left":[0],"right":[0],"below":[0],"missing":[0],"cover":[1],"value":[1],"output":1}]}`:              "an output that is not there",
		`{"base":[0],"trees":[{"column":[3,-1],"left":[1,0],"right":[1,0],"below":[0,0],"missing":[0,0],"cover":[1,1],"value":[1,1]}]}`:           "a column that is not there",
		`{"columns":[{"name":"a"}],"base":[0],"trees":[{"column":[0],"left":[0],"right":[0],"below":[0],"missing":[0],"cover":[1],"value":[1]}]}`: "a node that is its own child",
	} {
		if err := json.Unmarshal([]byte(content), new(Ensemble)); err == nil {
			t.Errorf("%s was read", why)
		}
	}
}
