package psi

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/psi-shapley/psi/internal/artifact"
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/table"
)

// smallest is a model that takes a moment to train, as its file holds it.
func smallest(t testing.TB) *artifact.File {
	t.Helper()
	x, y, label := make([]float64, 60), make([]float64, 60), make([]string, 60)
	for i := range x {
		x[i], y[i], label[i] = float64(i%7), float64(i%5), string(rune('a'+i%3))
	}
	rows, err := table.New(table.NumberColumn("x", x, nil), table.CategoryColumn("c", label, nil), table.NumberColumn("y", y, nil))
	if err != nil {
		t.Fatal(err)
	}
	m, err := Train(context.Background(), rows.Source(), Config{Target: "y", Backend: "go", Change: func(s *Settings) {
		s.Channels, s.Embedding, s.Bins, s.SigmaWidth, s.HiddenWidth, s.Hidden = 2, 2, 3, 2, 2, 0
		s.Batch, s.Steps, s.RefitSteps, s.SpreadSteps = 8, 2, 1, 1
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	path := t.TempDir() + "/m.psi"
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	file, _, err := artifact.ReadFile(path, artifact.Model)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// Whatever a file with right digests holds, it is refused or it is a model that can be
// saved; it never panics.
func FuzzModel(f *testing.F) {
	file := smallest(f)
	rows, err := artifact.EncodeTensors(referenceTensors(encode.NewTimedBatch(2, 1, 0, 1)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(file.Content), file.Parts[weightsPart], file.Parts[auditPart], rows)
	f.Add([]byte(`{}`), []byte{}, []byte(`null`), []byte{})
	f.Add([]byte(`{"task":"regression","target":"y","settings":{"members":64}}`), []byte{8, 0, 0, 0, 0, 0, 0, 0, '{', '}'}, []byte(`[]`), rows)
	f.Fuzz(func(t *testing.T, content, weights, audit, rows []byte) {
		if !json.Valid(content) {
			return
		}
		parts := map[string][]byte{weightsPart: weights, auditPart: audit, referencePart: rows}
		if len(rows) == 0 {
			delete(parts, referencePart)
		}
		m, err := decode(&artifact.File{Kind: artifact.Model, Content: content, Parts: parts})
		if err != nil {
			return
		}
		if len(m.members) != m.manifest.Settings.Members || m.manifest.checkColumns() != nil {
			t.Error("a model that contradicts itself was accepted")
		}
	})
}

// Each of these changes to a model's manifest must be refused.
func TestManifestsThatMakeNoSense(t *testing.T) {
	file := smallest(t)
	if _, err := decode(file); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(m map[string]any){
		"unknown key":         func(m map[string]any) { m["extra"] = 1 },
		"unknown task":        func(m map[string]any) { m["task"] = "ranking" },
		"no target":           func(m map[string]any) { m["target"] = "" },
		"no encoder":          func(m map[string]any) { m["encoder"] = nil },
		"no columns":          func(m map[string]any) { m["columns"] = nil },
		"zero scale":          func(m map[string]any) { m["scale"].(map[string]any)["std"] = 0 },
		"no nodes":            func(m map[string]any) { m["nodes"] = []int{} },
		"negative nodes":      func(m map[string]any) { m["nodes"] = []int{-1} },
		"many nodes":          func(m map[string]any) { m["nodes"] = []int{1 << 30} },
		"more members":        func(m map[string]any) { m["settings"].(map[string]any)["members"] = 2 },
		"other bins":          func(m map[string]any) { m["settings"].(map[string]any)["bins"] = 4 },
		"huge channels":       func(m map[string]any) { m["settings"].(map[string]any)["channels"] = 1 << 40 },
		"other channels":      func(m map[string]any) { m["settings"].(map[string]any)["channels"] = 3 },
		"negative embedding":  func(m map[string]any) { m["settings"].(map[string]any)["embedding"] = -2 },
		"other head":          func(m map[string]any) { m["settings"].(map[string]any)["head"] = "learned" },
		"unknown head":        func(m map[string]any) { m["settings"].(map[string]any)["head"] = "other" },
		"edges out of order":  func(m map[string]any) { playerAt(m, 0)["edges"] = []float64{3, 1} },
		"levels out of order": func(m map[string]any) { playerAt(m, 1)["levels"] = []string{"b", "a"} },
		"more levels":         func(m map[string]any) { playerAt(m, 1)["levels"] = []string{"a", "b", "c", "d"} },
		"another column":      func(m map[string]any) { playerAt(m, 0)["name"] = "z" },
	} {
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

func playerAt(m map[string]any, i int) map[string]any {
	return m["encoder"].(map[string]any)["players"].([]any)[i].(map[string]any)
}
