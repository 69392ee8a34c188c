package table

import (
	"bytes"
	"fmt"
	"testing"
)

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
