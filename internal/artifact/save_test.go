package artifact

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
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
		if _, err := WriteFile(path, want); err != nil {
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
	if _, err := WriteFile(path, sample(t)); err != nil {
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

	_, err = WriteFile(path, &File{Kind: Model, Content: json.RawMessage("{"), Parts: map[string][]byte{"x": nil}})
	if want := path + ": the content of the manifest is not a JSON object"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	intact("invalid content")
	onlyFiles(t, directory, "m.psi")

	if err := os.MkdirAll(path+".tmp/full", 0o700); err != nil {
		t.Fatal(err)
	}
	_, err = WriteFile(path, sample(t))
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
		if _, err := WriteFile(path, sample(t)); err == nil {
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
	_, err := WriteFile(directory, sample(t))
	if want := directory + ": this is a directory; give the path of a file"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	path := filepath.Join(directory, "none", "m.psi")
	_, err = WriteFile(path, sample(t))
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
	if _, err := WriteFile(path, sample(t)); err != nil {
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

// The digest of a file is of the bytes that its content was read from, also while another program writes them anew.
func TestContentAndDigestAreOfOneRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.psi")
	files := map[string]*File{} // by digest
	var contents [][]byte
	for i := 0; len(contents) < 2; i++ {
		f := sample(t)
		f.Parts["zip.bin"] = bytes.Repeat([]byte{byte(i)}, 1<<20)
		if content := written(t, f); len(contents) == 0 || len(content) == len(contents[0]) {
			contents = append(contents, content)
			files[Digest(content)] = f
		}
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Write(contents[0]); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := 1; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := file.WriteAt(contents[i%2], 0); err != nil {
				t.Error(err)
				return
			}
			time.Sleep(time.Millisecond)
		}
	})
	whole := 0
	for end := time.Now().Add(20 * time.Second); whole < 200 && time.Now().Before(end); {
		got, digest, err := ReadFile(path, Model)
		if err != nil {
			continue // half of each
		}
		whole++
		if want := files[digest]; want == nil || !same(want, got) {
			t.Fatalf("read %d has a digest of other bytes", whole)
		}
	}
	close(stop)
	writing.Wait()
	if whole == 0 {
		t.Error("no file was read whole")
	}
}
