package trees

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
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
	Binary        []byte        `json:"binary"`        // the model as UBJSON, of XGBoost
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

// Values and attributions are those of the libraries. LightGBM computes in 64 bits, XGBoost in 32.
func TestLibraries(t *testing.T) {
	for _, l := range []struct {
		name      string
		read      func([]byte) (*Model, error)
		tolerance float64
	}{{"lightgbm", ReadLightGBM, 1e-9}, {"xgboost", ReadXGBoost, 2e-5}} {
		for _, c := range libraries(t, l.name) {
			t.Run(l.name+"/"+c.Name, func(t *testing.T) {
				m, err := l.read([]byte(c.Model))
				if err != nil {
					t.Fatal(err)
				}
				g := m.NewGame(Cover)
				codes := c.codes(m)
				values, phi := g.Values(codes, nil), g.Attributions(vector.Available()[0], codes, nil)
				outputs, columns := len(m.Base), len(m.Columns)
				var gap, size, off float64
				for i := range c.Rows {
					for o := range outputs {
						off = max(off, math.Abs(values[i*outputs+o]-c.Raw[i][o]))
						for d, want := range c.Contributions[i][o] {
							got := g.Empty()[o]
							if d < columns {
								got = phi[(i*outputs+o)*columns+d]
							}
							gap += (got - want) * (got - want)
							size += want * want
						}
					}
				}
				relative := math.Sqrt(gap / size)
				t.Logf("%d trees, link %s: values off by %.1e, attributions by %.1e of their size", len(m.Trees), m.Link, off, relative)
				if !(off <= l.tolerance) || !(relative <= l.tolerance) {
					t.Errorf("values are off by %.1e, attributions by %.1e of their size", off, relative)
				}
			})
		}
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
