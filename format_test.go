package psi_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/artifact"
)

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
