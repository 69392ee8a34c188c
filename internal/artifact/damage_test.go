package artifact

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"
)

const (
	helloDigest = `"5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"`
	helloParts  = `{"x":{"size":6,"sha256":` + helloDigest + `}}`
)

var hello = entry{name: "x", bytes: "hello\n"}

// What a user may give in place of a model, and what it is told.
func TestWhatUsersGive(t *testing.T) {
	whole := written(t, sample(t))
	checkpoint := sample(t)
	checkpoint.Kind = Checkpoint
	damagedPart := bytes.Replace(zipOf(t, manifestOf(`"psi.model"`, `1`, helloParts), hello), []byte("hello\n"), []byte("hallo\n"), 1)

	for _, c := range []struct {
		content []byte
		is      error
		want    string
	}{
		{nil, ErrDamaged, "the file is empty; copy it again"},
		{[]byte("age,charges\n19,16884.924\n"), ErrNotPsi, "the file is not a psi model; give a model that psi has written"},
		{[]byte("x"), ErrNotPsi, "the file is not a psi model; give a model that psi has written"},
		{zipOf(t), ErrNotPsi, "the file is not a psi model; give a model that psi has written"},
		{zipOf(t, hello), ErrNotPsi, "the file is not a psi model: it has no manifest.json; give a model that psi has written"},
		{
			zipOf(t, entry{name: manifestName, bytes: `{"manifest_version":3}`}), ErrNotPsi,
			"the file is not a psi model: its manifest.json is not psi's; give a model that psi has written",
		},
		{whole[:len(whole)-1], ErrDamaged, "the file is truncated: it does not end with the list of its parts; copy it again"},
		{whole[:3], ErrDamaged, "the file is truncated: it does not end with the list of its parts; copy it again"},
		{append(bytes.Clone(whole), 0), ErrDamaged, "the file is truncated: it does not end with the list of its parts; copy it again"},
		{append(bytes.Clone(whole), whole...), ErrDamaged, "the file is damaged: the list of its parts is not where it should be; copy it again"},
		{damagedPart, ErrDamaged, `the file is damaged: part "x" cannot be unpacked: zip: checksum error; copy it again`},
		{
			zipOf(t, manifestOf(`"psi.model"`, `1`, helloParts), entry{name: "x", bytes: "hallo\n"}), ErrDamaged,
			`the file is damaged: part "x" does not have the digest that manifest.json gives; copy it again`,
		},
		{written(t, checkpoint), ErrKind, "the file is a checkpoint, not a model; give a model"},
		{
			zipOf(t, manifestOf(`"psi.forest"`, `1`, `{}`)), ErrKind,
			`the file is a file of kind "psi.forest", not a model; give a model`,
		},
		{
			zipOf(t, manifestOf(`"psi.model"`, `3`, `[]`), entry{name: "new/things"}), ErrNewer,
			"the file was written by a newer psi (format 3; this program reads up to 2); update psi",
		},
	} {
		t.Chdir(t.TempDir())
		if err := os.WriteFile("m.psi", c.content, 0o600); err != nil {
			t.Fatal(err)
		}
		f, digest, err := ReadFile("m.psi", Model)
		if err == nil || err.Error() != "m.psi: "+c.want || !errors.Is(err, c.is) || f != nil || digest != "" {
			t.Errorf("got  %v\nwant m.psi: %s (%v)", err, c.want, c.is)
		}
	}
}

func TestPathsThatAreNoFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	_, _, err := ReadFile("m.psi", Model)
	if want := "m.psi: there is no such file; check the path"; err == nil || err.Error() != want || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	_, _, err = ReadFile(".", Checkpoint)
	if want := ".: this is a directory; give the path of a checkpoint"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	_, _, err = ReadFile(os.DevNull, Model)
	if want := os.DevNull + ": this is not a regular file; give the path of a model"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile("large.psi", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate("large.psi", MaxFileBytes+1); err != nil {
		t.Skip("no sparse files here:", err)
	}
	_, _, err = ReadFile("large.psi", Model)
	if want := "large.psi: the file has 4294967296 bytes, more than 4294967295"; err == nil || err.Error() != want || !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

func TestManifestsThatDoNotFit(t *testing.T) {
	manifest := func(text string) []byte { return zipOf(t, entry{name: manifestName, bytes: text}) }
	model := func(parts string, entries ...entry) []byte {
		return zipOf(t, append([]entry{manifestOf(`"psi.model"`, `1`, parts)}, entries...)...)
	}
	var many []string
	for i := range MaxParts + 1 {
		many = append(many, fmt.Sprintf(`"%d":{"size":0,"sha256":""}`, i))
	}
	for _, c := range []struct {
		want    string
		content []byte
	}{
		{`manifest.json cannot be read: it is not valid JSON`, manifest(`{"kind":"psi.model",`)},
		{`manifest.json cannot be read: it is not valid JSON`, manifest(`{} {}`)},
		{`manifest.json cannot be read: it is not valid JSON`, manifest("{\"kind\":\"\xff\"}")},
		{`manifest.json cannot be read: it is not a JSON object`, manifest(`["kind"]`)},
		{`manifest.json cannot be read: field "kind" is there twice`, manifest(`{"kind":"psi.checkpoint","kind":"psi.model"}`)},
		{`manifest.json cannot be read: it has an unknown field "hook"`, manifest(`{"kind":"psi.model","format":1,"content":{},"parts":{},"hook":"rm"}`)},
		{`manifest.json cannot be read: it has no "parts"`, manifest(`{"kind":"psi.model","format":1,"content":{}}`)},
		{`manifest.json cannot be read: it has no "content"`, manifest(`{"kind":"psi.model","format":1,"Content":{},"parts":{}}`)},
		{`the content of manifest.json is not a JSON object`, manifest(`{"kind":"psi.model","format":1,"content":null,"parts":{}}`)},
		{`format 0 is unknown`, manifestBytes(t, `"psi.model"`, `0`)},
		{`format -1 is unknown`, manifestBytes(t, `"psi.model"`, `-1`)},
		{`format 1.0 is unknown`, manifestBytes(t, `"psi.model"`, `1.0`)},
		{`kind: null is not a text`, manifestBytes(t, `null`, `1`)},
		{`the parts in manifest.json cannot be read: it is not a JSON object`, model(`null`)},
		{`the parts in manifest.json cannot be read: it has more than 64 fields`, model(`{` + strings.Join(many, ",") + `}`)},
		{`the parts in manifest.json cannot be read: field "x" is there twice`, model(`{"x":{"size":6,"sha256":"1"},"x":{"size":6,"sha256":`+helloDigest+`}}`, hello)},
		{`the parts in manifest.json cannot be read: part "x": it has an unknown field "run"`, model(`{"x":{"size":6,"sha256":"","run":1}}`, hello)},
		{`the parts in manifest.json cannot be read: part "x": it has no "sha256"`, model(`{"x":{"size":6}}`, hello)},
		{`the parts in manifest.json cannot be read: part "x": "6" is not a count`, model(`{"x":{"size":"6","sha256":""}}`, hello)},
		{`the parts in manifest.json cannot be read: part "x": 1 is not a text`, model(`{"x":{"size":6,"sha256":1}}`, hello)},
		{`the parts in manifest.json cannot be read: no part may be named manifest.json`, model(`{"manifest.json":{"size":6,"sha256":""}}`)},
		{`the parts in manifest.json cannot be read: part "../x" is not named by letters, digits, dots, dashes and underscores`, model(`{"../x":{"size":6,"sha256":""}}`)},
		{`part "x" is missing`, model(helloParts)},
		{`part "x" has 7 bytes, not 6`, model(helloParts, entry{name: "x", bytes: "hello!\n"})},
		{`part "y" is not listed in manifest.json`, model(helloParts, hello, entry{name: "y"})},
		{`part "y/" is not listed in manifest.json`, model(helloParts, hello, entry{name: "y/"})},
		{`part "../x" is not listed in manifest.json`, model(helloParts, hello, entry{name: "../x", bytes: "hello\n"})},
		{`part "x" is there twice`, model(helloParts, hello, hello)},
		{`part "manifest.json" is there twice`, zipOf(t, manifestOf(`"psi.model"`, `1`, `{}`), manifestOf(`"psi.model"`, `1`, `{}`))},
		{`part "x" is packed by method 93, which psi does not use`, model(helloParts, entry{name: "x", bytes: "hello\n", method: 93})},
	} {
		_, err := readDamaged(t, c.content)
		if want := "the file is damaged: " + c.want + "; copy it again"; err == nil || err.Error() != want || !errors.Is(err, ErrDamaged) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func manifestBytes(t *testing.T, kind, format string) []byte {
	t.Helper()
	return zipOf(t, manifestOf(kind, format, `{}`))
}

func TestEveryTruncationIsAnError(t *testing.T) {
	content := written(t, sample(t))
	for cut := range content {
		if _, err := readDamaged(t, content[:cut]); err == nil {
			t.Fatalf("%d bytes of %d gave no error", cut, len(content))
		}
		if _, err := readDamaged(t, content[cut:]); err == nil && cut > 0 {
			t.Fatalf("without the first %d bytes there was no error", cut)
		}
	}
}

func TestEveryFlipIsAnErrorOrHarmless(t *testing.T) {
	want := sample(t)
	content := written(t, want)
	harmless := 0
	for position := range content {
		for _, flip := range []byte{0x01, 0x80, 0xff} {
			content[position] ^= flip
			got, err := readDamaged(t, content)
			if err == nil && !same(want, got) {
				t.Fatalf("byte %d ^ %#x gave another content", position, flip)
			}
			if err == nil {
				harmless++
			}
			content[position] ^= flip
		}
	}
	t.Logf("%d of %d flips were harmless", harmless, 3*len(content))
}

func TestRandomDamageIsAnErrorOrHarmless(t *testing.T) {
	rng := newRand(t)
	want := sample(t)
	whole := written(t, want)
	for range 5000 {
		content := bytes.Clone(whole)
		for range 1 + rng.IntN(4) {
			from, to := rng.IntN(len(content)), rng.IntN(len(content))
			n := rng.IntN(64)
			switch rng.IntN(3) {
			case 0:
				copy(content[to:min(to+n, len(content))], content[from:])
			case 1:
				clear(content[to:min(to+n, len(content))])
			default:
				content[to] = byte(rng.Uint32())
			}
		}
		if got, err := readDamaged(t, content); err == nil && !same(want, got) {
			t.Fatal("damage gave another content")
		}
	}
}

// failingReader fails after so many reads.
type failingReader struct {
	io.ReaderAt
	left int
}

func (r *failingReader) ReadAt(p []byte, offset int64) (int, error) {
	if r.left--; r.left < 0 {
		return 0, errors.New("the disk is gone")
	}
	return r.ReaderAt.ReadAt(p, offset)
}

// A disk that fails is not a file that is damaged.
func TestFailuresToReadAreNotDamage(t *testing.T) {
	content := written(t, sample(t))
	for reads := 0; ; reads++ {
		_, err := slurp(&failingReader{bytes.NewReader(content), reads}, int64(len(content)), Model)
		if err == nil && reads > 2 {
			return
		}
		if err == nil || errors.Is(err, ErrDamaged) || err.Error() != "the disk is gone" {
			t.Fatalf("%d reads: %v", reads, err)
		}
	}
}

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
