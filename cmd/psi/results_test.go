package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// Every format of a file gives back the same numbers.
func TestResultFiles(t *testing.T) {
	dir := t.TempDir()
	commands := map[string][]string{
		"predict": {"predict", fixtures.model, fixtures.table},
		"wide":    {"explain", fixtures.model, fixtures.table},
		"long":    {"explain", fixtures.model, fixtures.table, "--layout", "long"},
	}
	columns := map[string]string{
		"predict": "row,prediction,prediction_std,range_std,range_lower,range_upper",
		"wide":    "row,prediction,prediction_std,base,x1,x1__std,x1__model_std,x2,x2__std,x2__model_std,x3,x3__std,x3__model_std",
		"long":    "row,output,player,value,observed,mean,std,model_std,lower,upper,p_positive,p_top",
	}
	lines := map[string]int{"predict": 120, "wide": 120, "long": 360}
	for what, args := range commands {
		var first *table.Table
		for _, end := range []string{".csv", ".csv.gz", ".tsv", ".parquet", ".arrow"} {
			path := filepath.Join(dir, what+end)
			o := mustRun(t, append(args, "-o", path)...)
			if o.stdout != "" {
				t.Errorf("%s: a result in a file, but stdout is %q", path, o.stdout)
			}
			got := readTable(t, path)
			if have := strings.Join(names(got), ","); have != columns[what] || got.Rows() != lines[what] {
				t.Errorf("%s has %d rows of %s", path, got.Rows(), have)
			}
			if first == nil {
				first = got
			}
			for _, name := range []string{"row", names(got)[len(got.Columns)-1]} {
				if !slices.Equal(got.Column(name).Numbers, first.Column(name).Numbers) {
					t.Errorf("%s: column %s is not that of the CSV file", path, name)
				}
			}
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// Reasons are words, for the screen alone.
func TestReasons(t *testing.T) {
	o := mustRun(t, "explain", fixtures.model, fixtures.table, "--rows", "3:5", "--reasons", "2", "--z", "0.3")
	if !strings.Contains(o.stdout, "  1. ") || strings.Contains(o.stdout, "  3. ") || !strings.Contains(o.stdout, "Row 4:") {
		t.Errorf("stdout %q", o.stdout)
	}
	for _, args := range [][]string{{"--reasons", "-1"}, {"--reasons", "2", "--json"}, {"--reasons", "2", "-o", filepath.Join(t.TempDir(), "e.csv")}} {
		if o := run(t, append([]string{"explain", fixtures.model, fixtures.table}, args...)...); o.code != 2 || !strings.Contains(o.stdout+o.stderr, "--reasons") {
			t.Errorf("%v: exit %d, %q", args, o.code, o.stderr)
		}
	}
}

func TestExplanationJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "e.json")
	mustRun(t, "explain", fixtures.model, fixtures.table, "--rows", "5:8", "--interactions", "--mode", "exact", "--z", "1", "--top", "1", "-o", path)
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	e, err := explain.ReadJSON(file)
	if err != nil {
		t.Fatal(err)
	}
	if e.FirstRow != 5 || e.Rows != 3 || e.Interactions == nil || e.Mode != explain.Exact || e.Z != 1 {
		t.Errorf("rows %d from %d, mode %s, z %g", e.Rows, e.FirstRow, e.Mode, e.Z)
	}
}

// With --json and -o, the file has the result and stdout the document about it.
func TestResultFileAndDocument(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.json")
	document := wantJSON(t, mustRun(t, "predict", fixtures.model, fixtures.table, "-o", path, "--json"), "psi.written/v1")
	if document["rows"] != 120.0 || document["file"] != path {
		t.Errorf("document %v", document)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	wantPredictions(t, text, 120)
}

func wantPredictions(t *testing.T, text []byte, count int) {
	t.Helper()
	var document struct {
		Schema, Model string
		Rows          []struct {
			File       string
			Row        int
			Prediction float64
			Std        float64 `json:"prediction_std"`
		}
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	if document.Schema != "psi.prediction/v1" || len(document.Rows) != count || !strings.HasPrefix(document.Model, "sha256:") {
		t.Errorf("%d rows, schema %s, model %s", len(document.Rows), document.Schema, document.Model)
	}
	for i, r := range document.Rows {
		if r.Row != i || !(r.Std > 0) {
			t.Fatalf("row %d is %+v", i, r)
		}
	}
}

// Standard input and output, in every format, give what files give.
func TestStreams(t *testing.T) {
	dir := t.TempDir()
	want := mustRun(t, "explain", fixtures.model, fixtures.table, "--format", "csv").stdout
	for _, format := range []string{"csv", "tsv", "parquet", "arrow"} {
		in := mustRun(t, "sample", "synth1", "--rows", "120", "-o", "-", "--format", format)
		o := runWith(t.Context(), strings.NewReader(in.stdout), "explain", fixtures.model, "-", "--format", format, "-o", "-")
		if o.code != 0 {
			t.Fatal(o.stderr)
		}
		path := filepath.Join(dir, "out."+format)
		write(t, path, o.stdout)
		again := filepath.Join(dir, format+".csv")
		sink, err := table.Create(again)
		if err != nil {
			t.Fatal(err)
		}
		if err := sink.Write(t.Context(), readTable(t, path)); err != nil {
			t.Fatal(err)
		}
		if err := sink.Close(); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(again); err != nil || string(got) != want {
			t.Errorf("%s through a pipe is not what the file gives (%v)", format, err)
		}
	}

	text, err := os.ReadFile(fixtures.table)
	if err != nil {
		t.Fatal(err)
	}
	o := runWith(t.Context(), bytes.NewReader(text), "predict", fixtures.model, "-", "--format", "csv", "--json")
	wantPredictions(t, []byte(o.stdout), 120)
	if o := mustRun(t, "predict", fixtures.model, fixtures.table); !strings.HasPrefix(o.stdout, "row,prediction,prediction_std,range_std,range_lower,range_upper\n0,") {
		t.Errorf("without -o, predict begins with %.60q", o.stdout)
	}
	o = runWith(t.Context(), bytes.NewReader(text), "evaluate", fixtures.model, "-", "--format", "csv", "--json")
	wantJSON(t, o, "psi.evaluation/v1")
	model := filepath.Join(dir, "piped.psi")
	o = runWith(t.Context(), bytes.NewReader(text), quick("train", "-", "--format", "csv", "--target", "y", "-o", model)...)
	if o.code != 0 {
		t.Fatal(o.stderr)
	}
	sameFile(t, model, fixtures.model)
}

// parts cuts the fixture table into files of 50, 50 and 20 rows, with columns in various
// orders, and returns their pattern.
func parts(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	whole := readTable(t, fixtures.table)
	for i, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 0, 3, 2}} {
		part := &table.Table{}
		var rows []int
		for row := 50 * i; row < min(50*(i+1), whole.Rows()); row++ {
			rows = append(rows, row)
		}
		chosen := whole.Select(rows)
		for _, c := range order {
			part.Columns = append(part.Columns, chosen.Columns[c])
		}
		sink, err := table.Create(filepath.Join(dir, "part-"+strconv.Itoa(i)+".csv"))
		if err != nil {
			t.Fatal(err)
		}
		if err := sink.Write(t.Context(), part); err != nil {
			t.Fatal(err)
		}
		if err := sink.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "part-*.csv")
}

// The files of a pattern are one table to measure on, and named in results.
func TestPattern(t *testing.T) {
	pattern := parts(t)
	whole := mustRun(t, "evaluate", fixtures.model, fixtures.table, "--json")
	if got := mustRun(t, "evaluate", fixtures.model, pattern, "--json"); got.stdout != whole.stdout {
		t.Errorf("evaluated as parts %s as a whole %s", got.stdout, whole.stdout)
	}
	out := filepath.Join(t.TempDir(), "out.parquet")
	for _, command := range []string{"predict", "explain"} {
		mustRun(t, command, fixtures.model, pattern, "-o", out)
		got := readTable(t, out)
		if got.Columns[0].Name != "file" || got.Columns[1].Name != "row" || got.Rows() != 120 {
			t.Fatalf("%s: %d rows of %v", command, got.Rows(), names(got))
		}
		if name := filepath.Base(got.Columns[0].Text(60)); name != "part-1.csv" || got.Columns[1].Numbers[60] != 10 {
			t.Errorf("%s: row 60 is row %g of %s", command, got.Columns[1].Numbers[60], name)
		}
	}
	wantText(t, mustRun(t, "predict", fixtures.model, pattern, "--json").stdout, `part-2.csv","row":19,`)
	wantText(t, mustRun(t, "explain", fixtures.model, pattern, "--json").stdout, `part-2.csv","row":19,`)
	wantText(t, mustRun(t, "explain", fixtures.model, pattern).stdout, "part-0.csv", "Row 9:")
	wantText(t, mustRun(t, "explain", fixtures.model, pattern, "--rows", "18:20").stdout, "part-0.csv", "part-2.csv", "Row 19:")

	model := filepath.Join(t.TempDir(), "parts.psi")
	mustRun(t, quick("train", pattern, "--target", "y", "-o", model)...)
	if a, b := mustRun(t, "predict", model, fixtures.table), mustRun(t, "predict", fixtures.model, fixtures.table); a.stdout != b.stdout {
		t.Error("a model trained on parts predicts otherwise than one trained on the whole")
	}
}

func sameFile(t *testing.T, a, b string) {
	t.Helper()
	one, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one, other) {
		t.Errorf("%s and %s differ", a, b)
	}
}

// A column can be unknown whether the table has it or not.
func TestUnknown(t *testing.T) {
	dir := t.TempDir()
	without := filepath.Join(dir, "without.csv")
	write(t, without, "x1,x3\n1,2\n0.5,-1\n")
	with := filepath.Join(dir, "with.csv")
	write(t, with, "x1,x2,x3\n1,nonsense,2\n0.5,,-1\n")
	one := mustRun(t, "explain", fixtures.model, without, "--unknown", "x2", "--format", "csv").stdout
	other := mustRun(t, "explain", fixtures.model, with, "--unknown", "x2", "--format", "csv").stdout
	if one != other {
		t.Errorf("without the column\n%swith it\n%s", one, other)
	}
	all := mustRun(t, "explain", fixtures.model, without, "--unknown", "x1,x2,x3", "--json")
	e, err := explain.ReadJSON(strings.NewReader(all.stdout))
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(e.Observed, true) {
		t.Error("a cell is observed though all columns are unknown")
	}
}

// A table of no rows gives a result of no rows.
func TestNoRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.csv")
	write(t, path, "x1,x2,x3\n")
	if o := mustRun(t, "predict", fixtures.model, path); o.stdout != "row,prediction,prediction_std,range_std,range_lower,range_upper\n" {
		t.Errorf("predict: %q", o.stdout)
	}
	wantPredictions(t, []byte(mustRun(t, "predict", fixtures.model, path, "--json").stdout), 0)
	wantText(t, mustRun(t, "explain", fixtures.model, path, "--format", "csv").stdout, "row,prediction,prediction_std,base,x1,x1__std")
	wantText(t, mustRun(t, "explain", fixtures.model, path).stdout, "no rows")
	wantJSON(t, mustRun(t, "explain", fixtures.model, path, "--json"), "psi.explanation/v1")
}

// A result of no rows has the columns of one with rows.
func TestNoRowsOfClasses(t *testing.T) {
	dir := t.TempDir()
	for name, model := range map[string]string{"x1,x2,x3": fixtures.binary, "a,b,c": fixtures.kinds} {
		none, one := filepath.Join(dir, "none.csv"), filepath.Join(dir, "one.csv")
		write(t, none, name+"\n")
		write(t, one, name+"\n1,2,3\n")
		commands := [][]string{{"predict", model}, {"explain", model, "--format", "csv"}, {"explain", model, "--layout", "long", "--format", "csv"}}
		if model == fixtures.kinds {
			commands = append(commands, []string{"explain", model, "--format", "csv", "--output", "lily"},
				[]string{"explain", model, "--format", "csv", "--output", "lily", "--against", "rose"},
				[]string{"explain", model, "--format", "csv", "--group", "g=a,c"})
		}
		for _, args := range commands {
			empty := mustRun(t, append(args, none)...).stdout
			if header, _, _ := strings.Cut(mustRun(t, append(args, one)...).stdout, "\n"); empty != header+"\n" {
				t.Errorf("%v: %q instead of %q", args, empty, header)
			}
		}
		wantJSON(t, mustRun(t, "predict", model, none, "--json"), "psi.prediction/v1")
		wantJSON(t, mustRun(t, "explain", model, none, "--json"), "psi.explanation/v1")
	}
}

// Labels that training did not know are told of once, with an example.
func TestOtherLabels(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new.csv")
	write(t, path, "a,b,c\n1,2,green\n1,2,red\n2,3,\n2,4,mauve\n")
	o := mustRun(t, "explain", fixtures.kinds, path)
	wantText(t, o.stderr, `2 cells of c have labels that training saw rarely or never, such as "green": read as other`)
	wantText(t, o.stdout, "green (other)", "mauve (other)", "(other): ")
	if strings.Contains(o.stdout, "red (other)") || strings.Count(o.stderr, "read as other") != 1 {
		t.Errorf("stdout\n%s\nstderr\n%s", o.stdout, o.stderr)
	}
	wantText(t, mustRun(t, "explain", fixtures.kinds, path, "--rows", "0:1", "--group", "g=b,c", "-o", filepath.Join(t.TempDir(), "e.csv")).stderr, "1 cell of g has a label that training saw rarely or never: read as other")
}

// Columns that the model does not use are named once.
func TestIgnoredColumns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "more.csv")
	write(t, path, "id,x3,x1,note,x2,y\na,1,2,b,3,soon\nc,1,2,d,3,\n")
	o := mustRun(t, "predict", fixtures.model, path)
	wantText(t, o.stderr, "ignored", "id, note, y (the target)")
	if strings.Count(o.stdout, "\n") != 3 {
		t.Errorf("predictions %q", o.stdout)
	}
}

// formulas is a table whose names and labels are formulas to a spreadsheet, and a model of it.
func formulas(t *testing.T) (rows, model string) {
	t.Helper()
	dir := t.TempDir()
	var text strings.Builder
	text.WriteString("\"=1+1\",town,outcome\n")
	for row := range 60 {
		text.WriteString(digits(row%7-3) + "," + []string{"@home", "Bonn", "-5+2", "+49"}[row%4] + "," + []string{"=HYPERLINK(1)", "no"}[row%2] + "\n")
	}
	rows, model = filepath.Join(dir, "rows.csv"), filepath.Join(dir, "m.psi")
	write(t, rows, text.String())
	mustRun(t, quick("train", rows, "--target", "outcome", "-o", model)...)
	return rows, model
}

// With --spreadsheet-safe no cell of a CSV is a formula; without it the output is what it was.
func TestSpreadsheetSafe(t *testing.T) {
	rows, model := formulas(t)
	isFormula := func(cell string) bool {
		cell = strings.TrimLeft(cell, "\" ")
		return cell != "" && strings.ContainsAny(cell[:1], "=+-@") && strings.Trim(cell[1:], "0123456789.e-+") != ""
	}
	count := func(text, separator string) (found int) {
		for line := range strings.SplitSeq(text, "\n") {
			for cell := range strings.SplitSeq(line, separator) {
				if isFormula(cell) {
					found++
				}
			}
		}
		return found
	}
	dir := t.TempDir()
	for _, line := range []string{"predict MODEL ROWS", "explain MODEL ROWS --format csv", "explain MODEL ROWS --layout long --format csv", "explain MODEL ROWS --format tsv"} {
		args := strings.Fields(strings.NewReplacer("MODEL", model, "ROWS", rows).Replace(line))
		separator := ","
		if strings.HasSuffix(line, "tsv") {
			separator = "\t"
		}
		plain, safe := mustRun(t, args...).stdout, mustRun(t, append(args, "--spreadsheet-safe")...).stdout
		if n := count(plain, separator); n == 0 {
			t.Errorf("%s: there was no formula to begin with\n%.300s", line, plain)
		}
		if n := count(safe, separator); n > 0 {
			t.Errorf("%s: %d formulas\n%.300s", line, n, safe)
		}
		if strings.ReplaceAll(safe, "'", "") != plain {
			t.Errorf("%s: more than apostrophes was added\n%.300s\n%.300s", line, plain, safe)
		}
	}
	data := filepath.Join(dir, "d.csv")
	mustRun(t, "plot", "beeswarm", model, rows, "-o", filepath.Join(dir, "p.svg"), "--data", data, "--spreadsheet-safe")
	if text, err := os.ReadFile(data); err != nil || count(string(text), ",") > 0 {
		t.Errorf("the data of a picture: %v\n%.300s", err, text)
	}
	for _, line := range []string{
		"predict MODEL ROWS --json", "predict MODEL ROWS -o " + filepath.Join(dir, "r.parquet"), "explain MODEL ROWS", "explain MODEL ROWS --format json",
		"plot bar MODEL ROWS -o " + filepath.Join(dir, "q.svg"),
	} {
		args := strings.Fields(strings.NewReplacer("MODEL", model, "ROWS", rows).Replace(line))
		if o := run(t, append(args, "--spreadsheet-safe")...); o.code != wrongUsage || !strings.Contains(o.stderr, "--spreadsheet-safe applies only to CSV and TSV") {
			t.Errorf("%s: exit %d, %s", line, o.code, o.stderr)
		}
	}
}
