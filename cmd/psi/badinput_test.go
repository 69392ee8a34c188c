package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strconv"
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

// classesOf is a table with that many classes, two rows of each.
func classesOf(n int) string {
	var text strings.Builder
	text.WriteString("a,y\n")
	for row := range 2 * n {
		text.WriteString(strconv.Itoa(row*7%13) + ",c" + strconv.Itoa(row%n) + "\n")
	}
	return text.String()
}

func badClasses() []trial {
	table := func(text string) map[string]string { return map[string]string{"t.csv": text} }
	two := "a,y\n" + strings.Repeat("1,red\n2,blue\n", 15)
	three := "a,b,y\n" + strings.Repeat("1,0,red\n2,1,blue\n3,1,green\n", 12)
	training := func(flags string) string { return toTrain + " " + flags }
	return []trial{
		{"target text", table(two), toTrain, 0, "predicts whether y is red from 1 column"},
		{"target true or false", table("a,y\n" + strings.Repeat("1,True\n2,False\n", 15)), toTrain, 0, "predicts whether y is True"},
		{"target of two numbers", table("a,y\n" + strings.Repeat("1,0\n2,1\n", 15)), toTrain, 0, "predicts whether y is 1"},
		{"target of two numbers as a number", table("a,y\n" + strings.Repeat("1,0\n2,1\n", 15)), training("--task regression"), 0, "predicts y from 1 column"},
		{"target of few whole numbers", table("a,y\n" + strings.Repeat("1,0\n2,1\n5,2\n", 12)), toTrain, 0, "--task multiclass takes them for classes"},
		{"regression of text", table(two), training("--task regression"), 1, `column "y": the target is a category, and only numbers have a regression; choose`},
		{"regression of true and false", table("a,y\n" + strings.Repeat("1,true\n2,false\n", 15)), training("--task regression"), 1, "the target is a boolean"},
		{"binary of three classes", table(three), training("--task binary"), 1, "the target has 3 different values, and --task binary needs two"},
		{"101 classes", table(classesOf(101)), toTrain, 1, "more than 100 different values, too many for classes; merge"},
		{"one class", table("a,y\n" + strings.Repeat("1,red\n2,red\n", 15)), toTrain, 1, "the target is red in every row: there is nothing to learn"},
		{"unknown positive label", table(two), training("--positive purple"), 1, `the target has no class "purple" to be the positive one; choose "blue" or "red"`},
		{"positive of three classes", table(three), training("--positive red"), 1, "but the task is multiclass"},
		{"positive of a number", table(two), training("--positive red --task regression"), 2, "--positive needs a target of two classes"},
		{"class that the model does not know", table("a,b,c,kind\n1,2,red,iris\n1,2,red,oak\n"), "evaluate KINDS @t.csv", 1, `row 1, column "kind": "oak" is not among the classes of the model, "iris", "lily" and "rose"`},
		{"number instead of a class", table("x1,x2,x3,y\n1,2,3,7\n"), "evaluate BINARY @t.csv", 1, `row 0, column "y": "7" is not among the classes`},

		{"--output unknown class", nil, "explain KINDS FLOWERS --output oak", 1, `the model has no class "oak"; its classes are iris, lily, rose`},
		{"--against unknown class", nil, "explain KINDS FLOWERS --output iris --against oak", 1, `the model has no class "oak"`},
		{"--against without --output", nil, "explain KINDS FLOWERS --against iris", 2, "add --output CLASS"},
		{"--against itself", nil, "explain KINDS FLOWERS --output iris --against iris", 2, "name two different classes"},
		{"--output of a number", nil, "explain MODEL DATA --output y", 1, `the model predicts the number "y" and has no classes, so --output does not apply; leave it out`},
		{"--output of the negative class", nil, "explain BINARY LABELS --output 0", 1, `with two classes, psi explains the positive one, "1"; leave --output out`},
		{"--against of two classes", nil, "explain BINARY LABELS --output 1 --against 0", 1, "leave --against out"},
	}
}

func TestBadClasses(t *testing.T) { tryAll(t, badClasses()) }

func badRoles() []trial {
	table := func(text string) map[string]string { return map[string]string{"t.csv": text} }
	sound := table(rowsOf("a,b,c,y", 30))
	training := func(flags string) string { return toTrain + " " + flags }
	weighed := func(cell string) map[string]string {
		return table("a,w,y\n" + strings.Repeat("1,1,3\n2,0.5,4\n5,2,9\n", 10) + "7," + cell + ",5\n")
	}
	return []trial{
		{"--group without =", sound, training("--group a,b"), 2, `--group is "a,b": it has no =; give NAME=A,B`},
		{"--group without a name", sound, training("--group =a,b"), 2, "the group has no name"},
		{"--group without columns", sound, training("--group g="), 2, "the list of columns is not valid"},
		{"--group with an empty column", sound, training("--group g=a,,b"), 2, "the list of columns is not valid"},
		{"two groups of one name", sound, training("--group g=a --group g=b"), 2, "another group has this name"},
		{"column in two groups", sound, training("--group g=a,b --group h=b,c"), 2, `column "b" is in the group "g" and in the group "h"; list the column once, in one group`},
		{"column twice in a group", sound, training("--group g=a,a"), 2, `column "a" is in the group "g" and in the group "g"`},
		{"group of an unknown column", sound, training("--group g=a,z"), 1, `column "z": a group names this column, but the table does not have it`},
		{"group of the target", sound, training("--group g=a,y"), 2, `the target, "y", is in the group "g"`},
		{"group of a dropped column", sound, training("--drop b --group g=a,b"), 2, `column "b" of the group "g" is dropped`},
		{"group named as a column", sound, training("--group c=a,b"), 1, `two players would be called "c"`},
		{"explained group without =", nil, "explain MODEL DATA --group x1", 2, "it has no ="},
		{"explained group of an unknown column", nil, "explain MODEL DATA --group g=x1,x9", 1, `column "x9": group "g" names a column`},
		{"--group of a learned head", nil, "explain DEEP WIDE --group g=ca,cb", 1, "deep.psi: the learned head knows only the players it was trained with; use --mode exact, or train with these groups"},

		{"negative weight", weighed("-1"), training("--weight w"), 1, `t.csv, row 30, column "w": the weight -1 is not a finite number from 0 up; write how much`},
		{
			"negative weight of a validation row",
			map[string]string{"t.csv": weighed("1")["t.csv"], "v.csv": "a,w,y\n1,2,3\n1,-2,4\n"},
			training("--weight w --validation @v.csv"), 1, `v.csv, row 1, column "w": the weight -2 is not`,
		},
		{"missing weight", weighed(""), training("--weight w"), 1, `row 30, column "w": the weight is missing`},
		{"weight of text", weighed("much"), training("--weight w"), 1, `column "w": the weights are a category, not numbers`},
		{"unknown weight", sound, training("--weight z"), 1, `column "z": the table has no such column`},
		{"weight is the target", sound, training("--weight y"), 2, "--weight is the target"},
		{"weight is dropped", sound, training("--weight a --drop a"), 2, `the weight "a" is dropped`},
		{"weight in a group", sound, training("--weight a --group g=a,b"), 2, `the weight, "a", is in the group`},
		{"only a weight beside the target", table(rowsOf("w,y", 30)), training("--weight w"), 1, "no feature column is left"},
		{"--missing-as-level of an unknown column", sound, training("--missing-as-level z"), 1, `column "z": --missing-as-level names this column, but it is not a feature`},
		{"--missing-as-level of the target", sound, training("--missing-as-level y"), 2, "--missing-as-level names the target"},
	}
}

func TestBadRoles(t *testing.T) { tryAll(t, badRoles()) }

// A cell that breaks off a long run late leaves one document, or no file at all.
func TestFailureAfterManyRows(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "long.csv")
	write(t, path, "x1,x2,x3\n"+strings.Repeat("1,2,3\n", 20_000)+"1,2,oops\n")
	for _, command := range []string{"predict", "explain"} {
		o := run(t, command, fixtures.model, path, "--json")
		document := wantJSON(t, o, "psi.error/v1")
		if o.code != failed || document["row"] != 20_000.0 || document["column"] != "x3" || document["file"] != path {
			t.Errorf("%s: exit %d, %v", command, o.code, document)
		}
		if o := run(t, command, fixtures.model, path, "-o", filepath.Join(dir, "r.parquet")); o.code != failed {
			t.Errorf("%s: exit %d", command, o.code)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "*r.parquet*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
