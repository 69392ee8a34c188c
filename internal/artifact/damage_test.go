package artifact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
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
