package trees

import (
	"encoding/json"
	"reflect"
	"testing"
)

// An ensemble comes back from a model file as it was, whatever library it is of.
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
