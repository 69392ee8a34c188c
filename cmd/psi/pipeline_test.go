package main

import (
	"context"
	"errors"
	"io"
	"iter"
	"path/filepath"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/table"
)

// endless hands out the same rows for ever.
type endless struct {
	table.Source
	closed bool
}

func (*endless) Next(ctx context.Context) (*table.Table, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return table.New(table.NumberColumn("x", []float64{1}, nil))
}

func (s *endless) Close() error {
	s.closed = true
	return nil
}

// A reader that is far ahead lets go when it is closed.
func TestReadAheadCloses(t *testing.T) {
	source := &endless{}
	rows := readAhead(t.Context(), source)
	if _, err := rows.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := rows.Close(); err != nil || !source.closed {
		t.Errorf("closed %t: %v", source.closed, err)
	}
}

func TestReadAheadPassesTheEnd(t *testing.T) {
	one, err := table.New(table.NumberColumn("x", []float64{1}, nil))
	if err != nil {
		t.Fatal(err)
	}
	rows := readAhead(t.Context(), one.Source())
	defer rows.Close()
	if chunk, err := rows.Next(t.Context()); err != nil || chunk.Rows() != 1 {
		t.Fatalf("%v, %v", chunk, err)
	}
	if _, err := rows.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("after the last row: %v", err)
	}
}

// counting yields numbers until it is told to stop.
func counting(ctx context.Context) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := 0; ; i++ {
			if err := ctx.Err(); err != nil {
				yield(0, err)
				return
			}
			if !yield(i, nil) {
				return
			}
		}
	}
}

// A failure to write stops the computation, and is what is reported.
func TestWriteBehindFails(t *testing.T) {
	full := errors.New("disk full")
	err := writeBehind(t.Context(), counting, func(_ context.Context, i int) error {
		if i == 5 {
			return full
		}
		return nil
	})
	if !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

func TestWriteBehindKeepsOrder(t *testing.T) {
	want := errors.New("the end")
	compute := func(context.Context) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := range 100 {
				if !yield(i, nil) {
					return
				}
			}
			yield(0, want)
		}
	}
	next := 0
	err := writeBehind(t.Context(), compute, func(_ context.Context, i int) error {
		if i != next {
			t.Errorf("%d after %d", i, next-1)
		}
		next++
		return nil
	})
	if !errors.Is(err, want) || next != 100 {
		t.Errorf("%d written, then %v", next, err)
	}
}

// A cell that breaks off a long run late leaves one document, or no file at all.
func TestFailureAfterManyRows(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "long.csv")
	write(t, path, "x1,x2,x3\n"+strings.Repeat("1,2,3\n", 20_000)+"1,2,oops\n")
	for _, command := range []string{"predict", "explain"} {
		o := run(t, command, fixtures.model, path, "--json", "--backend", "go")
		document := wantJSON(t, o, "psi.error/v1")
		if o.code != failed || document["row"] != 20_000.0 || document["column"] != "x3" || document["file"] != path {
			t.Errorf("%s: exit %d, %v", command, o.code, document)
		}
		if o := run(t, command, fixtures.model, path, "-o", filepath.Join(dir, "r.parquet"), "--backend", "go"); o.code != failed {
			t.Errorf("%s: exit %d", command, o.code)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "*r.parquet*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
