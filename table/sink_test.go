package table

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func filesIn(t *testing.T, directory string) []string {
	t.Helper()
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestFileAppearsOnlyWhenComplete(t *testing.T) {
	ctx := context.Background()
	directory := t.TempDir()
	path := filepath.Join(directory, "t.csv")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	sink, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := sink.Write(ctx, everyKind(t)); err != nil {
		t.Fatal(err)
	}
	if content, _ := os.ReadFile(path); string(content) != "old" {
		t.Fatal("the old file changed before Close")
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	if content, _ := os.ReadFile(path); string(content) == "old" {
		t.Error("the old file is still there after Close")
	}
	if err := errors.Join(sink.Close(), sink.Abort()); err != nil {
		t.Error("closing again:", err)
	}
	if names := filesIn(t, directory); len(names) != 1 {
		t.Errorf("left behind: %q", names)
	}
}

func TestAbortAndFailureLeaveNothing(t *testing.T) {
	ctx := context.Background()
	directory := t.TempDir()
	for _, name := range []string{"t.csv", "t.csv.gz", "t.parquet", "t.arrow"} {
		aborted, err := Create(filepath.Join(directory, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(aborted.Write(ctx, everyKind(t)), aborted.Abort(), aborted.Close()); err != nil {
			t.Error(err)
		}

		failed, err := Create(filepath.Join(directory, name))
		if err != nil {
			t.Fatal(err)
		}
		other, err := New(NumberColumn("other", []float64{1}, nil))
		if err != nil {
			t.Fatal(err)
		}
		if err := failed.Write(ctx, everyKind(t)); err != nil {
			t.Error(err)
		}
		if err := failed.Write(ctx, other); err == nil {
			t.Error("a chunk with other columns was taken")
		}
		if err := failed.Close(); err == nil {
			t.Error("Close forgot the failure")
		}

		empty, err := Create(filepath.Join(directory, name))
		if err != nil {
			t.Fatal(err)
		}
		want := filepath.Join(directory, name) + ": no table was written"
		if err := empty.Close(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if names := filesIn(t, directory); len(names) != 0 {
		t.Errorf("left behind: %q", names)
	}
}

func TestChunksMustAgree(t *testing.T) {
	ctx := context.Background()
	numbers, _ := New(NumberColumn("a", []float64{1}, nil))
	labels, _ := New(CategoryColumn("a", []string{"x"}, nil))
	two, _ := New(NumberColumn("a", []float64{1}, nil), NumberColumn("b", []float64{1}, nil))
	for want, second := range map[string]*Table{
		`column "a": a chunk has column "a" (category) where the first one has "a" (number)`: labels,
		"a chunk has 2 columns, the first one 1":                                             two,
	} {
		sink, err := NewSink(&bytes.Buffer{}, CSV)
		if err != nil {
			t.Fatal(err)
		}
		if err := sink.Write(ctx, numbers); err != nil {
			t.Fatal(err)
		}
		if err := sink.Write(ctx, second); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	sink, err := NewSink(&bytes.Buffer{}, Parquet)
	if err != nil {
		t.Fatal(err)
	}
	if err := sink.Write(ctx, &Table{}); err == nil || err.Error() != "a table without columns cannot be written" {
		t.Errorf("got %v", err)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestWriteErrorsAreReported(t *testing.T) {
	for name, format := range allFormats() {
		sink, err := NewSink(brokenWriter{}, format)
		if err != nil {
			t.Fatal(err)
		}
		err = sink.Write(context.Background(), everyKind(t))
		if err := errors.Join(err, sink.Close()); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A device is not replaced by a file, as it would be if the sink could rename over it.
func TestDeviceIsNotReplaced(t *testing.T) {
	link := filepath.Join(t.TempDir(), "null.csv")
	if err := os.Symlink(os.DevNull, link); err != nil {
		t.Skip(err)
	}
	if _, err := Create(link); err == nil {
		t.Error("a sink was made for a device")
	}
	directory := filepath.Join(t.TempDir(), "d.csv")
	if err := os.Mkdir(directory, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(directory); err == nil {
		t.Error("a sink was made for a directory")
	}
}

// The same rows are the same bytes, with more labels than a small dictionary holds too.
func TestParquetIsTheSameEachTime(t *testing.T) {
	const n = 40_000
	numbers, labels := make([]float64, n), make([]string, n)
	for i := range n {
		numbers[i], labels[i] = float64(i)*1.1, fmt.Sprintf("a label of some length, number %d", i)
	}
	rows, err := New(NumberColumn("x", numbers, nil), CategoryColumn("a.b", labels, nil))
	if err != nil {
		t.Fatal(err)
	}
	var first []byte
	for range 8 {
		var out bytes.Buffer
		sink := NewParquetSink(&out)
		if err := sink.Write(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
		if err := sink.Note("about", "rows"); err != nil {
			t.Fatal(err)
		}
		if err := sink.Close(); err != nil {
			t.Fatal(err)
		}
		if first != nil && !bytes.Equal(first, out.Bytes()) {
			t.Fatal("the same table was written as other bytes")
		}
		first = out.Bytes()
	}
	notes, err := Notes(bytes.NewReader(first))
	if err != nil || notes["about"] != "rows" {
		t.Errorf("%v, %v", notes, err)
	}
}

func TestNoteNeedsColumns(t *testing.T) {
	if err := NewParquetSink(&bytes.Buffer{}).Note("a", "b"); err == nil {
		t.Error("a note without a table")
	}
	if _, err := Notes(bytes.NewReader([]byte("PAR1 none PAR1"))); err == nil {
		t.Error("notes of no table")
	}
}
