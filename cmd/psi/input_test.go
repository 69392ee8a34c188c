package main

import (
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/psi-shapley/psi/internal/store"
)

// How many rows decide on the kinds of columns does not depend on what a packed file may hold:
// the reader bounds what it holds in memory.
func TestSampleRows(t *testing.T) {
	const all, few = -1, 0
	sized := func(name string, bytes int64) string {
		path := filepath.Join(t.TempDir(), name)
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if err := file.Truncate(bytes); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, c := range map[string]struct {
		data *data
		want int
	}{
		"a small file":       {&data{files: []string{sized("a.csv", 1000)}}, all},
		"a small packed one": {&data{files: []string{sized("a.csv.gz", 60<<20)}}, all},
		"a large file":       {&data{files: []string{sized("a.csv", maxInferred+1)}}, few},
		"many files":         {&data{files: []string{sized("a.csv", maxInferred/2), sized("b.csv", maxInferred/2), sized("c.csv", 1)}}, few},
		"large objects":      {&data{files: []string{"a.csv"}, place: &store.Location{}, objects: []store.Object{{Size: maxInferred + 1}}}, few},
		"standard input":     {&data{stdin: iotest.ErrReader(os.ErrClosed), format: "csv"}, all},
	} {
		if got := c.data.sampleRows(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
