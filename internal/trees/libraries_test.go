package trees

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/internal/kernel/vector"
)

// library is a model that testdata/make.py trained, with rows and what the library says of them.
type library struct {
	Name          string        `json:"name"`
	Model         string        `json:"model"`
	Columns       []string      `json:"columns"`
	Rows          [][]any       `json:"rows"`
	Raw           [][]float64   `json:"raw"`
	Contributions [][][]float64 `json:"contributions"` // row, output, columns and the base
	Binary        []byte        `json:"binary"`        // the model as UBJSON, of XGBoost, or ONNX
	Training      [][]any       `json:"training"`
	Predictions   [][]float64   `json:"predictions"`
	Classes       []string      `json:"classes"`
	Library       string        `json:"library"` // of variants
	Dump          string        `json:"dump"`    // the model as LightGBM's dump_model
	Refused       string        `json:"refused"` // what the error says
}

func libraries(t testing.TB, name string) (list []library) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// codes of the rows of a library's case.
func (l *library) codes(m *Model) []Code {
	var codes []Code
	for _, row := range l.Rows {
		for d, cell := range row {
			c := &m.Columns[d]
			switch x := cell.(type) {
			case nil:
				codes = append(codes, Missing)
			case float64:
				codes = append(codes, c.Number(x))
			case string:
				at := slices.Index(c.Labels, x)
				if at < 0 {
					at = len(c.Labels)
				}
				codes = append(codes, Code(at))
			}
		}
	}
	return codes
}

// Values and attributions are those of the libraries. LightGBM and CatBoost compute in 64 bits, XGBoost in 32.
func TestLibraries(t *testing.T) {
	for _, l := range []struct {
		name      string
		read      func([]byte) (*Model, error)
		tolerance float64
	}{{"lightgbm", ReadLightGBM, 1e-9}, {"xgboost", ReadXGBoost, 2e-5}, {"catboost", ReadCatBoost, 1e-9}} {
		for _, c := range libraries(t, l.name) {
			if c.Contributions == nil {
				continue
			}
			t.Run(l.name+"/"+c.Name, func(t *testing.T) {
				m, err := l.read([]byte(c.Model))
				if err != nil {
					t.Fatal(err)
				}
				c.compare(t, m, l.tolerance)
			})
		}
	}
}

// compare refuses values, predictions and attributions that are not the library's.
func (l *library) compare(t *testing.T, m *Model, tolerance float64) {
	t.Helper()
	g := m.NewGame(Cover)
	codes := l.codes(m)
	values, phi := g.Values(codes, nil), g.Attributions(vector.Available()[0], codes, nil)
	outputs, columns := len(m.Base), len(m.Columns)
	gap, size, off := 0.0, 1e-300, 0.0
	for i := range l.Rows {
		for o := range outputs {
			off = max(off, math.Abs(values[i*outputs+o]-l.Raw[i][o]))
			if l.Contributions == nil {
				continue
			}
			for d, want := range l.Contributions[i][o] {
				got := g.Empty()[o]
				if d < columns {
					got = phi[(i*outputs+o)*columns+d]
				}
				gap += (got - want) * (got - want)
				size += want * want
			}
		}
		if l.Predictions == nil {
			continue
		}
		got := predictions(m, values[i*outputs:][:outputs])
		got = got[len(got)-len(l.Predictions[i]):] // of two classes, the second
		for k, want := range l.Predictions[i] {
			off = max(off, math.Abs(got[k]-want)/max(1, math.Abs(want)))
		}
	}
	relative := math.Sqrt(gap / size)
	t.Logf("%d trees, link %s: values off by %.1e, attributions by %.1e of their size", len(m.Trees), m.Link, off, relative)
	if !(off <= tolerance) || !(relative <= tolerance) {
		t.Errorf("values are off by %.1e, attributions by %.1e of their size", off, relative)
	}
}

// Options that change how files are read: the model has the library's values, or the error says what to do. LightGBM's dump is the model of
// its text.
func TestVariants(t *testing.T) {
	for _, c := range libraries(t, "variants") {
		t.Run(c.Library+"/"+c.Name, func(t *testing.T) {
			read, tolerance := ReadLightGBM, 1e-9
			if c.Library == "xgboost" {
				read, tolerance = ReadXGBoost, 2e-5
			}
			m, err := read([]byte(c.Model))
			switch {
			case c.Refused != "" && (err == nil || !strings.Contains(err.Error(), c.Refused)):
				t.Errorf("the error is %v, without %q", err, c.Refused)
			case c.Refused == "" && err != nil:
				t.Fatal(err)
			case c.Refused == "":
				c.compare(t, m, tolerance)
			}
			if c.Dump == "" {
				return
			}
			dumped, err := read([]byte(c.Dump))
			switch {
			case c.Refused != "" && (err == nil || !strings.Contains(err.Error(), c.Refused)):
				t.Errorf("the dump's error is %v, without %q", err, c.Refused)
			case c.Refused == "" && err != nil:
				t.Error(err)
			case !reflect.DeepEqual(dumped, m):
				t.Error("the dump is another model than the text")
			}
		})
	}
}

// The binary form of a model is the same model as its text.
func TestUBJSON(t *testing.T) {
	for _, c := range libraries(t, "xgboost") {
		want, err := ReadXGBoost([]byte(c.Model))
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadXGBoost(c.Binary)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the model of the binary file is another", c.Name)
		}
		for n := range min(len(c.Binary), 300) { // each beginning is refused
			if m, err := ReadXGBoost(c.Binary[:n]); err == nil {
				t.Fatalf("%s: the first %d bytes are a model of %d trees", c.Name, n, len(m.Trees))
			}
		}
	}
}
