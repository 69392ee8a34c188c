package artifact

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/psi-shapley/psi/table"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests; 0 draws one")

// newRand returns a generator whose seed is drawn anew in each run, for tests that
// hold for every seed.
func newRand(t testing.TB) *rand.Rand {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// sample is a small model. One of its parts is a whole model itself, which no damage
// may bring to light.
func sample(t testing.TB) *File {
	t.Helper()
	weights, err := EncodeTensors(map[string]Tensor{
		"w": {Dims: []int{2, 2}, Floats: []float32{1, 2, 3, 4}},
		"n": {Ints: []int64{7}},
	})
	if err != nil {
		t.Fatal(err)
	}
	inner := &File{Kind: Model, Content: json.RawMessage(`{"inner":true}`)}
	return &File{
		Kind:    Model,
		Content: json.RawMessage(`{"target":"charges","note":"a<b & c"}`),
		Parts: map[string][]byte{
			"weights.safetensors": weights,
			"history.csv":         []byte("step,error\n1,0.5\n2,0.25\n3,0.125\n"),
			"empty.json":          {},
			"zip.bin":             written(t, inner),
		},
	}
}

func written(t testing.TB, f *File) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, f); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func read(content []byte) (*File, error) {
	return Read(content, Model)
}

func same(a, b *File) bool {
	return a.Kind == b.Kind && bytes.Equal(a.Content, b.Content) && maps.EqualFunc(a.Parts, b.Parts, bytes.Equal)
}

// readDamaged reads content that may be anything. It may fail, with a *table.Error of a
// known sort, but not panic.
func readDamaged(t testing.TB, content []byte) (*File, error) {
	t.Helper()
	f, err := read(content)
	if err == nil {
		return f, nil
	}
	if _, is := errors.AsType[*table.Error](err); !is || f != nil {
		t.Fatalf("not a *table.Error alone: %v, %v", f, err)
	}
	if !Refused(err) {
		t.Fatalf("an error of no known sort: %v", err)
	}
	return nil, err
}

// entry is an entry of a zip that was not written by Write. What is zero is filled in
// as for an entry that is not packed.
type entry struct {
	name         string
	bytes        string
	method       uint16
	size, packed uint64 // as claimed
	checksum     uint32
}

func zipOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: e.method, CRC32: e.checksum, UncompressedSize64: e.size, CompressedSize64: e.packed}
		if e.checksum == 0 {
			header.CRC32 = crc32.ChecksumIEEE([]byte(e.bytes))
		}
		if e.size == 0 {
			header.UncompressedSize64 = uint64(len(e.bytes))
		}
		if e.packed == 0 {
			header.CompressedSize64 = uint64(len(e.bytes))
		}
		raw, err := w.CreateRaw(header)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := raw.Write([]byte(e.bytes)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// manifestOf returns a manifest.json with what a test puts into it.
func manifestOf(kind, format, parts string) entry {
	return entry{name: manifestName, bytes: `{"kind":` + kind + `,"format":` + format + `,"content":{},"parts":` + parts + `}`}
}

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

func TestKindOf(t *testing.T) {
	kindOf := func(content string) Kind { return KindOf(strings.NewReader(content), int64(len(content))) }
	for _, kind := range []Kind{Model, Checkpoint} {
		var file bytes.Buffer
		if err := Write(&file, &File{Kind: kind, Content: []byte(`{"target":"y"}`), Parts: map[string][]byte{"weights.safetensors": make([]byte, 1<<16), "a.json": []byte("{}")}}); err != nil {
			t.Fatal(err)
		}
		if got := kindOf(file.String()); got != kind {
			t.Errorf("a %s is taken for %q", kind, got)
		}
		if got := kindOf(file.String()[:file.Len()/2]); got != "" {
			t.Errorf("half a %s is taken for %q", kind, got)
		}
	}
	var other bytes.Buffer
	archive := zip.NewWriter(&other)
	if w, err := archive.Create(manifestName); err != nil {
		t.Fatal(err)
	} else if _, err := w.Write([]byte(`{"name":"an extension of a browser"}`)); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"", "a,b\n1,2\n", "PK", other.String()} {
		if got := kindOf(content); got != "" {
			t.Errorf("%.20q is taken for %q", content, got)
		}
	}
}
