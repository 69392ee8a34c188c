package artifact

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
)

// allocated returns how much memory a function was given, freed or not.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func packed(t *testing.T, content []byte) string {
	t.Helper()
	out, err := deflate(content)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Small files with large claims are refused before memory is given for the claim.
func TestHostileClaimsAreRefused(t *testing.T) {
	const deflated = 8
	bomb := packed(t, make([]byte, 16<<20))
	short := packed(t, []byte("hello\n"))
	parts := func(sizes ...int64) string {
		var list []string
		for i, size := range sizes {
			list = append(list, fmt.Sprintf(`"p%d":{"size":%d,"sha256":""}`, i, size))
		}
		return "{" + strings.Join(list, ",") + "}"
	}
	model := func(parts string, entries ...entry) []byte {
		return zipOf(t, append([]entry{manifestOf(`"psi.model"`, `1`, parts)}, entries...)...)
	}
	crowd := make([]entry, 2000)
	for i := range crowd {
		crowd[i].name = fmt.Sprint(i)
	}
	crowded := zipOf(t, crowd...)
	// It says that it has one entry; archive/zip counts modulo 65,536 only.
	binary.LittleEndian.PutUint16(crowded[len(crowded)-14:], 1)
	binary.LittleEndian.PutUint16(crowded[len(crowded)-12:], 1)

	for _, c := range []struct {
		what    string
		content []byte
		is      error
		want    string
	}{
		{
			"a stored part of 4 GB", model(parts(4e9), entry{name: "p0", bytes: "x", size: 4e9, packed: 4e9}),
			ErrDamaged, `part "p0" claims 4000000000 bytes that the file does not have`,
		},
		{
			"a stored part of 16 EB", model(parts(math.MaxInt64), entry{name: "p0", bytes: "x", size: math.MaxInt64, packed: math.MaxUint64}),
			ErrDamaged, `part "p0" claims 18446744073709551615 bytes that the file does not have`,
		},
		{
			"a stored part with two sizes", model(parts(4e9), entry{name: "p0", bytes: "x", size: 4e9}),
			ErrDamaged, `part "p0" claims two sizes`,
		},
		{
			"a packed part that is shorter than it claims", model(parts(2<<20), entry{name: "p0", bytes: short, method: deflated, size: 2 << 20}),
			ErrDamaged, `part "p0" cannot be unpacked: unexpected EOF`,
		},
		{
			"a packed part that is longer than it claims", model(parts(10), entry{name: "p0", bytes: bomb, method: deflated, size: 10}),
			ErrDamaged, `part "p0" cannot be unpacked: zip: not a valid zip file`,
		},
		{
			"a packed part that unfolds into too much", model(parts(257<<20), entry{name: "p0", bytes: bomb, method: deflated, size: 257 << 20}),
			ErrTooLarge, `the text parts have more than 6424320 bytes, the most for a file of 16608 bytes`,
		},
		{
			"a manifest that unfolds into too much", zipOf(t, entry{name: manifestName, bytes: bomb, method: deflated, size: 100 << 20}),
			ErrTooLarge, `manifest.json has 104857600 bytes, more than 67108864`,
		},
		{
			"a manifest that is longer than it claims", zipOf(t, entry{name: manifestName, bytes: bomb, method: deflated, size: 1000}),
			ErrDamaged, `part "manifest.json" cannot be unpacked: zip: not a valid zip file`,
		},
		{"too many entries", crowded, ErrTooLarge, `the list of parts has 98890 bytes, more than 60000`},
	} {
		var err error
		memory := allocated(func() { _, err = readDamaged(t, c.content) })
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", c.what, err, c.want)
		}
		if memory > 8<<20 {
			t.Errorf("%s: %d bytes were allocated", c.what, memory)
		}
	}
}

// Several entries that claim the same packed bytes would unfold a small file many
// times.
func TestEntriesCannotShareBytes(t *testing.T) {
	data := strings.Repeat("x", 10_000)
	var list []string
	entries := []entry{{}}
	for i := range 3 {
		name := fmt.Sprint("p", i)
		d := describe([]byte(data))
		list = append(list, fmt.Sprintf(`%q:{"size":%d,"sha256":%q}`, name, d.Size, d.SHA256))
		entries = append(entries, entry{name: name, bytes: data})
	}
	entries[0] = manifestOf(`"psi.model"`, `1`, "{"+strings.Join(list, ",")+"}")
	content := zipOf(t, entries...)
	if _, err := read(content); err != nil {
		t.Fatal(err)
	}

	// Cut the content of the last two out, and let their entries point to the first.
	first := bytes.Index(content[1:], []byte(firstBytes)) + 1
	second := bytes.Index(content[first+1:], []byte(firstBytes)) + first + 1
	directory := bytes.Index(content, []byte("PK\x01\x02"))
	shared := append(bytes.Clone(content[:second]), content[directory:]...)
	for i, place := 0, second; i < 4; i++ {
		if i >= 1 {
			binary.LittleEndian.PutUint32(shared[place+42:], uint32(first))
		}
		place += 46 + int(binary.LittleEndian.Uint16(shared[place+28:]))
	}
	binary.LittleEndian.PutUint32(shared[len(shared)-6:], uint32(second))
	_, err := readDamaged(t, shared)
	if want := `part "p1" claims 10000 bytes that the file does not have`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// Text costs a few times its size while it is unpacked, weights their size.
func TestMemoryIsBoundedByTheContent(t *testing.T) {
	f := sample(t)
	f.Parts["weights.safetensors"] = make([]byte, 32<<20)
	content := written(t, f)
	memory := allocated(func() {
		if _, err := read(content); err != nil {
			t.Fatal(err)
		}
	})
	if memory > 34<<20 {
		t.Errorf("%d bytes were allocated for %d", memory, len(content))
	}
}
