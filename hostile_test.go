package psi

import (
	"archive/zip"
	"bytes"
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
	"testing"
)

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
