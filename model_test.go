package psi

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/psi-shapley/psi/internal/artifact"
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/table"
)

// A model's digest is of the bytes that it saved, whatever has become of the file since.
func TestDigestIsOfWhatWasSaved(t *testing.T) {
	m, err := Open(made{players: numberPlayers(2), change: func(s *Settings) { s.Embedding, s.Channels, s.Bins = 2, 2, 2 }}.save(t))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	want := m.Digest()
	directory := t.TempDir()
	path := filepath.Join(directory, "m.psi")
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if sum := fmt.Sprintf("sha256:%x", sha256.Sum256(content)); sum != want || m.Digest() != want {
		t.Fatalf("saved %s, of the file %s, opened as %s", m.Digest(), sum, want)
	}
	stop := make(chan struct{})
	var replacing sync.WaitGroup
	replacing.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			other := filepath.Join(directory, "other")
			if err := os.WriteFile(other, []byte("another program's"), 0o600); err != nil {
				t.Error(err)
			}
			if err := os.Rename(other, path); err != nil {
				t.Error(err)
			}
		}
	})
	for range 100 {
		if err := m.Save(path); err != nil || m.Digest() != want {
			t.Errorf("the digest is %q after a file was replaced: %v", m.Digest(), err)
			break
		}
	}
	close(stop)
	replacing.Wait()
	if err := m.Save(filepath.Join(directory, "none", "m.psi")); err == nil || m.Digest() != want {
		t.Errorf("the digest is %q after a save that failed with %v", m.Digest(), err)
	}
}

// made is a model that was not trained.
type made struct {
	players []encode.Player
	target  encode.Target
	change  func(*Settings)
	weights func(w map[string][]float32) // changes the first ones
}

// save writes the model to a file.
func (c made) save(t testing.TB) string {
	t.Helper()
	if c.target.Task == "" {
		c.target = encode.Target{Task: Regression, Std: 1}
	}
	s := DefaultSettings(string(form.Exact), Size{Rows: 20_000, Columns: len(c.players), Classes: c.target.Task != Regression})
	s.Bags = 0 // its weights are made, not trained
	if c.change != nil {
		c.change(&s)
	}
	for i := range c.players {
		if p := &c.players[i]; p.Numeric() {
			p.Scale = 1
			for k := range s.Bins + 1 {
				p.Edges = append(p.Edges, float64(k)/7)
			}
		}
	}
	m := &Model{manifest: Manifest{
		Task: c.target.Task, Target: "y", Scale: c.target, Encoder: &encode.Encoder{Players: c.players, Bins: s.Bins}, Settings: s,
		Calibration: Calibration{Temperature: 1, Noise: 1},
	}}
	for _, p := range c.players {
		m.manifest.Columns = append(m.manifest.Columns, table.Field{Name: p.Name, Kind: p.Kind})
	}
	m.config = m.manifest.network()
	for i := range s.Members {
		member := form.Member{Nodes: min(8, form.MaxNodes(len(c.players))), Weights: m.config.Start(uint64(i))}
		if c.weights != nil {
			c.weights(member.Weights)
		}
		m.manifest.Nodes = append(m.manifest.Nodes, member.Nodes)
		m.members = append(m.members, member)
	}
	path := filepath.Join(t.TempDir(), "m.psi")
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	return path
}

func numberPlayers(n int) []encode.Player {
	players := make([]encode.Player, n)
	for i := range players {
		players[i] = encode.Player{Name: fmt.Sprint("x", i), Kind: table.Number}
	}
	return players
}

func categoryPlayer(name string, levels int) encode.Player {
	p := encode.Player{Name: name, Kind: table.Category}
	for k := range levels {
		p.Levels = append(p.Levels, fmt.Sprintf("label %07d", k))
	}
	return p
}

func manyClasses(n int) encode.Target {
	target := encode.Target{Task: Multiclass, Kind: table.Category, Base: make([]float64, n)}
	for k := range n {
		target.Classes = append(target.Classes, fmt.Sprintf("class %03d", k))
	}
	return target
}

// Large models stay within the budgets of files, and open in seconds although every column's values are looked at.
func TestLargeModelsOpen(t *testing.T) {
	for name, c := range map[string]made{
		"1,000 columns":            {players: numberPlayers(1000)},
		"a category of 10⁵ labels": {players: append(numberPlayers(3), categoryPlayer("c", 100_000))},
		"a category of 10⁶ labels and few weights": {
			players: []encode.Player{categoryPlayer("c", 1_000_000)}, change: func(s *Settings) { s.Embedding, s.Channels = 1, 1 },
		},
		"100 classes": {players: numberPlayers(200), target: manyClasses(100)},
		"64 members":  {players: numberPlayers(20), change: func(s *Settings) { s.Members, s.Channels = 64, 16 }},
	} {
		path := c.save(t)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		rose := peak(t, func() {
			m, err := Open(path)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			m.Close()
		})
		took := time.Since(start)
		t.Logf("%s: %d kB opened in %v and %d MiB", name, info.Size()>>10, took, rose>>20)
		if most := 64<<20 + 16*info.Size(); took > 20*time.Second || rose > most {
			t.Errorf("%s: %d bytes opened in %v and %d MiB", name, info.Size(), took, rose>>20)
		}
	}
}

// peak is by how much the memory of the process rose, at most, while f ran.
func peak(t *testing.T, f func()) int64 {
	t.Helper()
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o200); err != nil { // the peak is what there is now
		t.Skip("the system does not tell the peak of a process's memory:", err)
	}
	before := resident(t, "VmRSS:")
	f()
	return resident(t, "VmHWM:") - before
}

func resident(t *testing.T, field string) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, is := strings.CutPrefix(line, field); is {
			kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kilobytes << 10
		}
	}
	t.Skip("no " + field)
	return 0
}

// packModel writes a model file whose parts have right digests, whatever limits it breaks. What stands for "@@" in the
// manifest's content is a list of n fillers.
func packModel(t *testing.T, path string, content []byte, parts map[string][]byte, filler string, n int) {
	t.Helper()
	type part struct {
		Size   int    `json:"size"`
		SHA256 string `json:"sha256"`
	}
	list := map[string]part{}
	for name, content := range parts {
		sum := sha256.Sum256(content)
		list[name] = part{len(content), hex.EncodeToString(sum[:])}
	}
	manifest, err := json.Marshal(map[string]any{"kind": "psi.model", "format": 2, "requires": []string{}, "content": json.RawMessage(content), "parts": list})
	if err != nil {
		t.Fatal(err)
	}
	if filler != "" {
		manifest = bytes.Replace(manifest, []byte(`"@@"`), []byte("["+strings.Repeat(filler+",", n-1)+filler+"]"), 1)
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(file)
	all := maps.Clone(parts)
	all["manifest.json"] = manifest
	for _, name := range slices.Sorted(maps.Keys(all)) {
		header := &zip.FileHeader{Name: name, Method: zip.Deflate}
		if strings.HasSuffix(name, ".safetensors") {
			header.Method = zip.Store
		}
		entry, err := w.CreateHeader(header)
		if err == nil {
			_, err = entry.Write(all[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// changed is a model's content with one field replaced; path is its keys from the top.
func changed(t *testing.T, content []byte, value any, path ...string) []byte {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(content, &m); err != nil {
		t.Fatal(err)
	}
	at := m
	for _, key := range path[:len(path)-1] {
		at = at[key].(map[string]any)
	}
	at[path[len(path)-1]] = value
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Whatever a file claims or unfolds into, it is refused in little memory.
func TestHostileModelsTakeLittleMemory(t *testing.T) {
	file := smallest(t)
	text := func(name string, body []byte) map[string][]byte {
		parts := maps.Clone(file.Parts)
		parts[name] = body
		return parts
	}
	repeated := func(head, filler, tail string, n int) []byte {
		return []byte(head + strings.Repeat(filler+",", n-1) + filler + tail)
	}
	for _, c := range []struct {
		name    string
		content []byte
		parts   map[string][]byte
		filler  string
		n       int
	}{
		{"columns", changed(t, file.Content, "@@", "columns"), file.Parts, `{}`, 20 << 20},
		{"columns that decoding sees", changed(t, file.Content, "@@", "columns"), file.Parts, `{}`, 60_000},
		{"groups", changed(t, file.Content, "@@", "groups"), file.Parts, `{}`, 20 << 20},
		{"groups that decoding sees", changed(t, file.Content, "@@", "groups"), file.Parts, `{"name":"g","columns":[""]}`, 32_000},
		{"missing words", changed(t, file.Content, "@@", "missing"), file.Parts, `""`, 20 << 20},
		{"missing words that decoding sees", changed(t, file.Content, "@@", "missing"), file.Parts, `""`, 330_000},
		{"nodes", changed(t, file.Content, "@@", "nodes"), file.Parts, `1`, 30 << 20},
		{"nodes that decoding sees", changed(t, file.Content, "@@", "nodes"), file.Parts, `1`, 1_000_000},
		{"players", changed(t, file.Content, "@@", "encoder", "players"), file.Parts, `{}`, 2_000_000},
		{"players that decoding sees", changed(t, file.Content, "@@", "encoder", "players"), file.Parts, `{}`, 60_000},
		{"classes that decoding sees", changed(t, file.Content, "@@", "scale", "classes"), file.Parts, `"a"`, 320_000},
		{"audit", file.Content, text(auditPart, repeated(`{"players":[`, "{}", "]}", 20<<20)), "", 0},
		{"audit that decoding sees", file.Content, text(auditPart, repeated(`{"players":[`, "{}", `],"rows":""}`, 60_000)), "", 0},
		{"importance that decoding sees", file.Content, text(auditPart, repeated(`{"outputs":[{"importance":[`, "0", `]}],"rows":""}`, 1_000_000)), "", 0},
		{"history", file.Content, text(historyPart, bytes.Repeat([]byte("0,"), 80<<20)), "", 0},
		{"tensors", file.Content, text(weightsPart, manyTensors(60_000)), "", 0},
		{"tensors that decoding sees", file.Content, text(weightsPart, manyTensors(16_000)), "", 0},
	} {
		path := filepath.Join(t.TempDir(), "m.psi")
		packModel(t, path, c.content, c.parts, c.filler, c.n)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		rose := peak(t, func() {
			m, err := Open(path)
			if err == nil {
				m.Close()
				t.Errorf("%s: the model was accepted", c.name)
				return
			}
			t.Logf("%s: %.120s", c.name, err)
		})
		t.Logf("%s: a file of %d kB took %d MiB", c.name, info.Size()>>10, rose>>20)
		if most := 64<<20 + 16*info.Size(); rose > most {
			t.Errorf("%s: a file of %d bytes took %d MiB", c.name, info.Size(), rose>>20)
		}
	}
}

// manyTensors is a header of that many tensors without a number.
func manyTensors(n int) []byte {
	var header strings.Builder
	header.WriteByte('{')
	for i := range n {
		if i > 0 {
			header.WriteByte(',')
		}
		fmt.Fprintf(&header, `"%d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}`, i)
	}
	header.WriteByte('}')
	length := header.Len()
	out := make([]byte, 8, 8+length)
	for i := range 8 {
		out[i] = byte(length >> (8 * i))
	}
	return append(out, header.String()...)
}

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
	trees := importedFile(f)
	f.Add([]byte(trees.Content), trees.Parts[treesPart], trees.Parts[auditPart], []byte{})
	f.Add([]byte(`{}`), []byte{}, []byte(`null`), []byte{})
	f.Add([]byte(`{"task":"regression","target":"y","settings":{"members":64}}`), []byte{8, 0, 0, 0, 0, 0, 0, 0, '{', '}'}, []byte(`[]`), rows)
	f.Fuzz(func(t *testing.T, content, weights, audit, rows []byte) {
		if !json.Valid(content) {
			return
		}
		parts := map[string][]byte{weightsPart: weights, treesPart: weights, memberPart(0, weightsPart): weights, memberPart(1, treesPart): weights, auditPart: audit, referencePart: rows}
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
	refuses(t, smallest(t), map[string]func(m map[string]any){
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
	})
}

func playerAt(m map[string]any, i int) map[string]any {
	return m["encoder"].(map[string]any)["players"].([]any)[i].(map[string]any)
}
