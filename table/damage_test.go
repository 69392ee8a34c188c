package table

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// readDamaged streams content that may be anything. It may fail, with an *Error, but
// not panic; what it reads must be valid tables. A few bytes can stand for any
// number of rows, so not all of them are read.
func readDamaged(t testing.TB, content []byte, format Format, options Options) (rows int, err error) {
	t.Helper()
	options.Name = "damaged"
	source, err := OpenReader(bytes.NewReader(content), format, options)
	if err == nil {
		defer source.Close()
	}
	for err == nil && rows < defaultChunkRows {
		var chunk *Table
		if chunk, err = source.Next(context.Background()); err != nil {
			break
		}
		if _, invalid := New(chunk.Columns...); invalid != nil {
			t.Fatal("an invalid table was read:", invalid)
		}
		rows += chunk.Rows()
	}
	if err == nil || errors.Is(err, io.EOF) {
		return rows, nil
	}
	if e, is := errors.AsType[*Error](err); !is || e.File != "damaged" {
		t.Fatalf("not an *Error with a file: %v", err)
	}
	return rows, err
}

func TestDamagedFilesAreErrors(t *testing.T) {
	table := everyKind(t)
	for _, format := range []Format{Parquet, Arrow, ArrowFile} {
		content := written(t, table, format, 2)
		for cut := range content {
			// A stream may end after any message; a file says where it ends.
			if rows, err := readDamaged(t, content[:cut], format, Options{}); err == nil && rows < table.Rows() && format != Arrow {
				t.Fatalf("%d bytes of %d gave %d rows and no error", cut, len(content), rows)
			}
		}
		for position := range content {
			for _, flip := range []byte{0x80, 0xff} {
				damaged := bytes.Clone(content)
				damaged[position] ^= flip
				_, _ = readDamaged(t, damaged, format, Options{})
			}
		}
	}
}

func TestDamageIsNamed(t *testing.T) {
	for format, content := range map[Format]string{Parquet: "PAR1 this is no Parquet file PAR1", Arrow: "no Arrow", ArrowFile: "ARROW1\x00\x00 and then nothing"} {
		_, err := readWhole(strings.NewReader(content), format, Options{Name: "t"})
		if err == nil || !strings.HasPrefix(err.Error(), "t: the file is damaged or not in its format: ") || !strings.HasSuffix(err.Error(), "; write the file anew") {
			t.Errorf("%v: %v", format, err)
		}
	}
}

func TestHostileClaimsAreRefused(t *testing.T) {
	for claim, content := range map[string]string{
		"a message claims 2147483647 bytes of metadata": "\xff\xff\xff\xff\xff\xff\xff\x7f",
		"a message claims a body of 1099511627776 bytes": "\xff\xff\xff\xff\x20\x00\x00\x00" + // one table at 16, its layout at 4
			"\x10\x00\x00\x00\x0c\x00\x0c\x00\x00\x00\x00\x00\x00\x00\x04\x00" +
			"\x0c\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00",
	} {
		_, err := readWhole(strings.NewReader(content), Arrow, Options{})
		if err == nil || !strings.Contains(err.Error(), claim) {
			t.Errorf("got  %v\nwant %s", err, claim)
		}
	}
}

func TestPanicsOfTheLibraryAreErrors(t *testing.T) {
	err := guard(func() error { panic("index out of range") })
	if want := "the file is damaged or not in its format: index out of range; write the file anew"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	want := errors.New("plain")
	if err := guard(func() error { return want }); !errors.Is(err, want) {
		t.Errorf("got %v", err)
	}
}

// Files of other programs in which names repeat or are missing.
func TestTypedFilesNeedNames(t *testing.T) {
	for want, names := range map[string][2]string{
		`t: column 1 has no name; give every column a name`:                     {"a", ""},
		`t, column "a": columns 0 and 1 have the same name; rename one of them`: {"a", "a"},
	} {
		table := &Table{Columns: []*Column{NumberColumn(names[0], []float64{1}, nil), NumberColumn(names[1], []float64{1}, nil)}}
		_, err := readWhole(bytes.NewReader(written(t, table, Arrow, 1)), Arrow, Options{Name: "t"})
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	wide := &Table{}
	for i := range maxColumns + 1 {
		wide.Columns = append(wide.Columns, NumberColumn(fmt.Sprint(i), nil, nil))
	}
	_, err := readWhole(bytes.NewReader(written(t, wide, Arrow, 1)), Arrow, Options{})
	if want := "the table has more than 65,536 columns; split the table"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
