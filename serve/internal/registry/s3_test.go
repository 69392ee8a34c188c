package registry_test

import (
	"bytes"
	"crypto/md5" //nolint:gosec // as S3 makes ETags
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// bucket is an S3 server of one bucket that fails as it is told.
type bucket struct {
	url string

	mu      sync.Mutex
	objects map[string][]byte
	down    bool            // answers 503, to everything
	refuses map[string]bool // keys whose content is a 503
	stalls  map[string]bool // keys whose content stops in the middle
	gets    map[string]int  // of the content, by key
}

func newBucket(t *testing.T) *bucket {
	t.Helper()
	b := &bucket{objects: map[string][]byte{}, refuses: map[string]bool{}, stalls: map[string]bool{}, gets: map[string]int{}}
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { b.serve(w, r, ended) }))
	t.Cleanup(func() {
		close(ended)
		server.Close()
	})
	b.url = "s3://b/m/?endpoint=" + server.URL + "&use_path_style=true&region=us-east-1&anonymous=true"
	return b
}

// change does something to the bucket between its answers.
func (b *bucket) change(do func(b *bucket)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	do(b)
}

func (b *bucket) serve(w http.ResponseWriter, r *http.Request, ended <-chan struct{}) {
	b.mu.Lock()
	key := strings.TrimPrefix(r.URL.Path, "/b/")
	list := strings.TrimSuffix(r.URL.Path, "/") == "/b"
	content, has := b.objects[key]
	if !list && r.Method == http.MethodGet {
		b.gets[key]++
	}
	refused := b.down || b.refuses[key] && r.Method == http.MethodGet
	stalls := b.stalls[key] && r.Method == http.MethodGet
	listing := b.listing(r.URL.Query().Get("prefix"))
	b.mu.Unlock()
	switch {
	case refused:
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprint(w, `<Error><Code>SlowDown</Code><Message>try later</Message></Error>`)
	case list:
		w.Header().Set("Content-Type", "application/xml")
		_, _ = fmt.Fprint(w, listing)
	case !has:
		w.WriteHeader(http.StatusNotFound)
	case stalls:
		w.Header().Set("ETag", etag(content))
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		_, _ = w.Write(content[:1000])
		w.(http.Flusher).Flush()
		select {
		case <-ended:
		case <-r.Context().Done():
		}
	default:
		w.Header().Set("ETag", etag(content))
		http.ServeContent(w, r, "", time.Unix(1, 0), bytes.NewReader(content))
	}
}

func etag(content []byte) string { return fmt.Sprintf(`"%x"`, md5.Sum(content)) } //nolint:gosec // as S3 makes them

func (b *bucket) listing(prefix string) string {
	var x strings.Builder
	x.WriteString(`<?xml version="1.0"?><ListBucketResult><Name>b</Name><IsTruncated>false</IsTruncated>`)
	for _, key := range slices.Sorted(maps.Keys(b.objects)) {
		if strings.HasPrefix(key, prefix) {
			fmt.Fprintf(&x, `<Contents><Key>%s</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>%s</ETag><Size>%d</Size></Contents>`,
				key, html.EscapeString(etag(b.objects[key])), len(b.objects[key]))
		}
	}
	x.WriteString(`</ListBucketResult>`)
	return x.String()
}
