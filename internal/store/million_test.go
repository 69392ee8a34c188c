package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/psi-shapley/psi/internal/store"
)

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
