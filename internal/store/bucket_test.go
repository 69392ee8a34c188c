package store_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/psi-shapley/psi/internal/store"
)

// s3 is the bucket to test with, and what follows the question mark in its URL.
func s3(t *testing.T) (bucket string, query url.Values) {
	t.Helper()
	where := os.Getenv("PSI_S3")
	if where == "" {
		t.Skip("PSI_S3 is not set: the URL of a bucket of S3 to test with, as in s3://psi?endpoint=http://127.0.0.1:17070&use_path_style=true&region=us-east-1")
	}
	bucket, text, _ := strings.Cut(where, "?")
	query, err := url.ParseQuery(text)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(bucket, "/"), query
}

// prefix is a fresh location in the bucket, emptied in the end.
func prefix(t *testing.T) (location *store.Location, where, query string) {
	t.Helper()
	bucket, values := s3(t)
	where, query = fmt.Sprintf("%s/test-%s", bucket, rand.Text()), "?"+values.Encode()
	location, err := store.Create(t.Context(), where+query)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		for _, pattern := range []string{"", "_*", "_hidden/**", "a/.*", "a/_temporary/**"} {
			for o, err := range location.List(ctx, pattern) {
				if err == nil {
					err = location.Delete(ctx, o.Key)
				}
				if err != nil {
					t.Error(err)
				}
			}
		}
		if err := location.Close(); err != nil {
			t.Error(err)
		}
	})
	return location, where, query
}

func TestBucket(t *testing.T) {
	p, where, query := prefix(t)
	fill(t, p)
	checkPatterns(t, p)
	checkContents(t, p)
	checkWriting(t, p)
	if got, want := p.Name("a/b.parquet"), where+"/a/b.parquet"; got != want {
		t.Errorf("named %s, want %s", got, want)
	}
	for _, c := range []struct{ where, pattern, first string }{
		{"", "", "a b/ä ö%20%.parquet"},
		{"/", "", "a b/ä ö%20%.parquet"},
		{"/x.csv", "x.csv", "x.csv"},
		{"/a/*.parquet", "*.parquet", "b.parquet"},
		{"/a", "", "b.parquet"},
		{"/*/c/*", "*/c/*", "a/c/d.parquet"},
		{"/b[1].parquet", `b\[1].parquet`, "b[1].parquet"},
		{"/a b/ä ö%20%.parquet", "ä ö%20%.parquet", "ä ö%20%.parquet"},
	} {
		location, pattern, err := store.Open(t.Context(), where+c.where+query)
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
		if err := location.Close(); err != nil {
			t.Error(err)
		}
	}
	_, _, err := store.Open(t.Context(), where+"/none"+query)
	if !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	_, _, err = store.Open(t.Context(), "s3://none-"+strings.ToLower(rand.Text())+"/x"+query)
	if !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
}

func TestLargeObject(t *testing.T) {
	p, _, _ := prefix(t)
	content := make([]byte, 21<<20)
	_, _ = rand.Read(content) // never fails
	if err := p.Write(t.Context(), "large", content); err != nil {
		t.Fatal(err)
	}
	o, err := p.Stat(t.Context(), "large")
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, content) {
		t.Errorf("read %d bytes that differ, %v", len(got), err)
	}
	part := make([]byte, 7<<20)
	if _, err := r.ReadAt(part, 9<<20); err != nil || !bytes.Equal(part, content[9<<20:16<<20]) {
		t.Errorf("a range differs, %v", err)
	}
	if requests, got := r.Taken(); requests != 1 || got != 28<<20 {
		t.Errorf("%d requests, %d bytes", requests, got)
	}
}

func TestObjectReplacedWhileItIsRead(t *testing.T) {
	p, _, _ := prefix(t)
	for _, other := range []string{"other", "1", "a longer one"} { // as long, cut off, grown
		if err := p.Write(t.Context(), "x", []byte("12345")); err != nil {
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
		part := make([]byte, 2)
		if _, err := r.ReadAt(part, 0); err != nil {
			t.Fatal(err)
		}
		if err := p.Write(t.Context(), "x", []byte(other)); err != nil {
			t.Fatal(err)
		}
		if _, err := r.ReadAt(part, 2); !errors.Is(err, store.ErrChanged) || store.IsTransient(err) {
			t.Errorf("%q: at the next range: %v", other, err)
		}
		if _, err := r.Read(part); !errors.Is(err, store.ErrChanged) {
			t.Errorf("%q: read on: %v", other, err)
		}
		if err := p.Same(t.Context(), o); !errors.Is(err, store.ErrChanged) {
			t.Errorf("%q: in the end: %v", other, err)
		}
		if err := p.Delete(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
		if _, err := r.ReadAt(part, 2); !errors.Is(err, store.ErrNotFound) || store.IsTransient(err) {
			t.Errorf("removed: %v", err)
		}
		_ = r.Close() // nothing to lose
	}
}

func TestBucketThatMayNotBeRead(t *testing.T) {
	bucket, query := s3(t)
	t.Setenv("AWS_SECRET_ACCESS_KEY", "not the right one")
	_, _, err := store.Open(t.Context(), bucket+"/x/?"+query.Encode())
	if !errors.Is(err, fs.ErrPermission) || store.IsTransient(err) {
		t.Error(err)
	}
	t.Log(err)
}

// wire carries bytes to the store until it is cut, or cuts itself after some.
type wire struct {
	listener net.Listener
	to       string
	mu       sync.Mutex
	left     int // bytes of answers until it breaks; negative is never
	open     []net.Conn
}

func newWire(t *testing.T, to string) *wire {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: listener, to: to, left: -1}
	go w.serve()
	t.Cleanup(w.cut)
	return w
}

func (w *wire) serve() {
	for {
		near, err := w.listener.Accept()
		if err != nil {
			return
		}
		far, err := new(net.Dialer).Dial("tcp", w.to)
		if err != nil {
			_ = near.Close()
			continue
		}
		w.mu.Lock()
		w.open = append(w.open, near, far)
		w.mu.Unlock()
		go func() { _, _ = io.Copy(far, near) }()
		go w.answer(near, far)
	}
}

func (w *wire) answer(near, far net.Conn) {
	defer near.Close()
	defer far.Close()
	buffer := make([]byte, 16<<10)
	for {
		n, err := far.Read(buffer)
		w.mu.Lock()
		breaks := w.left >= 0 && n >= w.left
		if breaks {
			n, w.left = w.left, -1
		} else if w.left >= 0 {
			w.left -= n
		}
		w.mu.Unlock()
		if _, wrong := near.Write(buffer[:n]); wrong != nil || err != nil || breaks {
			return
		}
	}
}

// breakAfter cuts one connection once that many bytes of answers have passed.
func (w *wire) breakAfter(passed int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = passed
}

// cut is what the death of the store looks like.
func (w *wire) cut() {
	_ = w.listener.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range slices.Backward(w.open) {
		_ = c.Close()
	}
}

func TestStoreThatDies(t *testing.T) {
	p, where, _ := prefix(t)
	content := make([]byte, 3<<20)
	_, _ = rand.Read(content) // never fails
	if err := p.Write(t.Context(), "x", content); err != nil {
		t.Fatal(err)
	}
	_, query := s3(t)
	endpoint, err := url.Parse(query.Get("endpoint"))
	if err != nil || endpoint.Host == "" {
		t.Skip("PSI_S3 has no endpoint to put a wire before")
	}
	w := newWire(t, endpoint.Host)
	endpoint.Host = w.listener.Addr().String()
	query.Set("endpoint", endpoint.String())
	far, _, err := store.Open(t.Context(), where+"/?"+query.Encode())
	if err != nil {
		t.Fatal(err)
	}
	o, err := far.Stat(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	r, err := far.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := make([]byte, 2<<20)
	w.breakAfter(1 << 20)
	if _, err := r.ReadAt(got, 1<<20); err != nil || !bytes.Equal(got, content[1<<20:]) {
		t.Errorf("an answer that breaks off once is not asked for again: %v", err)
	}
	w.cut()
	_, err = r.ReadAt(got, 0)
	if !store.IsTransient(err) {
		t.Errorf("when the store is gone: %v", err)
	}
	t.Log(err)
	for _, err := range far.List(t.Context(), "*") {
		if !store.IsTransient(err) {
			t.Errorf("listing when the store is gone: %v", err)
		}
	}
	if err := far.Write(t.Context(), "y", content); !store.IsTransient(err) {
		t.Errorf("writing when the store is gone: %v", err)
	}
	if _, err := p.Stat(t.Context(), "y"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("what could not be written: %v", err)
	}
}
