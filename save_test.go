package psi

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// A model's digest is of the bytes that it saved, whatever has become of the file since.
func TestDigestIsOfWhatWasSaved(t *testing.T) {
	m, err := Open(made{players: numberPlayers(2), change: func(s *Settings) { s.Embedding, s.Channels, s.Bins = 2, 2, 2 }}.save(t))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	want := m.Digest()
	directory := t.TempDir()
	path := filepath.Join(directory, "m.psi")
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if sum := fmt.Sprintf("sha256:%x", sha256.Sum256(content)); sum != want || m.Digest() != want {
		t.Fatalf("saved %s, of the file %s, opened as %s", m.Digest(), sum, want)
	}
	stop := make(chan struct{})
	var replacing sync.WaitGroup
	replacing.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			other := filepath.Join(directory, "other")
			if err := os.WriteFile(other, []byte("another program's"), 0o600); err != nil {
				t.Error(err)
			}
			if err := os.Rename(other, path); err != nil {
				t.Error(err)
			}
		}
	})
	for range 100 {
		if err := m.Save(path); err != nil || m.Digest() != want {
			t.Errorf("the digest is %q after a file was replaced: %v", m.Digest(), err)
			break
		}
	}
	close(stop)
	replacing.Wait()
	if err := m.Save(filepath.Join(directory, "none", "m.psi")); err == nil || m.Digest() != want {
		t.Errorf("the digest is %q after a save that failed with %v", m.Digest(), err)
	}
}
