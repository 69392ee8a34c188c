package main

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/psi-shapley/psi/internal/store"
	"github.com/psi-shapley/psi/table"
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

// locations are where tables are read from: a directory by its URL, and a bucket if there is one.
func locations(t *testing.T) map[string]string {
	t.Helper()
	places := map[string]string{"file": "file://" + t.TempDir() + "/@"}
	if where := os.Getenv("PSI_S3"); where != "" {
		bucket, query, _ := strings.Cut(where, "?")
		places["s3"] = strings.TrimSuffix(bucket, "/") + "/psi-" + rand.Text() + "/@?" + query
	} else {
		t.Log("PSI_S3 is not set: no bucket is tried")
	}
	return places
}

func TestTablesBehindURLs(t *testing.T) {
	dir := t.TempDir()
	keys := []string{"a b/part 1%20.csv", "a b/part-ä.parquet", "more/x.csv"}
	rows := readTable(t, fixtures.table)
	local := make([]string, len(keys))
	for i, key := range keys {
		local[i] = filepath.Join(dir, filepath.Base(key))
		writeTable(t, rows, local[i])
	}
	for name, location := range locations(t) {
		t.Run(name, func(t *testing.T) {
			at := func(key string) string { return strings.Replace(location, "@", key, 1) }
			place, err := store.Create(t.Context(), at(""))
			if err != nil {
				t.Fatal(err)
			}
			for i, key := range keys {
				content, err := os.ReadFile(local[i])
				if err == nil {
					err = place.Write(t.Context(), key, content)
				}
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := place.Delete(context.WithoutCancel(t.Context()), key); err != nil {
						t.Error(err)
					}
				})
			}
			if err := place.Write(t.Context(), "readme.txt", []byte("no table")); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = place.Delete(context.WithoutCancel(t.Context()), "readme.txt") })

			want := mustRun(t, "explain", fixtures.model, fixtures.table, "--format", "csv", "-o", "-").stdout
			for _, key := range keys {
				if got := mustRun(t, "explain", fixtures.model, at(key), "--format", "csv", "-o", "-").stdout; got != want {
					t.Errorf("%s is explained as\n%s\nwant\n%s", key, got, want)
				}
			}
			for pattern, of := range map[string][]string{"a b/*": keys[:2], "a b": keys[:2], "": keys, "**/*.csv": {keys[0], keys[2]}} {
				got := mustRun(t, "predict", fixtures.model, at(pattern), "--format", "csv", "-o", "-").stdout
				lines := strings.Split(strings.TrimSpace(got), "\n")
				if !strings.HasPrefix(lines[0], "file,row,") || len(lines) != 1+len(of)*rows.Rows() {
					t.Errorf("%q: %d lines, the first %q", pattern, len(lines), lines[0])
					continue
				}
				for i, key := range of {
					if name := place.Name(key); !strings.HasPrefix(lines[1+i*rows.Rows()], name+",0,") {
						t.Errorf("%q: %q is not of %s", pattern, lines[1+i*rows.Rows()], name)
					}
				}
			}
			wantJSON(t, mustRun(t, "evaluate", fixtures.model, at(keys[1]), "--json"), "psi.evaluation/v1")
			model := filepath.Join(t.TempDir(), "m.psi")
			mustRun(t, quick("train", at("a b/"), "--target", "y", "--validation", at(keys[2]), "-o", model)...)
			if o := run(t, "predict", fixtures.model, at("none*.csv")); o.code != 1 || !strings.Contains(o.stderr, "nothing matches the pattern") {
				t.Errorf("exit %d: %s", o.code, o.stderr)
			}
			if o := run(t, "predict", fixtures.model, at("none.csv")); o.code != 1 || !strings.Contains(o.stderr, "there is no such file or object") {
				t.Errorf("exit %d: %s", o.code, o.stderr)
			}
		})
	}
}

func writeTable(t *testing.T, rows *table.Table, path string) {
	t.Helper()
	sink, err := table.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(sink.Write(t.Context(), rows), sink.Close()); err != nil {
		t.Fatal(err)
	}
}
