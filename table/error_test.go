package table

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCSVErrors(t *testing.T) {
	invalid := string([]byte{0xff, 0xe9})
	for _, c := range []struct {
		name, text string
		options    Options
		want       string
	}{
		{"empty", "", Options{}, `t.csv: the file is empty; give a file with a header line and rows`},
		{"blank", "\n\n", Options{}, `t.csv: the file is empty; give a file with a header line and rows`},
		{
			"blank line", "a,b\n1,2\n\n3,4\n",
			Options{},
			`t.csv, row 1: line 3 of the file is blank; remove it; in a table of one column write "" for a missing cell`,
		},
		{
			"short row", "a,b,c\n1,2,3\n1,2\n",
			Options{},
			`t.csv, row 1: the row has 2 cells where the first line has 3, cut at each comma (line 3 of the file); complete the row, or quote cells that contain the delimiter`,
		},
		{
			"long row", "a;b\n1;2;3\n",
			Options{Delimiter: ';'},
			`t.csv, row 0: the row has 3 cells where the first line has 2, cut at each semicolon (line 2 of the file); complete the row, or quote cells that contain the delimiter`,
		},
		{
			"open quote", "a,b\n1,\"x\ny\n",
			Options{},
			`t.csv, row 0: the quote opened in line 2 is never closed (line 3 of the file); close it, or double quotes that belong to the text`,
		},
		{
			"text after quote", "a,b\n1,\"x\"y\n",
			Options{},
			`t.csv, row 0: "y" follows a closing quote (line 2 of the file); double quotes that belong to the text`,
		},
		{"two names alike", "a,b,a\n1,2,3\n", Options{}, `t.csv, column "a": columns 0 and 2 have the same name; rename one of them`},
		{
			"numbers as names", "1,2\n3,4\n",
			Options{},
			`t.csv: the first line holds only numbers, so it does not look like column names; give the columns names, in a first line`,
		},
		{
			"old line ends", "a,b\r1,2\r",
			Options{},
			`t.csv: the header contains a carriage return that ends no line; save the file with ordinary line ends`,
		},
		{
			"infinite", "a\n1\n-inf\n",
			Options{},
			`t.csv, row 1, column "a": "-inf" is infinite or too large; write a finite number or leave the cell empty`,
		},
		{
			"too large", "a\n1e999\n",
			Options{},
			`t.csv, row 0, column "a": "1e999" is infinite or too large; write a finite number or leave the cell empty`,
		},
		{"not UTF-8", "a\nx\n" + invalid + "\n", Options{}, `t.csv, row 1, column "a": "\xff\xe9" is not UTF-8 text; save the file in UTF-8`},
		{"name not UTF-8", "a," + invalid + "\n1,2\n", Options{}, `t.csv: the name of column 1 is not UTF-8 text; save the file in UTF-8`},
		{"UTF-16", "\xff\xfea\x00", Options{}, `t.csv: the text is UTF-16; save the file in UTF-8`},
		{"UTF-16 big end", "\xfe\xff\x00a", Options{}, `t.csv: the text is UTF-16; save the file in UTF-8`},
		{"damaged gzip", string(packed("a,b\n1,2\n")[:25]), Options{}, `t.csv: reading failed: unexpected EOF`},
		{"no gzip", "\x1f\x8bxxxxxxxxxxxx", Options{}, `t.csv: reading failed: gzip: invalid header`},
		{"impossible delimiter", "a\n1\n", Options{Delimiter: '"'}, `t.csv: '"' cannot be a delimiter; use a comma, semicolon or tab`},
		{
			"unknown categorical", "a\n1\n",
			Options{Categorical: []string{"b"}},
			`t.csv, column "b": the column is declared a category but the table has no such column; check the spelling`,
		},
		{
			"nothing kept", "a\n1\n",
			Options{Keep: func(string) bool { return false }},
			`t.csv: none of the table's columns is wanted; check the names of the columns to read`,
		},
		{
			"declared number", "a\nx\n",
			Options{Kinds: map[string]Kind{"a": Number}},
			`t.csv, row 0, column "a": "x" is not a number, as it was declared; declare the column a category, or add "x" to the missing tokens if it means that the value is missing`,
		},
		{
			"declared time", "a\nx\n",
			Options{Kinds: map[string]Kind{"a": Time}},
			`t.csv, row 0, column "a": "x" is not a date or time, as it was declared; declare the column a category, or add "x" to the missing tokens if it means that the value is missing`,
		},
		{
			"declared boolean", "a\n2\n",
			Options{Kinds: map[string]Kind{"a": Boolean}},
			`t.csv, row 0, column "a": "2" is neither false nor true, as it was declared; declare the column a category, or add "2" to the missing tokens if it means that the value is missing`,
		},
		{
			"long cell in message", "a\n1\n" + strings.Repeat("é", 50) + "\n",
			Options{SampleRows: 1},
			`t.csv, row 1, column "a": "` + strings.Repeat("é", 39) + `…" is not a number, unlike the first 1 row, from which the column's kind was inferred; declare the column a category, or add "` + strings.Repeat("é", 39) + `…" to the missing tokens if it means that the value is missing`,
		},
		{
			"too long a cell", "a,b\n" + strings.Repeat("x", maxCellBytes+1) + ",1\n",
			Options{},
			`t.csv, row 0: cell 1 is longer than 1 MiB (line 2 of the file); shorten it, or look for a quote that is never closed`,
		},
		{
			"too long a record", "a,b\n\"" + strings.Repeat(strings.Repeat("x", 1023)+"\n", maxRecordBytes>>10),
			Options{},
			`t.csv, row 0: the record is longer than 16 MiB (line 16384 of the file); check the line ends, and look for a quote that is never closed`,
		},
		{
			"too many columns", strings.Repeat("a;", maxColumns+1),
			Options{},
			`t.csv: the record has more than 65,536 cells (line 1 of the file); check the delimiter, or split the table`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.options.Name = "t.csv"
			if c.options.SampleRows == 0 {
				c.options.SampleRows = -1
			}
			source, err := OpenReader(strings.NewReader(c.text), CSV, c.options)
			if err == nil {
				_, err = ReadAll(context.Background(), source)
			}
			if _, is := errors.AsType[*Error](err); !is || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestContradictionAfterTheSample(t *testing.T) {
	for text, want := range map[string]string{
		"1\n2\nfive\n":                   `"five" is not a number`,
		"yes\nno\nt\n":                   `"t" is neither no nor yes`,
		"2011-01-01\n2011-01-02\nsoon\n": `"soon" is not a date or time`,
		"NA\nNA\nred\n":                  `"red" is not a number`,
	} {
		source, err := OpenReader(strings.NewReader("c\n"+text), CSV, Options{Name: "s.csv", SampleRows: 2})
		if err != nil {
			t.Fatal(err)
		}
		_, err = ReadAll(context.Background(), source)
		want = `s.csv, row 2, column "c": ` + want + ", unlike the first 2 rows, from which the column's kind was inferred; declare the column a category, or add "
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got  %v\nwant %s…", err, want)
		}
		// The remedy works.
		source, err = OpenReader(strings.NewReader("c\n"+text), CSV, Options{SampleRows: 2, Categorical: []string{"c"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = ReadAll(context.Background(), source); err != nil {
			t.Error(err)
		}
	}
}

func TestLabelBound(t *testing.T) {
	set := newLevelSet(nil)
	set.labels = make([]string, maxLevels)
	_, err := set.code([]byte("one more"))
	want := "the column has more than 1,048,576 distinct labels, or more than 256 MiB of them; drop the column: it seems to identify rows rather than to describe them"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestFileErrors(t *testing.T) {
	ctx := context.Background()
	directory := t.TempDir()
	if _, err := Open(filepath.Join(directory, "absent.csv"), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	for _, name := range []string{"T.xlsx", "t", "t.parquet.gz", "t.arrow.gz"} {
		want := name + ": cannot infer the format from the file name; use .csv, .csv.gz, .tsv, .tsv.gz, .parquet or .arrow, or name the format"
		if name == "T.xlsx" {
			want = name + ": psi neither reads nor writes spreadsheets; use .csv, which spreadsheet programs open and save"
		}
		if _, err := Open(name, Options{}); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		if _, err := Create(name); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	if _, err := Create(filepath.Join(directory, "absent", "t.csv")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	path := filepath.Join(directory, "t.csv")
	if err := os.WriteFile(path, []byte("a,b\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Read(ctx, path, Options{})
	if e, is := errors.AsType[*Error](err); !is || e.File != path || e.Row != 0 || e.Remedy == "" {
		t.Errorf("got %#v", err)
	}
	if _, err := ParseFormat("xlsx"); err == nil || err.Error() != `unknown format "xlsx"; use csv, tsv, parquet or arrow` {
		t.Errorf("got %v", err)
	}
	if _, err := OpenReader(strings.NewReader(""), 99, Options{}); err == nil || err.Error() != "unknown format 99" {
		t.Errorf("got %v", err)
	}
	if _, err := NewSink(&bytes.Buffer{}, 99); err == nil || err.Error() != "unknown format 99" {
		t.Errorf("got %v", err)
	}
}

func TestFormatNames(t *testing.T) {
	for name, want := range map[string]Format{"csv": CSV, "tsv": TSV, "parquet": Parquet, "arrow": Arrow} {
		if got, err := ParseFormat(name); err != nil || got != want {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
	for path, want := range map[string]Format{"a/b.csv": CSV, "b.TSV.GZ": TSV, "c.parquet": Parquet, "d.arrow": ArrowFile} {
		if got, err := FormatOf(path); err != nil || got != want {
			t.Errorf("%s: %v %v", path, got, err)
		}
	}
}

func TestCancelledReadsStop(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for name, format := range allFormats() {
		source, err := OpenReader(bytes.NewReader(written(t, everyKind(t), format, 2)), format, Options{SampleRows: 1, ChunkRows: 1})
		if err != nil {
			t.Fatal(name, err)
		}
		if _, err := ReadAll(ctx, source); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		sink, err := NewSink(&bytes.Buffer{}, format)
		if err != nil {
			t.Fatal(name, err)
		}
		if err := sink.Write(ctx, everyKind(t)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte("a\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(ctx, path, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestNoRoomForACopy(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "nowhere"))
	content := written(t, everyKind(t), Parquet, 2)
	_, err := readWhole(io.MultiReader(bytes.NewReader(content)), Parquet, Options{Name: "t"})
	if e, is := errors.AsType[*Error](err); !is || !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(e.Message, "a copy of the input, which is read at random, cannot be written: ") ||
		!strings.Contains(e.Remedy, "set TMPDIR") {
		t.Error(err)
	}
}

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
