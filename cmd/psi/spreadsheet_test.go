package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
