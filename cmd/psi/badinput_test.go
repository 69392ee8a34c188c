package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// trial is a run on input that is broken, or looks it.
type trial struct {
	name  string
	files map[string]string
	args  string // @x is file x of the trial, words in capitals are fixtures
	code  int
	says  string // a piece of stderr, however it is broken into lines
}

// rowsOf is a table of n sound rows below the header.
func rowsOf(header string, n int) string {
	text := header + "\n"
	width := strings.Count(header, ",") + 1
	for row := range n {
		cells := make([]string, width)
		for c := range cells {
			cells[c] = digits((row*(c+2))%7) + ".5"
		}
		text += strings.Join(cells, ",") + "\n"
	}
	return text
}

func packed(text string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return out.String()
}

const toTrain = "train @t.csv --target y -o @m.psi"

func badTables() []trial {
	sound := rowsOf("a,b,y", 30)
	table := func(text string) map[string]string { return map[string]string{"t.csv": text} }
	predicting := "predict MODEL @t.csv"
	return []trial{
		{"ragged row", table(sound + "1,2\n"), toTrain, 1, "row 30: the row has 2 cells where the first line has 3"},
		{"row too long", table(sound + "1,2,3,4\n"), toTrain, 1, "row 30: the row has 4 cells"},
		{"target missing from the table", table(rowsOf("a,b,z", 30)), toTrain, 1, `column "y": the table has no such column to predict; choose one of a, b, z`},
		{"target constant", table("a,y\n" + strings.Repeat("1,5\n2,5\n", 15)), toTrain, 1, "the target is 5 in every row"},
		{"target all missing", table("a,y\n" + strings.Repeat("1,\n2,NA\n", 15)), toTrain, 1, "no row with a value in the target column"},
		{"target of times", table("a,y\n" + strings.Repeat("1,2020-01-01\n2,2021-05-03\n", 15)), toTrain, 1, "the target is a time"},
		{"columns of the same name", table("a,a,y\n1,2,3\n"), toTrain, 1, `column "a": columns 0 and 1 have the same name; rename one`},
		{"empty file", table(""), toTrain, 1, "the file is empty"},
		{"header only", table("a,b,y\n"), toTrain, 1, "no row with a value in the target"},
		{"one row", table("a,b,y\n1,2,3\n"), toTrain, 1, "only 1 row"},
		{"too few rows", table(rowsOf("a,y", 5)), toTrain, 1, "only 5 rows"},
		{"only the target", table(rowsOf("y", 30)), toTrain, 1, "no feature column is left"},
		{"a column all missing", table("a,b,y\n" + strings.Repeat("1,,3\n2,,4\n5,,9\n", 10)), toTrain, 0, `column "b": every cell is missing`},
		{"a cell of a million characters", table(sound + "1," + strings.Repeat("x", 1e6) + ",2\n"), toTrain, 0, `if "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…" means that the value is missing`},
		{"infinite", table(sound + "inf,1,2\n"), toTrain, 1, `row 30, column "a": "inf" is infinite`},
		{"1e999", table(sound + "1,1e999,2\n"), toTrain, 1, `row 30, column "b": "1e999" is infinite or too large`},
		{"NaN is missing", table(sound + "nan,1,2\n"), toTrain, 0, ""},
		{"truncated gzip", map[string]string{"t.csv.gz": packed(rowsOf("a,b,y", 3000))[:150]}, "train @t.csv.gz --target y -o @m.psi", 1, "the file is cut short or damaged: copy it again"},
		{"no gzip despite its name", map[string]string{"t.csv.gz": sound}, "train @t.csv.gz --target y -o @m.psi", 0, ""},
		{"invalid UTF-8", table("a,b,y\n" + strings.Repeat("\xff\xfe,red,2\n", 12)), toTrain, 1, "UTF-8"},
		{"NUL bytes", table(sound + "1,\x00,2\n"), toTrain, 0, `30 of 31 observed cells are numbers: if "\x00" means`},
		{"UTF-16", table("\xff\xfea\x00,\x00"), toTrain, 1, "UTF-16; save the file in UTF-8"},
		{"byte order mark", table("\ufeff" + sound), toTrain, 0, ""},
		{"names are numbers", table("1,2,3\n" + strings.Repeat("4,5,6\n", 20)), "train @t.csv --target 3 -o @m.psi", 1, "does not look like column names"},
		{"no Parquet", map[string]string{"t.parquet": sound}, "train @t.parquet --target y -o @m.psi", 1, "damaged or not in its format"},
		{"no Arrow", map[string]string{"t.arrow": "ARROW1\x00\x00" + sound}, "predict MODEL @t.arrow", 1, "damaged or not in its format"},

		{"wrong type in a cell", table("x1,x2,x3\n1,2,3\n1,oops,3\n"), predicting, 1, `row 1, column "x2": "oops" is not a number; correct the cell`},
		{"kind changed", table("x1,x2,x3\n" + strings.Repeat("true,2,3\n", 3)), predicting, 1, `column "x1": "true" is not a number`},
		{"infinite cell", table("x1,x2,x3\n1,-inf,3\n"), predicting, 1, `row 0, column "x2"`},
		{"column absent", table("x1,x3\n1,2\n"), predicting, 1, `column "x2": the table lacks this column, which the model was trained on; add it, with empty cells where its values are not known`},
		{"no column in common", table("p,q\n1,2\n"), predicting, 1, "none of the table's columns is wanted"},
		{"ragged row for a model", table("x1,x2,x3\n1,2,3\n1,2\n"), predicting, 1, "row 1: the row has 2 cells"},
		{"evaluate without target", table("x1,x2,x3\n1,2,3\n"), "evaluate MODEL @t.csv", 1, `column "y": the table lacks the target column`},
		{"evaluate with target all missing", table("x1,x2,x3,y\n1,2,3,\n"), "evaluate MODEL @t.csv", 1, "no row has a value in the target column"},
		{"evaluate with target text", table("x1,x2,x3,y\n1,2,3,high\n"), "evaluate MODEL @t.csv", 1, `row 0, column "y": "high" is not a number`},
		{"audit of no rows", table("x1,x2,x3\n"), "audit MODEL @t.csv", 1, "no rows to audit"},
		{"parts with different columns", map[string]string{"p1.csv": rowsOf("a,b,y", 30), "p2.csv": rowsOf("a,y", 30)}, "train @p*.csv --target y -o @m.psi", 1, `column "b": this column is missing from the file`},
		{"parts of different kinds", map[string]string{"p1.csv": rowsOf("a,b,y", 30), "p2.csv": "a,b,y\n1,red,3\n"}, "train @p*.csv --target y -o @m.psi", 1, `p2.csv, row 0, column "b": "red" is not a number`},
		{"validation table lacks a column", map[string]string{"t.csv": sound, "v.csv": rowsOf("a,y", 20)}, toTrain + " --validation @v.csv", 1, `v.csv, column "b": this column of the training table is missing`},
		{"validation table without target values", map[string]string{"t.csv": sound, "v.csv": "a,b,y\n1,2,\n"}, toTrain + " --validation @v.csv", 1, `v.csv, column "y": no row has a value in the target column`},
	}
}

func TestBadTables(t *testing.T) { tryAll(t, badTables()) }

// tryAll runs trials for people and for programs.
func tryAll(t *testing.T, trials []trial) {
	t.Helper()
	for _, trial := range trials {
		t.Run(trial.name, func(t *testing.T) {
			trial.run(t)
			if trial.code != 0 {
				trial.runForProgram(t)
			}
		})
	}
}

func (r *trial) command(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range r.files {
		write(t, filepath.Join(dir, name), text)
	}
	var args []string
	for arg := range strings.FieldsSeq(r.args) {
		switch {
		case arg == "MODEL":
			arg = fixtures.model
		case arg == "DEEP":
			arg = fixtures.deep
		case arg == "DATA":
			arg = fixtures.table
		case arg == "WIDE":
			arg = fixtures.wide
		case arg == "KINDS":
			arg = fixtures.kinds
		case arg == "FLOWERS":
			arg = fixtures.flowers
		case arg == "BINARY":
			arg = fixtures.binary
		case arg == "LABELS":
			arg = fixtures.labels
		case strings.HasPrefix(arg, "file://@"):
			arg = "file://" + filepath.Join(dir, strings.TrimPrefix(arg, "file://@"))
		case strings.HasPrefix(arg, "@"):
			arg = filepath.Join(dir, arg[1:])
		}
		args = append(args, arg)
	}
	if args[0] == "train" && !strings.Contains(r.args, "--backend") {
		args = quick(args...)
	}
	return args
}

func (r *trial) run(t *testing.T) {
	t.Helper()
	args := r.command(t)
	o := run(t, args...)
	if o.code != r.code || !strings.Contains(inOneLine(o.stderr), r.says) {
		t.Errorf("psi %s\nexit %d, want %d, and %q in\n%s", strings.Join(args, " "), o.code, r.code, r.says, o.stderr)
	}
	if r.code == 0 {
		return
	}
	if o.stdout != "" {
		t.Errorf("stdout of a failure: %q", o.stdout)
	}
	message := lastLine(o.stderr)
	if !strings.HasPrefix(message, "psi: ") || !strings.ContainsAny(message, ";:") {
		t.Errorf("no message, or one that does not say what to do: %q", message)
	}
	if len(message) > 1000 {
		t.Errorf("a message of %d characters", len(message))
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(args[len(args)-1]), ".*.tmp"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func (r *trial) runForProgram(t *testing.T) {
	t.Helper()
	o := run(t, append(r.command(t), "--json")...)
	if o.code != r.code {
		t.Errorf("with --json: exit %d, want %d", o.code, r.code)
	}
	if t.Failed() {
		return
	}
	document := wantJSON(t, o, "psi.error/v1")
	if text, _ := document["message"].(string); text == "" {
		t.Errorf("no message in %v", document)
	}
	for _, key := range []string{"file", "row", "column", "remedy"} {
		if _, there := document[key]; !there {
			t.Errorf("no %s in %v", key, document)
		}
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

func TestNoPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("the superuser may read everything")
	}
	path := filepath.Join(t.TempDir(), "t.csv")
	write(t, path, rowsOf("x1,x2,x3", 3))
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	if o := run(t, "predict", fixtures.model, path); o.code != failed || !strings.Contains(o.stderr, "permission") {
		t.Errorf("exit %d: %s", o.code, o.stderr)
	}
}
