package main

import (
	"os"
	"path/filepath"
	"testing"
)

const pages = "../../docs/cli" // seen from here

// The pages in docs/cli are those that the commands make now.
func TestPagesAreUpToDate(t *testing.T) {
	dir := t.TempDir()
	mustRun(t, "docs", "markdown", dir)
	made, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadDir(pages)
	if err != nil {
		t.Fatal(err)
	}
	const remedy = "run: go run ./cmd/psi docs markdown docs/cli"
	if len(made) != len(kept) {
		t.Errorf("%d pages in docs/cli, but there are %d; %s", len(kept), len(made), remedy)
	}
	for _, page := range made {
		want, err := os.ReadFile(filepath.Join(dir, page.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(pages, page.Name()))
		if err != nil || string(got) != string(want) {
			t.Errorf("docs/cli/%s is not up to date; %s", page.Name(), remedy)
		}
	}
}

func TestManualPages(t *testing.T) {
	dir := t.TempDir()
	mustRun(t, "docs", "man", dir)
	text, err := os.ReadFile(filepath.Join(dir, "psi-explain.1"))
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, string(text), `.TH "PSI-EXPLAIN" "1"`, "interactions")
}
