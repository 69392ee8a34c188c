package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// docs/cli.md is the page that the commands make now.
func TestReferenceIsUpToDate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cli.md")
	mustRun(t, "docs", "markdown", file)
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("docs/cli.md is not up to date; run: go run ./cmd/psi docs markdown docs/cli.md")
	}
	// Every link of the page leads to a heading of it.
	page := string(got)
	for _, part := range strings.Split(page, "](#")[1:] {
		link, _, _ := strings.Cut(part, ")")
		if heading := "## " + strings.ReplaceAll(link, "-", " ") + "\n"; !strings.Contains(page, heading) {
			t.Errorf("docs/cli.md has a link to #%s, but no such heading", link)
		}
	}
	wantText(t, page, "# psi\n", "## psi explain\n", "### psi batch run\n", "### psi export onnx\n", "--interactions")
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
