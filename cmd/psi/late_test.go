package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// A cell that breaks off a long run late leaves one document, or no file at all.
func TestFailureAfterManyRows(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "long.csv")
	write(t, path, "x1,x2,x3\n"+strings.Repeat("1,2,3\n", 20_000)+"1,2,oops\n")
	for _, command := range []string{"predict", "explain"} {
		o := run(t, command, fixtures.model, path, "--json")
		document := wantJSON(t, o, "psi.error/v1")
		if o.code != failed || document["row"] != 20_000.0 || document["column"] != "x3" || document["file"] != path {
			t.Errorf("%s: exit %d, %v", command, o.code, document)
		}
		if o := run(t, command, fixtures.model, path, "-o", filepath.Join(dir, "r.parquet")); o.code != failed {
			t.Errorf("%s: exit %d", command, o.code)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "*r.parquet*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
