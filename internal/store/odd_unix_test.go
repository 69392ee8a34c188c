//go:build unix

package store_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/psi-shapley/psi/internal/store"
)

// A listing tells which entries are no files, and goes on past them.
func TestListingGoesOnPastOddEntries(t *testing.T) {
	directory := t.TempDir()
	for _, name := range []string{"a.psi", "z.psi"} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"loop.psi": "loop.psi", "link.psi": "a.psi", "gone.psi": "nothing", "link-to-fifo.psi": "fifo.psi"} {
		if err := os.Symlink(target, filepath.Join(directory, name)); err != nil {
			t.Skip("no links here:", err)
		}
	}
	if err := errors.Join(syscall.Mkfifo(filepath.Join(directory, "fifo.psi"), 0o600), os.Mkdir(filepath.Join(directory, "directory.psi"), 0o700)); err != nil {
		t.Skip("no FIFOs here:", err)
	}
	location, pattern, err := store.Open(t.Context(), directory+"/*.psi")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct{ good, bad []string }{
		"List":    {[]string{"a.psi", "link.psi", "z.psi"}, []string{"fifo.psi", "link-to-fifo.psi", "loop.psi"}},
		"Entries": {[]string{"a.psi", "link.psi", "z.psi"}, []string{"directory.psi", "fifo.psi", "link-to-fifo.psi", "loop.psi"}},
	} {
		list := location.List
		if name == "Entries" {
			list = location.Entries
		}
		var good []string
		bad := map[string]error{}
		for o, err := range list(t.Context(), pattern) {
			if err != nil {
				bad[o.Key] = err
			} else {
				good = append(good, o.Key)
			}
		}
		if names := slices.Sorted(maps.Keys(bad)); !slices.Equal(good, want.good) || !slices.Equal(names, want.bad) {
			t.Errorf("%s finds %v and refuses %v, want %v and %v", name, good, bad, want.good, want.bad)
		}
		if !errors.Is(bad["fifo.psi"], store.ErrNotRegular) || store.IsTransient(bad["fifo.psi"]) {
			t.Errorf("a FIFO is %v", bad["fifo.psi"])
		}
	}
}

// A file that is replaced or written to while it is read is an error, and a FIFO in its place does not make readers wait.
func TestContentIsOfTheObjectThatWasFound(t *testing.T) {
	directory := t.TempDir()
	path := filepath.Join(directory, "m.psi")
	if err := os.WriteFile(path, []byte("first"), 0o600); err != nil {
		t.Fatal(err)
	}
	location, _, err := store.Open(t.Context(), directory)
	if err != nil {
		t.Fatal(err)
	}
	o, err := location.Stat(t.Context(), "m.psi")
	if err != nil {
		t.Fatal(err)
	}
	if content, err := location.Content(t.Context(), o, 10); err != nil || string(content) != "first" {
		t.Errorf("%q, %v", content, err)
	}
	r, err := location.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := os.WriteFile(path, []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if content, err := location.Content(t.Context(), o, 10); !errors.Is(err, store.ErrChanged) {
		t.Errorf("%q, %v", content, err)
	}
	if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
		t.Skip("no FIFOs here:", err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := location.Content(t.Context(), o, 10)
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, store.ErrChanged) {
			t.Error(err)
		}
	case <-time.After(5 * time.Second):
		t.Error("a FIFO is waited for")
	}
}
