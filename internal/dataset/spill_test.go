package dataset

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/table"
)

// A label takes no more memory or disk for each row that has it.
func TestLongLabelsOnDisk(t *testing.T) {
	const rows, bound = 4000, 64 << 20 // 4 GB as text
	label := strings.Repeat("a", 1<<20)
	x, y, labels := make([]float64, rows), make([]float64, rows), make([]string, rows)
	for i := range rows {
		x[i], y[i], labels[i] = float64(i), float64(i), label
	}
	labels[7] = "other"
	tab, err := table.New(table.NumberColumn("x", x, nil), table.NumberColumn("y", y, nil), table.CategoryColumn("label", labels, nil))
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSpill(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.file.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 3 {
		if err := s.append(tab); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.flush(); err != nil {
		t.Fatal(err)
	}
	read := 0
	err = s.each(t.Context(), func(chunk *table.Table) error {
		for i := range rows {
			if chunk.Column("x").Numbers[i] != x[i] || !chunk.Column("y").Observed[i] || i%500 == 7 && chunk.Column("label").Text(i) != labels[i] {
				t.Fatalf("row %d of chunk %d differs", i, read/rows)
			}
		}
		read += chunk.Rows()
		return nil
	})
	if err != nil || read != 3*rows {
		t.Fatalf("%d rows, %v", read, err)
	}
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; taken > bound || s.bytes > 30*3*rows {
		t.Errorf("%d bytes of memory and %d of disk for %d rows", taken, s.bytes, 3*rows)
	}
}

// A long label is digested once, in little memory, and still tells tables apart.
func TestDigestOfLongLabels(t *testing.T) {
	const rows = 20_000 // 14 GB as text
	digest := func(change func(c *table.Column)) string {
		c := table.CategoryColumn("c", []string{strings.Repeat("a", 1<<20), strings.Repeat("b", 1<<20), "short"}, nil)
		c.Observed, c.Codes = slices.Repeat([]bool{true}, rows), slices.Repeat(c.Codes, rows/3+1)[:rows]
		change(c)
		var d Digest
		d.Add(&table.Table{Columns: []*table.Column{c}})
		return d.String()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	seen := map[string]bool{digest(func(*table.Column) {}): true}
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 32<<20 {
		t.Errorf("%d bytes for labels of 2 MB", taken)
	}
	for i, change := range []func(c *table.Column){
		func(c *table.Column) { c.Codes[0] = 1 },
		func(c *table.Column) { c.Codes[0] = 2 },
		func(c *table.Column) { c.Levels[0] = c.Levels[0][1:] },
		func(c *table.Column) { c.Levels[0], c.Levels[1] = c.Levels[1], c.Levels[0] },
		func(c *table.Column) { c.Observed[0] = false },
	} {
		d := digest(change)
		if seen[d] {
			t.Errorf("change %d is not seen", i)
		}
		seen[d] = true
	}
}

func TestNoRoomOnDisk(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	_, err := newSpill(nowhere)
	if e, is := errors.AsType[*table.Error](err); !is || !errors.Is(err, fs.ErrNotExist) || e.Remedy == "" || !strings.Contains(e.Message, "cannot be kept in "+nowhere+", after 0 MB: ") {
		t.Error(err)
	}
	s, err := newScratch(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	part := make([]byte, 3<<20)
	if err := s.write(part); err != nil {
		t.Fatal(err)
	}
	if err := s.file.Close(); err != nil { // as a disk does that is full
		t.Fatal(err)
	}
	if err := s.write(part); !errors.Is(err, os.ErrClosed) || !strings.Contains(err.Error(), ", after 3 MB: ") {
		t.Error(err)
	}
	if err := s.flush(); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}
