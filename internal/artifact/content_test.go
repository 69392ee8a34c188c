package artifact

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"testing"

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
