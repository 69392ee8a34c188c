package store_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/psi-shapley/psi/internal/store"
)

// keys lists a location.
func keys(t *testing.T, p *store.Location, pattern string) []string {
	t.Helper()
	var all []string
	for o, err := range p.List(t.Context(), pattern) {
		if err != nil {
			t.Fatalf("%q: %v", pattern, err)
		}
		all = append(all, o.Key)
	}
	return all
}

// oddKeys are keys whose characters mean something to somebody.
var oddKeys = []string{
	"a.b.parquet", "a/b.parquet", "a/c/d.parquet", "a b/ä ö%20%.parquet", "b[1].parquet", "b*.parquet", "c+d&e=f#g.parquet", "x.csv",
	"_hidden/x.parquet", "_y.parquet", "a/.z.parquet", "a/_temporary/0/w.parquet",
}

func fill(t *testing.T, p *store.Location) {
	t.Helper()
	for _, key := range oddKeys {
		if err := p.Write(t.Context(), key, []byte("of "+key)); err != nil {
			t.Fatal(err)
		}
	}
}

// checkPatterns is of any location that was filled.
func checkPatterns(t *testing.T, p *store.Location) {
	t.Helper()
	shown := slices.DeleteFunc(slices.Sorted(slices.Values(oddKeys)), func(key string) bool {
		return strings.HasPrefix(key, "_") || strings.Contains(key, "/_") || strings.Contains(key, "/.")
	})
	for pattern, want := range map[string][]string{
		"":                   shown,
		"**":                 shown,
		"*.parquet":          {"a.b.parquet", "b*.parquet", "b[1].parquet", "c+d&e=f#g.parquet"},
		"*/*.parquet":        {"a b/ä ö%20%.parquet", "a/b.parquet"},
		"**/*.parquet":       slices.DeleteFunc(slices.Clone(shown), func(key string) bool { return key == "x.csv" }),
		"a/**":               {"a/b.parquet", "a/c/d.parquet"},
		"a/**/d.parquet":     {"a/c/d.parquet"},
		"[bx]*":              {"b*.parquet", "b[1].parquet", "x.csv"},
		`b\[1\].parquet`:     {"b[1].parquet"},
		"b?.parquet":         {"b*.parquet"},
		"_*":                 {"_y.parquet"},
		"_hidden/*":          {"_hidden/x.parquet"},
		"a/.*":               {"a/.z.parquet"},
		"a/_temporary/**":    {"a/_temporary/0/w.parquet"},
		"none*":              nil,
		"none/*":             nil,
		store.Quote("x.csv"): {"x.csv"},
		"none.csv":           nil,
	} {
		if got := keys(t, p, pattern); !slices.Equal(got, want) {
			t.Errorf("%q\n got  %q\n want %q", pattern, got, want)
		}
	}
	for o, err := range p.List(t.Context(), "a[") {
		if err == nil {
			t.Errorf("a pattern without its bracket finds %v", o)
		}
	}
	for pattern, want := range map[string]string{"x": "x", `a/\*\[`: "a/*[", "a/*": "", "": "", "a[": ""} {
		if key, is := store.Single(pattern); key != want || is != (want != "") {
			t.Errorf("%q matches only %q, %v", pattern, key, is)
		}
	}
}

// checkContents reads all objects of a filled location in both ways.
func checkContents(t *testing.T, p *store.Location) {
	t.Helper()
	for _, key := range oddKeys {
		want := "of " + key
		o, err := p.Stat(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if o.Key != key || o.Size != int64(len(want)) || o.Version == "" {
			t.Errorf("%q is %+v", key, o)
		}
		content, err := p.Read(t.Context(), key, 100)
		if err != nil || string(content) != want {
			t.Errorf("%q holds %q, %v", key, content, err)
		}
		if _, err := p.Read(t.Context(), key, o.Size-1); err == nil {
			t.Errorf("%q is read though it is too large", key)
		}
		r, err := p.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		part := make([]byte, 100)
		n, err := r.ReadAt(part, 3)
		if string(part[:n]) != key || !errors.Is(err, io.EOF) {
			t.Errorf("from byte 3 on %q holds %q, %v", key, part[:n], err)
		}
		if _, err := r.Seek(-2, io.SeekEnd); err != nil {
			t.Fatal(err)
		}
		end, err := io.ReadAll(r)
		if string(end) != want[len(want)-2:] || err != nil {
			t.Errorf("the end of %q is %q, %v", key, end, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	// A listing and a look tell the same version, or every unit of a job would seem changed.
	for o, err := range p.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Same(t.Context(), o); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// checkWriting is of any location that was filled.
func checkWriting(t *testing.T, p *store.Location) {
	t.Helper()
	ctx := t.Context()
	w, err := p.Create(ctx, "new/one.txt")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("not ")); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Stat(ctx, "new/one.txt"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("before it is closed: %v", err)
	}
	if got := keys(t, p, "new/**"); got != nil {
		t.Errorf("before it is closed %q are listed", got)
	}
	if _, err := w.Write([]byte("yet")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w.Abort() // as a deferred one does
	if err := w.Close(); err == nil {
		t.Error("closed twice")
	}
	if content, err := p.Read(ctx, "new/one.txt", 100); string(content) != "not yet" || err != nil {
		t.Errorf("%q, %v", content, err)
	}
	if err := p.Write(ctx, "new/one.txt", nil); err != nil {
		t.Fatal(err)
	}
	if o, err := p.Stat(ctx, "new/one.txt"); o.Size != 0 || err != nil {
		t.Errorf("emptied it is %+v, %v", o, err)
	}
	w, err = p.Create(ctx, "new/two.txt")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, 20<<20)); err != nil { // more than a part of an upload
		t.Fatal(err)
	}
	w.Abort()
	if got := keys(t, p, "new/.*"); got != nil {
		t.Errorf("what was aborted leaves %q", got)
	}
	for range 2 {
		if err := p.Delete(ctx, "new/one.txt"); err != nil {
			t.Error(err)
		}
	}
	if got := keys(t, p, "new/*"); got != nil {
		t.Errorf("%q are left", got)
	}
}

func TestDirectory(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "new", "place")
	p, err := store.Create(t.Context(), directory)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, p)
	checkPatterns(t, p)
	checkContents(t, p)
	checkWriting(t, p)
	if got, want := p.Name("a/b.parquet"), filepath.Join(directory, "a", "b.parquet"); got != want {
		t.Errorf("named %s, want %s", got, want)
	}
	for _, key := range []string{"../x", "/etc/passwd", ""} {
		if err := p.Write(t.Context(), key, nil); err == nil {
			t.Errorf("%q is written", key)
		}
	}
	if _, err := store.Create(t.Context(), filepath.Join(directory, "x.csv")); err == nil {
		t.Error("a file is taken for a directory")
	}
}

func TestWhatPeopleName(t *testing.T) {
	directory := t.TempDir()
	p, err := store.Create(t.Context(), "file://"+directory)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, p)
	for _, c := range []struct{ where, pattern, first string }{
		{"", "", "a b/ä ö%20%.parquet"},
		{"/x.csv", "x.csv", "x.csv"},
		{"/a/*.parquet", "*.parquet", "b.parquet"},
		{"/*/c/*", "*/c/*", "a/c/d.parquet"},
		{"/b[1].parquet", `b\[1].parquet`, "b[1].parquet"},
		{"/b*.parquet", `b\*.parquet`, "b*.parquet"}, // the one that is called so
		{"/_hidden", "", "x.parquet"},
		{"/a b/ä ö%20%.parquet", "ä ö%20%.parquet", "ä ö%20%.parquet"},
	} {
		for _, scheme := range []string{"", "file://"} {
			location, pattern, err := store.Open(t.Context(), scheme+directory+c.where)
			if err != nil {
				t.Errorf("%s: %v", c.where, err)
				continue
			}
			if pattern != c.pattern {
				t.Errorf("%s: pattern %q, want %q", c.where, pattern, c.pattern)
			}
			if got := keys(t, location, pattern); len(got) == 0 || got[0] != c.first {
				t.Errorf("%s: %q", c.where, got)
			}
		}
	}
	for where, want := range map[string]string{
		directory + "/none":          "there is no such file or object",
		directory + "/none/*.csv":    "there is no such file or object",
		directory + "/[*.csv":        "this is no pattern of names",
		"file://none":                "this is no URL of a file",
		"http://host/x.csv":          "http:// is no store that is known",
		"s3:///x.csv":                "the bucket's name is missing",
		"s3://b/x?%zz":               "what follows the ? cannot be read",
		"s3://b/x?nonsense=1":        "nonsense",
		"file://" + directory + "/?": "",
	} {
		if _, _, err := store.Open(t.Context(), where); want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", where, err, want)
		}
	}
}

func TestFileThatChanged(t *testing.T) {
	directory := t.TempDir()
	p, err := store.Create(t.Context(), directory)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(t.Context(), "x", []byte("first")); err != nil {
		t.Fatal(err)
	}
	o, err := p.Stat(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := p.Write(t.Context(), "x", []byte("other")); err != nil {
		t.Fatal(err)
	}
	if content, err := io.ReadAll(r); string(content) != "first" || err != nil {
		t.Errorf("an open file is %q, %v", content, err)
	}
	if err := p.Same(t.Context(), o); !errors.Is(err, store.ErrChanged) || store.IsTransient(err) {
		t.Errorf("in the end: %v", err)
	}
	if _, err := p.Open(t.Context(), o); !errors.Is(err, store.ErrChanged) {
		t.Errorf("opened anew: %v", err)
	}
	if err := p.Delete(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	if err := p.Same(t.Context(), o); !errors.Is(err, store.ErrNotFound) || store.IsTransient(err) {
		t.Errorf("removed: %v", err)
	}
}

func TestFileThatMayNotBeRead(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may read everything")
	}
	directory := t.TempDir()
	if err := os.WriteFile(filepath.Join(directory, "x"), nil, 0); err != nil {
		t.Fatal(err)
	}
	p, _, err := store.Open(t.Context(), directory)
	if err != nil {
		t.Fatal(err)
	}
	o, err := p.Stat(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Open(t.Context(), o); !errors.Is(err, fs.ErrPermission) || store.IsTransient(err) {
		t.Error(err)
	}
}

func TestLinks(t *testing.T) {
	directory := t.TempDir()
	p, err := store.Create(t.Context(), directory)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(t.Context(), "real/x", nil); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"round": ".", "real/y": "x", "gone": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(directory, link)); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := keys(t, p, ""), []string{"real/x", "real/y"}; !slices.Equal(got, want) {
		t.Errorf("below: %q, want %q", got, want)
	}
	if got, want := keys(t, p, "round/*/*"), []string{"round/real/x", "round/real/y"}; !slices.Equal(got, want) {
		t.Errorf("through the link: %q, want %q", got, want)
	}
}

// highest calls visit again and again and notes the most the heap held.
type highest struct {
	before, most uint64
	calls        int
}

func (h *highest) look() {
	if h.calls++; h.calls%50_000 != 1 {
		return
	}
	var now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&now)
	if h.before == 0 {
		h.before = now.HeapAlloc
	}
	h.most = max(h.most, now.HeapAlloc)
}

func TestMillionFiles(t *testing.T) {
	if os.Getenv("PSI_SLOW") == "" {
		t.Skip("PSI_SLOW is not set: it makes 10⁶ files")
	}
	const files, bound = 1_000_000, 100 << 20
	directory := t.TempDir()
	for i := range files {
		if err := os.WriteFile(filepath.Join(directory, fmt.Sprintf("part-%08d-0123456789abcdef.parquet", i*7919%files)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, _, err := store.Open(t.Context(), directory)
	if err != nil {
		t.Fatal(err)
	}
	var heap highest
	heap.look()
	started, first, n, last := time.Now(), time.Duration(0), 0, ""
	for o, err := range p.List(t.Context(), "*.parquet") {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 1 {
			first = time.Since(started)
		}
		if o.Key <= last {
			t.Fatalf("%s comes after %s", o.Key, last)
		}
		last = o.Key
		heap.look()
	}
	t.Logf("%d files in %v, the first after %v, heap at most %d MiB above what it was", n, time.Since(started).Round(time.Millisecond), first.Round(time.Millisecond), (heap.most-heap.before)>>20)
	if n != files || heap.most-heap.before > bound {
		t.Errorf("%d files, want %d, in %d bytes", n, files, heap.most-heap.before)
	}
}
