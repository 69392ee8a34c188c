package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/table"
)

// Labels mean the same in all files, whatever codes a file gives them.
func TestJoinedLabels(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.csv"), "word,n\nred,1\nblue,2\n,3\n")
	write(t, filepath.Join(dir, "b.csv"), "n,word\n4,green\n5,blue\n6,red\n")
	d, err := new(program).data(t.Context(), filepath.Join(dir, "*.csv"), "")
	if err != nil {
		t.Fatal(err)
	}
	source, err := d.join(t.Context(), table.Options{ChunkRows: 2, SampleRows: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	whole, err := table.ReadAll(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for row := range whole.Rows() {
		words = append(words, whole.Column("word").Text(row)+whole.Column("n").Text(row))
	}
	if got := strings.Join(words, " "); got != "red1 blue2 3 green4 blue5 red6" {
		t.Error(got)
	}
}
