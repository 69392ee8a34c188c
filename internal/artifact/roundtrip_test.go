package artifact

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRoundTrip(t *testing.T) {
	rng := newRand(t)
	for range 50 {
		f := &File{Kind: Model, Content: json.RawMessage(fmt.Sprintf(`{"seed":%d,"name":"<é>"}`, rng.Uint64())), Parts: map[string][]byte{}}
		for range rng.IntN(6) {
			name := fmt.Sprintf("part_%d", rng.IntN(100)) + []string{".json", ".safetensors", ".csv", ""}[rng.IntN(4)]
			part := make([]byte, rng.IntN(1<<rng.IntN(18)))
			for i := range part {
				part[i] = byte(rng.IntN(1 + rng.IntN(256)))
			}
			f.Parts[name] = part
		}
		got, err := read(written(t, f))
		if err != nil {
			t.Fatal(err)
		}
		if !same(f, got) {
			t.Fatal("what was read is not what was written")
		}
	}
}

func TestWriteIsDeterministic(t *testing.T) {
	first := written(t, sample(t))
	for range 20 { // maps are walked in another order each time
		if !bytes.Equal(first, written(t, sample(t))) {
			t.Fatal("one content gave two files")
		}
	}
	archive, err := zip.NewReader(bytes.NewReader(first), int64(len(first)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range archive.File {
		names = append(names, entry.Name)
		if want := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC); !entry.Modified.Equal(want) {
			t.Errorf("%s is of %v", entry.Name, entry.Modified)
		}
		if packed := entry.Method == zip.Deflate; packed != isText(entry.Name) {
			t.Errorf("%s: method %d", entry.Name, entry.Method)
		}
	}
	if !slices.IsSorted(names) || len(names) != 5 {
		t.Errorf("entries %v", names)
	}
}

func TestManifest(t *testing.T) {
	f := &File{Kind: Checkpoint, Requires: []string{"soup"}, Content: json.RawMessage(" {\n\"a\" : \"<\" }"), Parts: map[string][]byte{"x.txt": []byte("hello\n")}}
	got, err := encodeManifest(f)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"kind":"psi.checkpoint","format":2,"requires":["soup"],"content":{"a":"<"},"parts":{"x.txt":{"size":6,"sha256":"5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"}}}` + "\n"
	if string(got) != want {
		t.Errorf("got  %swant %s", got, want)
	}
}

// What Read would refuse is not written.
func TestWriteRefuses(t *testing.T) {
	content := json.RawMessage("{}")
	parts := func(names ...string) map[string][]byte {
		m := map[string][]byte{}
		for _, name := range names {
			m[name] = nil
		}
		return m
	}
	shared := make([]byte, 64<<20)
	many, huge, texts := map[string][]byte{}, map[string][]byte{}, map[string][]byte{}
	for i := range MaxParts + 1 {
		many[fmt.Sprint(i)] = nil
	}
	for i := range MaxParts {
		huge[fmt.Sprint(i)] = shared
	}
	for i := range 4 {
		texts[fmt.Sprint(i, ".csv")] = shared
	}
	for _, c := range []struct {
		want string
		is   error
		file File
	}{
		{`a file of kind "model" cannot be written`, ErrKind, File{Kind: "model", Content: content}},
		{`the content of the manifest is not a JSON object`, nil, File{Kind: Model}},
		{`the content of the manifest is not a JSON object`, nil, File{Kind: Model, Content: json.RawMessage("[1]")}},
		{`the content of the manifest is not a JSON object`, nil, File{Kind: Model, Content: json.RawMessage(`{"a":}`)}},
		{`the content of the manifest is not a JSON object`, nil, File{Kind: Model, Content: json.RawMessage("{\"a\":\"\xff\"}")}},
		{
			`the content of the manifest is nested too deeply`, nil,
			File{Kind: Model, Content: json.RawMessage(strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000))},
		},
		{`a part has no name`, nil, File{Kind: Model, Content: content, Parts: parts("")}},
		{`no part may be named manifest.json`, nil, File{Kind: Model, Content: content, Parts: parts("manifest.json")}},
		{`part "../x" is not named by letters, digits, dots, dashes and underscores`, nil, File{Kind: Model, Content: content, Parts: parts("../x")}},
		{`part "a/b" is not named by letters, digits, dots, dashes and underscores`, nil, File{Kind: Model, Content: content, Parts: parts("a/b", "c")}},
		{`the name of part "` + strings.Repeat("n", 39) + `…" has 129 bytes, more than 128`, nil, File{Kind: Model, Content: content, Parts: parts(strings.Repeat("n", 129))}},
		{`there are 65 parts, more than 64`, ErrTooLarge, File{Kind: Model, Content: content, Parts: many}},
		{`the parts have 4294967296 bytes; a file can have 4294967295`, ErrTooLarge, File{Kind: Model, Content: content, Parts: huge}},
		{`the text parts have 268435456 bytes, more than 201326592`, ErrTooLarge, File{Kind: Model, Content: content, Parts: texts}},
		{`the content of the manifest has 67043329 bytes, more than 67043328`, ErrTooLarge, File{Kind: Model, Content: make([]byte, 67043329)}},
	} {
		var out bytes.Buffer
		err := Write(&out, &c.file)
		if err == nil || err.Error() != c.want || out.Len() > 0 || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

type failingWriter struct{ left int }

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errors.New("no space")
	}
	return len(p), nil
}

func TestWriteReportsItsWriter(t *testing.T) {
	for left := 0; left < len(written(t, sample(t))); left += 31 {
		if err := Write(&failingWriter{left}, sample(t)); err == nil || err.Error() != "writing failed: no space" {
			t.Fatalf("%d bytes: %v", left, err)
		}
	}
}

// What a file may hold grows with its weights: the same for writing and reading.
func TestBudgetsGrowWithTheFile(t *testing.T) {
	labels := json.RawMessage(`{"levels":["` + strings.Repeat(`0123456789","`, 400_000) + `"]}`)
	small := &File{Kind: Model, Content: labels, Parts: map[string][]byte{"weights.safetensors": nil}}
	var out bytes.Buffer
	if err := Write(&out, small); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "drop columns that identify rows") {
		t.Errorf("got %v", err)
	}
	if err := CheckContent(labels, 0); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	large := &File{Kind: Model, Content: labels, Parts: map[string][]byte{"weights.safetensors": make([]byte, 4*400_000)}}
	if _, err := read(written(t, large)); err != nil {
		t.Error(err)
	}
	if err := CheckContent(labels, 4*400_000); err != nil {
		t.Error(err)
	}
}
