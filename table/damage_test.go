package table

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// readDamaged reads content that may be anything. It may fail, with an *Error, but
// not panic; what it reads must be a valid table.
func readDamaged(t testing.TB, content []byte, format Format) {
	t.Helper()
	table, err := readWhole(bytes.NewReader(content), format, Options{Name: "damaged"})
	if err != nil {
		if e, is := errors.AsType[*Error](err); !is || e.File != "damaged" {
			t.Fatalf("not an *Error with a file: %v", err)
		}
		return
	}
	if _, err := New(table.Columns...); err != nil {
		t.Fatal("an invalid table was read:", err)
	}
}

func TestDamagedFilesAreErrors(t *testing.T) {
	for _, format := range []Format{Parquet, Arrow, ArrowFile} {
		content := written(t, everyKind(t), format, 2)
		for cut := 0; cut < len(content); cut++ {
			readDamaged(t, content[:cut], format)
		}
		for position := range content {
			for _, flip := range []byte{0x01, 0x80, 0xff} {
				damaged := bytes.Clone(content)
				damaged[position] ^= flip
				readDamaged(t, damaged, format)
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

func TestPanicsOfTheLibraryAreErrors(t *testing.T) {
	err := guard(func() error { panic("index out of range") })
	if want := "the file is damaged or not in its format: index out of range; write the file anew"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	want := errors.New("plain")
	if err := guard(func() error { return want }); err != want {
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
	for i := range mostColumns + 1 {
		wide.Columns = append(wide.Columns, NumberColumn(fmt.Sprint(i), nil, nil))
	}
	_, err := readWhole(bytes.NewReader(written(t, wide, Arrow, 1)), Arrow, Options{})
	if want := "the table has more than 65,536 columns; split the table"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
