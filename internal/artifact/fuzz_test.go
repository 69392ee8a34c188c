package artifact

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"testing"

	"github.com/psi-shapley/psi/table"
)

// FuzzRead: whatever the bytes, reading ends in a *table.Error or in a file that can be
// written and read again.
func FuzzRead(f *testing.F) {
	f.Add(written(f, sample(f)))
	f.Add(written(f, &File{Kind: Model, Content: []byte("{}")}))
	f.Add(zipOf(f, manifestOf(`"psi.model"`, `1`, helloParts), hello))
	f.Add(zipOf(f, manifestOf(`"psi.model"`, `2`, `{}`)))
	f.Add(zipOf(f, manifestOf(`"psi.checkpoint"`, `1`, `{}`)))
	f.Add(zipOf(f, entry{name: manifestName, bytes: `{"kind":"psi.model","kind":1}`}))
	f.Add(zipOf(f, entry{name: manifestName, bytes: "x", method: 8, size: 1 << 40}))
	f.Add([]byte("PK\x05\x06\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, content []byte) {
		first, err := readDamaged(t, content)
		if err != nil {
			return
		}
		second, err := read(written(t, first))
		if err != nil {
			t.Fatal("what was written cannot be read:", err)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, first.Content); err != nil {
			t.Fatal("the content is not JSON:", err)
		}
		first.Content = compact.Bytes()
		if !same(first, second) {
			t.Fatal("a file changed on its way")
		}
	})
}

// FuzzManifest goes past the checksums, which FuzzRead seldom gets right.
func FuzzManifest(f *testing.F) {
	for _, c := range []entry{
		manifestOf(`"psi.model"`, `1`, helloParts),
		manifestOf(`"psi.model"`, `2`, `{}`),
		manifestOf(`null`, `1`, `[]`),
		{bytes: `{"kind":"psi.model","format":1,"content":{"a":[1,{"b":null}]},"parts":{"x":{"sha256":"","size":1e3}}}`},
		{bytes: `{"kind":"psi.model","format":2,"requires":["x",1],"content":{},"parts":{}}`},
	} {
		f.Add([]byte(c.bytes))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		_, _ = readDamaged(t, zipOf(t, entry{name: manifestName, bytes: string(content)}, hello))
	})
}

// FuzzObject: cutting an object gives what encoding/json gives, and weighing takes any bytes.
func FuzzObject(f *testing.F) {
	for _, text := range []string{
		`{}`, ` { "a" : [ 1 , { "b" : "]\"}" } ] , "c" : -1.5e3, "d":null } `, `{"a":"\\","b":{}}`, `{"\u0061":1,"a":2}`, `[{},{}]`, `"{"`, `{"a":`, "\\\"", `{"a":true}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if weigh(text) < 0 {
			t.Error("a negative weight")
		}
		fields, err := object(text, 100)
		var want map[string]json.RawMessage
		if err != nil || json.Unmarshal(text, &want) != nil {
			return
		}
		if !maps.EqualFunc(fields, want, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
			t.Errorf("%q was cut into %q, not %q", text, fields, want)
		}
	})
}

// FuzzDecodeTensors: whatever the bytes, decoding ends in a *table.Error or in tensors that
// can be encoded and decoded again.
func FuzzDecodeTensors(f *testing.F) {
	reference, err := os.ReadFile("testdata/reference.safetensors")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(reference)
	f.Add(tensors(`{}`, 0))
	f.Add(tensors(`{"a":{"dtype":"I64","shape":[],"data_offsets":[0,8]},"__metadata__":{"k":"v"}}`, 8))
	f.Add(tensors(`{"a":{"dtype":"F32","shape":[0,4294967296],"data_offsets":[0,0]}}`, 0))
	f.Add(tensors(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 4))
	f.Fuzz(func(t *testing.T, content []byte) {
		first, err := DecodeTensors(content)
		if err != nil {
			if _, is := errors.AsType[*table.Error](err); !is || first != nil {
				t.Fatalf("not a *table.Error alone: %v", err)
			}
			return
		}
		again, err := EncodeTensors(first)
		if err != nil {
			t.Fatal("what was decoded cannot be encoded:", err)
		}
		second, err := DecodeTensors(again)
		if err != nil || !sameTensors(first, second) {
			t.Fatal("tensors changed on their way:", err)
		}
	})
}
