package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A batch is refused, before anything is read or made, if its results would lie among its tables.
func TestBatchIntoItsInput(t *testing.T) {
	p := newPlace(t)
	if err := os.MkdirAll(p.at("tables/deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, p.at("tables/a.csv"), p.files["t.csv"])
	write(t, p.at("tables/deep/b.csv"), p.files["t.csv"])
	if err := os.Symlink("tables", p.at("link")); err != nil {
		t.Skip(err)
	}
	for _, line := range []string{
		"batch run none.psi @tables @tables",
		"batch run none.psi @tables @link",
		"batch run none.psi @tables @tables/out",
		"batch run none.psi @tables @link/out",
		"batch run none.psi @tables/deep @tables",
		"batch run none.psi @tables/*.csv @tables",
		"batch run none.psi @tables/a.csv @tables",
		"batch run none.psi file://@tables @tables/out",
		"batch run none.psi s3://bucket/tables/ s3://bucket/tables/out/",
		"batch run none.psi s3://bucket/tables/2026/ s3://bucket/tables/",
		"batch submit --queue nats://127.0.0.1:1 none.psi @tables @tables/out",
	} {
		for _, force := range [][]string{nil, {"--force"}} {
			o := run(t, append(p.line(line), force...)...)
			if o.code != failed || !strings.Contains(o.stderr, "IN and OUT overlap") {
				t.Errorf("psi %s %v: exit %d, %s", line, force, o.code, o.stderr)
			}
		}
	}
	var names []string
	err := filepath.WalkDir(p.at("tables"), func(path string, _ os.DirEntry, err error) error {
		names = append(names, filepath.Base(path))
		return err
	})
	if got := strings.Join(names, " "); err != nil || got != "tables a.csv deep b.csv" {
		t.Errorf("in the directory is %s, %v", got, err)
	}
}

// The marks of another program's results are not deleted or replaced, unless --force is given.
func TestBatchIntoForeignResults(t *testing.T) {
	p := newPlace(t)
	for name, content := range map[string]string{"_SUCCESS": "", "_summary.json": `{"rows": 5}`} {
		out := p.at("of" + name)
		if err := os.Mkdir(out, 0o700); err != nil {
			t.Fatal(err)
		}
		mark := filepath.Join(out, name)
		write(t, mark, content)
		args := []string{"batch", "submit", "--queue", "nats://127.0.0.1:1", p.at("m.psi"), p.at("t.csv"), out}
		o := run(t, args...)
		if got, err := os.ReadFile(mark); o.code != failed || !strings.Contains(o.stderr, mark+": the results of another program are here; choose another OUT, or add --force") || err != nil || string(got) != content {
			t.Errorf("exit %d, %s%q, %v", o.code, o.stderr, got, err)
		}
		if entries, err := os.ReadDir(out); err != nil || len(entries) != 1 {
			t.Errorf("%d files are there, %v", len(entries), err)
		}
	}
}
