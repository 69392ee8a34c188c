package trees

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// openOf is a model in the open form.
func openOf(t testing.TB, m *Model) []byte {
	t.Helper()
	ensemble, err := json.Marshal(&m.Ensemble)
	if err != nil {
		t.Fatal(err)
	}
	content, err := json.Marshal(openFile{Format: openFormat, Objective: m.Objective, Link: m.Link, Slope: &m.Slope, Classes: m.Classes, Ensemble: ensemble})
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// Files of every library are known by their content, and each model comes back from the open form as it was.
func TestRead(t *testing.T) {
	check := func(name string, content []byte, want Format) {
		t.Helper()
		m, format, err := Read(content)
		if err != nil || format != want {
			t.Errorf("%s: the format is %q, not %q: %v", name, format, want, err)
			return
		}
		back, format, err := Read(openOf(t, m))
		if err != nil || format != FormatOpen {
			t.Errorf("%s in the open form: the format is %q: %v", name, format, err)
		}
		if !reflect.DeepEqual(back, m) {
			t.Errorf("%s: another model came back from the open form", name)
		}
	}
	for _, file := range []string{"lightgbm", "xgboost", "catboost", "onnx", "variants"} {
		for _, c := range libraries(t, file) {
			if _, refused := onnxRefused[c.Name]; refused || c.Refused != "" || c.Name == "combined columns" {
				continue
			}
			format := Format(file)
			if file == "variants" {
				format = Format(c.Library)
			}
			for kind, content := range map[string][]byte{"": []byte(c.Model), "binary ": c.Binary, "dumped ": []byte(c.Dump)} {
				if len(content) > 0 {
					check(kind+file+" "+c.Name, content, format)
				}
			}
		}
	}
}

// What psi does not read is refused with what to do.
func TestReadRefused(t *testing.T) {
	for content, want := range map[string]string{
		"":                    "save the model as",
		"some text":           "save the model as",
		"CBM1\x00\x00":        `format="json"`,
		"binf\x00":            ".ubj",
		"\x80\x04\x95":        "pickle",
		"\x80\x05\x95":        "pickle",
		"[{\"nodeid\": 0}]":   "save_model",
		"{}":                  "it is JSON, but",
		"{\"learner\": 3":     "unexpected end",
		"tree\nversion=v4\n":  "end of trees",
		"{\"learner\": {}}":   "booster",
		"{\"tree_info\": []}": "names",
	} {
		if _, _, err := Read([]byte(content)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v, without %q", content, err, want)
		}
	}
	if _, err := ReadAs("sklearn", nil); err == nil || !strings.Contains(err.Error(), "psi-trees") {
		t.Errorf("the error of an unknown format is %v", err)
	}
}

// The example of openFile is a model, and what does not fit its link is refused.
func TestOpen(t *testing.T) {
	example := `{"format": "psi-trees", "objective": "squared_error", "link": "identity", "slope": 1, "classes": [], "ensemble": {
	  "columns": [{"name": "age", "edges": [30.5, 61], "inclusive": true, "single": true, "labels": null},
	              {"name": "colour", "labels": ["blue", "red"]}],
	  "base": [0.25],
	  "trees": [{"output": 0, "column": [0, -1, -1], "left": [1, 0, 0], "right": [2, 0, 0], "below": [1, 0, 0],
	             "missing": [1, 0, 0], "cover": [100, 60, 40], "value": [0, -1.5, 2], "set": {}}]}}`
	m, format, err := Read([]byte(example))
	if err != nil || format != FormatOpen {
		t.Fatalf("the format is %q: %v", format, err)
	}
	age := &m.Columns[0]
	values := m.NewGame(Cover).Values([]Code{age.Number(30.5), 0, age.Number(30.6), 1, Missing, 2}, nil)
	if want := []float64{-1.25, 2.25, -1.25}; !reflect.DeepEqual(values, want) {
		t.Errorf("the values are %v, not %v", values, want)
	}
	for _, c := range []struct{ old, other, want string }{
		{`"psi-trees"`, `"trees"`, "its format"},
		{`"identity"`, `"probit"`, "does not know the link"},
		{`"identity"`, `"softmax"`, "2 or more"},
		{`"classes": []`, `"classes": ["a", "b"]`, "2 classes, not 0"},
		{`"link": "identity", "slope": 1, "classes": []`, `"link": "logit", "classes": ["a"]`, "1 classes, not 2"},
		{`"link": "identity", "slope": 1, "classes": []`, `"link": "probability", "classes": ["a", "a"]`, "twice"},
		{`"slope": 1`, `"slope": 2`, "only links of scores"},
		{`"slope": 1`, `"slope": -1`, "above 0"},
		{`"base": [0.25]`, `"base": []`, "outputs"},
		{`"left": [1, 0, 0]`, `"left": [0, 0, 0]`, "child"},
		{`"below": [1, 0, 0]`, `"below": [9, 0, 0]`, "below 9"},
	} {
		if _, err := ReadOpen([]byte(strings.Replace(example, c.old, c.other, 1))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, without %q", c.other, err, c.want)
		}
	}
	if _, err := ReadOpen([]byte(strings.Replace(example, `"link": "identity", "slope": 1, "classes": []`, `"link": "logit", "slope": 2, "classes": ["a", "b"]`, 1))); err != nil {
		t.Error(err)
	}
}

// Models of scikit-learn in the open form have its predictions and, by their covers, the contributions of shap.
func TestOpenForm(t *testing.T) {
	for _, c := range libraries(t, "open") {
		t.Run(c.Name, func(t *testing.T) {
			m, err := ReadOpen([]byte(c.Model))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(m.Classes, c.Classes) {
				t.Errorf("the classes are %q, not %q", m.Classes, c.Classes)
			}
			c.compare(t, m, 1e-9)
		})
	}
}

// A file of any format is refused, or is a model whose attributions add up to its values.
func FuzzRead(f *testing.F) {
	for _, file := range []string{"lightgbm", "xgboost", "catboost", "onnx", "variants"} {
		for i, c := range libraries(f, file) {
			if m, _, err := Read([]byte(c.Model)); err == nil && i < 2 {
				f.Add(openOf(f, m))
			}
		}
	}
	fuzz(f, "variants", func(content []byte) (*Model, error) {
		m, _, err := Read(content)
		return m, err
	})
}
