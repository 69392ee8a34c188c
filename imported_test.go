package psi

import (
	"encoding/json"
	"math"
	"path/filepath"
	"testing"

	"github.com/psi-shapley/psi/internal/artifact"
	"github.com/psi-shapley/psi/internal/trees/treestest"
)

// importedFile is a model of trees, as its file holds it.
func importedFile(t testing.TB) *artifact.File {
	t.Helper()
	file, err := treestest.Find(".", "xgboost", "number with labels")
	if err != nil {
		t.Fatal(err)
	}
	trees, err := ReadTrees([]byte(file.Model), "xgboost")
	if err != nil {
		t.Fatal(err)
	}
	m, err := trees.Import(t.Context(), ImportOptions{Target: "y"})
	if err != nil {
		t.Fatal(err)
	}
	return fileOf(t, m)
}

func fileOf(t testing.TB, m *Model) *artifact.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.psi")
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	file, _, err := artifact.ReadFile(path, artifact.Model)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// in returns a part of a manifest.
func in(m map[string]any, keys ...string) map[string]any {
	for _, key := range keys {
		m = m[key].(map[string]any)
	}
	return m
}

// refuses checks that each change to a manifest is refused.
func refuses(t *testing.T, file *artifact.File, changes map[string]func(m map[string]any)) {
	t.Helper()
	if _, err := decode(file); err != nil {
		t.Fatal(err)
	}
	for name, change := range changes {
		var m map[string]any
		if err := json.Unmarshal(file.Content, &m); err != nil {
			t.Fatal(err)
		}
		change(m)
		content, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decode(&artifact.File{Kind: file.Kind, Content: content, Parts: file.Parts}); err == nil {
			t.Errorf("%s: the model was accepted", name)
		}
	}
}

func TestImportedManifestsThatMakeNoSense(t *testing.T) {
	file := importedFile(t)
	refuses(t, file, map[string]func(m map[string]any){
		"another game":         func(m map[string]any) { in(m, "imported")["game"] = "baseline" },
		"more nodes":           func(m map[string]any) { in(m, "imported")["nodes"] = 1 << 20 },
		"fewer trees":          func(m map[string]any) { in(m, "imported")["trees"] = 1 },
		"another depth":        func(m map[string]any) { in(m, "imported")["depth"] = 40 },
		"no unit":              func(m map[string]any) { in(m, "imported")["unit"] = 0 },
		"two bases":            func(m map[string]any) { in(m, "imported")["base"] = []float64{1, 2} },
		"another head":         func(m map[string]any) { in(m, "settings")["head"] = "exact" },
		"settings of training": func(m map[string]any) { in(m, "settings")["channels"] = 8 },
		"not imported":         func(m map[string]any) { delete(m, "imported") },
		"no labels":            func(m map[string]any) { playerAt(m, 5)["levels"] = []string{} },
		"a column less": func(m map[string]any) {
			in(m, "encoder")["players"] = in(m, "encoder")["players"].([]any)[1:]
			m["columns"] = m["columns"].([]any)[1:]
		},
	})
	delete(file.Parts, treesPart)
	if _, err := decode(file); err == nil {
		t.Error("a model without trees was accepted")
	}
}

func TestMixturesThatMakeNoSense(t *testing.T) {
	file := importedFile(t)
	var members []*Model
	for range 2 {
		m, err := decode(file)
		if err != nil {
			t.Fatal(err)
		}
		members = append(members, m)
	}
	mixture := &Model{mixed: members, manifest: members[0].mixtureManifest()}
	mixture.config = mixture.manifest.network()
	mixture.setShares([]float64{1, 3})
	mixture.manifest.Calibration = Calibration{Temperature: 1}
	if err := mixture.prepare(Native); err != nil {
		t.Fatal(err)
	}
	if got := mixture.manifest.Mixture.Shares; math.Abs(got[0]-.25) > 1e-12 || math.Abs(got[1]-.75) > 1e-12 {
		t.Errorf("shares %v", got)
	}
	member := func(m map[string]any, k int) map[string]any {
		return in(m, "mixture")["members"].([]any)[k].(map[string]any)
	}
	refuses(t, fileOf(t, mixture), map[string]func(m map[string]any){
		"one member":       func(m map[string]any) { in(m, "mixture")["members"] = in(m, "mixture")["members"].([]any)[1:] },
		"a negative share": func(m map[string]any) { in(m, "mixture")["shares"] = []float64{-1, 2} },
		"one factor":       func(m map[string]any) { in(m, "mixture")["factors"] = []float64{1} },
		"not a mixture":    func(m map[string]any) { delete(m, "mixture") },
		"another target":   func(m map[string]any) { member(m, 1)["target"] = "z" },
		"another task":     func(m map[string]any) { member(m, 1)["task"] = "binary" },
		"a mixed mixture":  func(m map[string]any) { member(m, 0)["mixture"] = map[string]any{} },
		"another game":     func(m map[string]any) { in(member(m, 1), "imported")["game"] = "missing-branch" },
		"fewer trees":      func(m map[string]any) { in(member(m, 1), "imported")["trees"] = 1 },
		"another column": func(m map[string]any) {
			playerAt(member(m, 1), 0)["name"] = "q"
			member(m, 1)["columns"].([]any)[0].(map[string]any)["name"] = "q"
		},
	})
}
