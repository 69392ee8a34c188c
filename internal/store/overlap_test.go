package store_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/psi-shapley/psi/internal/store"
)

func TestOverlapOnDisk(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, d := range []string{"tables/deep", "out", "_hidden"} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"rows.parquet", "tables/a.parquet", "tables/deep/b.parquet"} {
		if err := os.WriteFile(f, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"link": "tables"} {
		if err := os.Symlink(target, link); err != nil {
			t.Skip(err)
		}
	}
	for _, c := range []struct {
		in, out string
		want    bool
	}{
		{"tables", "tables", true},
		{"tables", "tables/", true},
		{"tables", "./tables/../tables", true},
		{"tables", filepath.Join(dir, "tables"), true},
		{"tables", "file://" + dir + "/tables", true},
		{"file://" + dir + "/tables/*.parquet", "tables", true},
		{"tables", "link", true},
		{"link", "tables", true},
		{"link/*.parquet", "tables", true},
		{"tables", "tables/out", true}, // which is not there yet
		{"tables", "tables/out/deeper", true},
		{"tables", "link/out", true},
		{"tables", "tables/deep", true},
		{"tables/deep", "tables", true},
		{"tables/deep/*.parquet", "tables", true},
		{"tables/deep/b.parquet", "tables", true},
		{"tables/deep/b.parquet", "tables/deep", true},
		{"tables/*.parquet", "tables", true},
		{"tables/**/*.parquet", "tables/deep", true},
		{"tables/*/*.parquet", "tables/out", true},
		{"rows.parquet", ".", true},
		{"tables", ".", true},
		{"tables", "/", true},
		{".", "out", true},

		{"tables", "out", false},
		{"tables", "tables2", false},
		{"tables", "tables/_out", false}, // never listed
		{"tables", "_hidden", false},
		{"tables/*.parquet", "tables/out", false},
		{"tables/a.parquet", "tables/out", false},
		{"*.parquet", "out", false},
		{"rows.parquet", "out", false},
		{"tables/*.parquet", "out", false},
		{"none", "none", false},
		{"none/*.parquet", "none", false},
		{"tables", "s3://bucket/tables", false},
	} {
		if got := store.Overlap(c.in, c.out); got != c.want {
			t.Errorf("%s into %s: overlap %v", c.in, c.out, got)
		}
	}
}

func TestOverlapInBuckets(t *testing.T) {
	for _, c := range []struct {
		in, out string
		want    bool
	}{
		{"s3://b/tables/", "s3://b/tables/", true},
		{"s3://b/tables/", "s3://b/tables", true},
		{"s3://b/tables", "s3://b/tables/", true},
		{"s3://b/tables/", "s3://b/tables/out", true},
		{"s3://b/tables", "s3://b/tables/out", true},
		{"s3://b/", "s3://b/out/", true},
		{"s3://b", "s3://b/out/", true},
		{"s3://b/tables/", "s3://b", true},
		{"s3://b/tables/*.parquet", "s3://b/tables/", true},
		{"s3://b/tables/a.parquet", "s3://b/tables/", true},
		{"s3://b/tables/**/*.parquet", "s3://b/tables/out/", true},
		{"s3://b/tables/?region=eu-west-1", "s3://b/tables/out/?region=eu-west-1&endpoint=http://127.0.0.1:1", true},
		{"s3://b/tables/?prefix=a/", "s3://b/a/tables/out/", true},

		{"s3://b/tables/", "s3://b/out/", false},
		{"s3://b/tables/", "s3://b/tables2/", false},
		{"s3://b/tables", "s3://b/tables2", false},
		{"s3://b/tables/", "s3://c/tables/", false},
		{"s3://b/tables/", "gs://b/tables/", false},
		{"s3://b/tables/*.parquet", "s3://b/tables/out/", false},
		{"s3://b/tables/a.parquet", "s3://b/tables/out/", false},
		{"s3://b/tables/?endpoint=http://one", "s3://b/tables/?endpoint=http://two", false},
		{"ftp://b/x", "ftp://b/x", false},
	} {
		if got := store.Overlap(c.in, c.out); got != c.want {
			t.Errorf("%s into %s: overlap %v", c.in, c.out, got)
		}
	}
}
