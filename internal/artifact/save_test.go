package artifact

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// onlyFiles fails if anything but the named files is in the directory.
func onlyFiles(t *testing.T, directory string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v are in the directory, not %v", got, want)
	}
}

func TestWriteFile(t *testing.T) {
	directory := t.TempDir()
	path := filepath.Join(directory, "m.psi")
	for _, note := range []string{"first", "second"} {
		// What a killed process left, longer than what is written now.
		if err := os.WriteFile(path+".tmp", make([]byte, 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		want := sample(t)
		want.Content = json.RawMessage(fmt.Sprintf(`{"note":%q}`, note))
		if err := WriteFile(path, want); err != nil {
			t.Fatal(err)
		}
		onlyFiles(t, directory, "m.psi")
		got, digest, err := ReadFile(path, Model)
		if err != nil || !same(want, got) {
			t.Fatal("not what was written:", err)
		}
		if want := fmt.Sprintf("sha256:%x", sha256.Sum256(written(t, want))); digest != want {
			t.Errorf("digest %s, not %s", digest, want)
		}
	}
}

func TestFailedWritesLeaveTheOldFile(t *testing.T) {
	directory := t.TempDir()
	path := filepath.Join(directory, "m.psi")
	if err := WriteFile(path, sample(t)); err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	intact := func(what string) {
		t.Helper()
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(old, now) {
			t.Errorf("%s: the old file has changed: %v", what, err)
		}
	}

	err = WriteFile(path, &File{Kind: Model, Content: json.RawMessage("{"), Parts: map[string][]byte{"x": nil}})
	if want := path + ": the content of the manifest is not a JSON object"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	intact("invalid content")
	onlyFiles(t, directory, "m.psi")

	if err := os.MkdirAll(path+".tmp/full", 0o700); err != nil {
		t.Fatal(err)
	}
	err = WriteFile(path, sample(t))
	if err == nil || !strings.HasPrefix(err.Error(), path+": cannot be created: ") || !strings.HasSuffix(err.Error(), "; check the directory and its permissions") {
		t.Errorf("got %v", err)
	}
	intact("no draft")
	if err := os.RemoveAll(path + ".tmp"); err != nil {
		t.Fatal(err)
	}

	if os.Geteuid() != 0 { // root may write anywhere
		if err := os.Chmod(directory, 0o500); err != nil {
			t.Fatal(err)
		}
		if err := WriteFile(path, sample(t)); err == nil {
			t.Error("a read-only directory was written to")
		}
		if err := os.Chmod(directory, 0o700); err != nil {
			t.Fatal(err)
		}
		intact("read-only directory")
		onlyFiles(t, directory, "m.psi")
	}
}

func TestPathsThatCannotBeWritten(t *testing.T) {
	directory := t.TempDir()
	err := WriteFile(directory, sample(t))
	if want := directory + ": this is a directory; give the path of a file"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	path := filepath.Join(directory, "none", "m.psi")
	err = WriteFile(path, sample(t))
	if err == nil || !strings.HasPrefix(err.Error(), path+": cannot be created: ") {
		t.Errorf("got %v", err)
	}
	onlyFiles(t, directory)
}

// A draft is made anew: a link in its place would lead to another file.
func TestDraftFollowsNoLink(t *testing.T) {
	directory := t.TempDir()
	path, other := filepath.Join(directory, "m.psi"), filepath.Join(directory, "other")
	if err := os.WriteFile(other, []byte("keep"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, path+".tmp"); err != nil {
		t.Skip("no links here:", err)
	}
	if err := WriteFile(path, sample(t)); err != nil {
		t.Fatal(err)
	}
	if kept, err := os.ReadFile(other); err != nil || string(kept) != "keep" {
		t.Errorf("%q, %v", kept, err)
	}
	onlyFiles(t, directory, "m.psi", "other")
}

// Of two that write one file, the later one wins and the other is told.
func TestTwoDraftsOfOneFile(t *testing.T) {
	directory := t.TempDir()
	path := filepath.Join(directory, "m.psi")
	first, err := newDraft(path + ".tmp")
	if err != nil {
		t.Fatal(err)
	}
	second, err := newDraft(path + ".tmp")
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(second, sample(t)); err != nil {
		t.Fatal(err)
	}
	err = first.publish(path)
	if want := "another program is writing this file; let it end, or write to another path"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	first.drop()
	if err := second.publish(path); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ReadFile(path, Model); err != nil {
		t.Error(err)
	}
	onlyFiles(t, directory, "m.psi")
}
