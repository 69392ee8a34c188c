package psi_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/artifact"
	"github.com/psi-shapley/psi/table"
)

// Model files of format 1 give the answers that psi 0.1 gave: every number to 1e-5 of the target's standard deviation. Their model_std was the
// deviation over networks that learned from the same rows, which is no doubt: it is null.
func TestFormat1(t *testing.T) {
	files, err := filepath.Glob("testdata/format1/*.psi")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".psi")
		t.Run(name, func(t *testing.T) {
			m, err := psi.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			target := "number"
			if classes := len(m.Manifest().Scale.Classes); classes > 0 {
				target = map[int]string{2: "two", 7: "seven"}[classes]
			}
			rows, err := table.Read(t.Context(), fmt.Sprintf("testdata/format1/rows-%s.csv", target), m.ReadOptions())
			if err != nil {
				t.Fatal(err)
			}
			e, err := m.Explain(t.Context(), rows.Source(), psi.ExplainOptions{Interactions: m.Head() == "exact"})
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			w := explain.NewJSONWriter(&got)
			if err := w.Write(e); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(strings.TrimSuffix(path, ".psi") + ".json")
			if err != nil {
				t.Fatal(err)
			}
			unit := 1.0
			if target == "number" {
				unit = m.Manifest().Scale.Std
			}
			worst := differences(t, "", decoded(t, want), decoded(t, got.Bytes()), 1e-5*unit)
			t.Logf("off by %.1e of the target's standard deviation", worst/unit)
		})
	}
}

func decoded(t *testing.T, document []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(document, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// differences reports where two JSON documents differ, numbers by more than the tolerance, and returns how far they lie apart at
// most. A document may have fields that the wanted one lacks.
func differences(t *testing.T, at string, want, got any, tolerance float64) (worst float64) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			t.Fatalf("%s: %v, want an object", at, got)
		}
		for key, value := range want {
			if key == "model_std" {
				value = nil
			}
			worst = max(worst, differences(t, at+"."+key, value, object[key], tolerance))
		}
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			t.Fatalf("%s: %v, want a list of %d", at, got, len(want))
		}
		for i, value := range want {
			worst = max(worst, differences(t, fmt.Sprintf("%s[%d]", at, i), value, list[i], tolerance))
		}
	case float64:
		number, ok := got.(float64)
		if worst = math.Abs(want - number); !ok || !(worst <= tolerance) {
			t.Errorf("%s: %v, want %v", at, got, want)
		}
	default:
		if want != got {
			t.Errorf("%s: %v, want %v", at, got, want)
		}
	}
	return worst
}

// A model says what a program must have to read it, and one that needs more is refused by name.
func TestFeaturesThatAreRequired(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.psi")
	if err := trained(t, gappy(t, 100), psi.Config{}).Save(path); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := artifact.Read(content, artifact.Model)
	if err != nil || !slices.Equal(file.Requires, []string{"product", "ranges"}) {
		t.Fatalf("requires %q, %v", file.Requires, err)
	}
	file.Requires = append(file.Requires, "time travel")
	if _, err := artifact.WriteFile(path, file); err != nil {
		t.Fatal(err)
	}
	if _, err = psi.Open(path); !errors.Is(err, psi.ErrNewer) || !strings.Contains(err.Error(), `m.psi: the model requires "time travel", which this program does not have; update psi`) {
		t.Errorf("%v", err)
	}
}

// Labels say nothing of how the classes' variances differ, so each column has one σ in a row. A contrast has √2 of it.
func TestClassesShareSigma(t *testing.T) {
	rng := newRand(t, 21)
	rows := people(t, rng, 300, 4)
	m := trained(t, rows, psi.Config{Change: quick})
	e := explained(t, m, rows, psi.ExplainOptions{To: 40})
	difference := explained(t, m, rows, psi.ExplainOptions{To: 40, Output: e.Outputs[1], Against: e.Outputs[3]})
	players, classes, largest := len(e.Players), len(e.Outputs), 0.0
	for i := range e.Rows {
		for d := range players {
			sigma := e.Std[i*classes*players+d]
			largest = max(largest, sigma)
			for c := range classes {
				if got := e.Std[(i*classes+c)*players+d]; got != sigma {
					t.Fatalf("row %d: σ of %s is %v for one class and %v for another", i, e.Players[d], sigma, got)
				}
			}
			near(t, "σ of a contrast", difference.Std[i*players+d], math.Sqrt2*sigma)
		}
	}
	if largest == 0 {
		t.Error("no column has a spread")
	}
	for task, want := range map[int]bool{2: false, 3: true} {
		path, _ := saved(t, trained(t, people(t, rng, 200, task), psi.Config{Change: quick}))
		if got := slices.Contains(fileOf(t, path).Requires, "shared-sigma"); got != want {
			t.Errorf("%d classes: requires shared-sigma is %v", task, got)
		}
	}
}

// A file whose networks have a σ for each class, as psi wrote them before, gives each class its own.
func TestFilesWithASigmaForEachClass(t *testing.T) {
	rows := people(t, newRand(t, 22), 200, 3)
	m := trained(t, rows, psi.Config{Change: quick})
	path, _ := saved(t, m)
	file := fileOf(t, path)
	tensors, err := artifact.DecodeTensors(file.Parts["weights.safetensors"])
	if err != nil {
		t.Fatal(err)
	}
	for name, tensor := range tensors {
		weight := name[strings.LastIndex(name, "/")+1:]
		if !slices.Contains([]string{"sigma_out", "sigma_out_bias", "noise_scale", "noise_growth"}, weight) {
			continue
		}
		var each []float32
		for _, v := range tensor.Floats {
			switch weight {
			case "noise_scale":
				each = append(each, v, 2*v, 3*v)
			default:
				each = append(each, v, v, v)
			}
		}
		tensor.Floats, tensor.Dims[len(tensor.Dims)-1] = each, 3
		tensors[name] = tensor
	}
	var content map[string]any
	if err := json.Unmarshal(file.Content, &content); err != nil {
		t.Fatal(err)
	}
	delete(content, "shared_sigma")
	file.Requires = slices.DeleteFunc(file.Requires, func(name string) bool { return name == "shared-sigma" })
	if file.Content, err = json.Marshal(content); err != nil {
		t.Fatal(err)
	}
	if file.Parts["weights.safetensors"], err = artifact.EncodeTensors(tensors); err != nil {
		t.Fatal(err)
	}
	older := filepath.Join(t.TempDir(), "older.psi")
	if _, err := artifact.WriteFile(older, file); err != nil {
		t.Fatal(err)
	}
	opened, err := psi.Open(older)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	want, got := explained(t, m, rows, psi.ExplainOptions{To: 20}), explained(t, opened, rows, psi.ExplainOptions{To: 20})
	if !slices.Equal(got.Mean, want.Mean) {
		t.Error("attributions differ")
	}
	for i, sigma := range want.Std {
		class := i / len(want.Players) % 3
		near(t, "σ of a class", got.Std[i], float64(class+1)*sigma)
	}
}

func fileOf(t testing.TB, path string) *artifact.File {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := artifact.Read(content, artifact.Model)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// paired are settings with factors of two columns.
func paired(s *psi.Settings) {
	quick(s)
	s.Channels, s.Pairs, s.PairRank = 48, 3, 2
}

// Models whose factors have two columns are as exact as others, of columns and of groups, whether the groups were there in training or
// join columns that were paired apart.
func TestPairsAreExact(t *testing.T) {
	rows := people(t, newRand(t, 6), 300, 3)
	for name, c := range map[string]struct {
		trained, explained []psi.Group
	}{
		"columns":                {},
		"groups before training": {body(), body()},
		"groups after training":  {nil, body()},
		"no groups any more":     {body(), nil},
	} {
		m := trained(t, rows, psi.Config{Groups: c.trained, Change: paired})
		fast := explained(t, m, rows, psi.ExplainOptions{Groups: c.explained, Interactions: true, To: 20})
		exact := explained(t, m, rows, psi.ExplainOptions{Groups: c.explained, Interactions: true, To: 20, Mode: explain.Exact})
		addUp(t, fast)
		if a, i := apart(fast.Mean, exact.Mean), apart(fast.Interactions, exact.Interactions); !(a < 1e-5 && i < 1e-5) {
			t.Errorf("%s: attributions differ from those of all coalitions by %.1e, interactions by %.1e", name, a, i)
		}
		again := explained(t, reopened(t, m), rows, psi.ExplainOptions{Groups: c.explained, To: 20})
		if !slices.Equal(again.Mean, explained(t, m, rows, psi.ExplainOptions{Groups: c.explained, To: 20}).Mean) {
			t.Errorf("%s: a model that was saved says something else", name)
		}
	}
}

// A program that has no factors of two columns must not read a model that has them.
func TestPairsAreRequired(t *testing.T) {
	m := trained(t, people(t, newRand(t, 6), 100, 2), psi.Config{Change: paired})
	_, content := saved(t, m)
	file, err := artifact.Read(content, artifact.Model)
	if err != nil || !slices.Equal(file.Requires, []string{"pairs", "scale"}) {
		t.Errorf("requires %q, %v", file.Requires, err)
	}
}
