package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/psi-shapley/psi"
)

// slopes is a table whose target is a line of two columns.
func slopes() string {
	text := "a,b,y\n"
	for i := range 200 {
		a, b := i*37%101, i*53%89
		text += fmt.Sprintf("%d,%d,%d\n", a, b, 3*a-2*b+i*29%7)
	}
	return text
}

// A model that a linear model beats says so before all else, in every place that tells of it.
func TestBeatenModelSaysSo(t *testing.T) {
	dir := t.TempDir()
	table, model := filepath.Join(dir, "t.csv"), filepath.Join(dir, "m.psi")
	write(t, table, slopes())
	o := mustRun(t, "train", table, "--target", "y", "--bags", "0", "--set", "steps=5", "--set", "refit_steps=1", "--set", "spread_steps=1", "-o", model, "--json")
	const said = "The model predicts no better than a linear model: rmse"
	spoken := strings.Join(strings.Fields(o.stderr), " ")
	wantText(t, spoken, "Warning: "+said, "use a linear model instead.", "Plain models for comparison (rmse): mean ", ", linear model ", ", additive model ")
	if strings.Index(spoken, said) > strings.Index(spoken, "predicts y from 2 columns") {
		t.Errorf("the warning does not come first: %s", spoken)
	}
	document := wantJSON(t, o, "psi.training/v1")
	first := document["warnings"].([]any)[0].(map[string]any)
	if first["kind"] != "no_better_than_linear" || !strings.HasPrefix(first["message"].(string), said) || first["remedy"] == "" {
		t.Errorf("warnings %v", document["warnings"])
	}
	if list := document["baselines"].([]any); len(list) != 3 || list[1].(map[string]any)["name"] != "linear" {
		t.Errorf("baselines %v", document["baselines"])
	}

	wantText(t, mustRun(t, "inspect", model).stdout, "warnings\n  "+said, "plain models on the same rows", "this model", "additive model")
	inspected := wantJSON(t, mustRun(t, "inspect", model, "--json"), "psi.model/v1")
	if fmt.Sprint(inspected["warnings"]) != fmt.Sprint(document["warnings"]) || fmt.Sprint(inspected["baselines"]) != fmt.Sprint(document["baselines"]) {
		t.Errorf("inspect warns %v", inspected["warnings"])
	}

	page := filepath.Join(dir, "r.html")
	reported := wantJSON(t, mustRun(t, "report", model, table, "-o", page, "--json"), "psi.reported/v1")
	if list := fmt.Sprint(reported["warnings"]); !strings.HasPrefix(list, "["+said) {
		t.Errorf("the report warns %s", list)
	}
}

// aMoment trains hardly at all.
func aMoment(table, target, out string) []string {
	return []string{"train", table, "--target", target, "--bags", "0", "--set", "steps=2", "--set", "refit_steps=1", "--set", "spread_steps=1", "-o", out, "--json"}
}

// kinds are those of the warnings of a document.
func kinds(document map[string]any) (list []string) {
	for _, w := range document["warnings"].([]any) {
		list = append(list, w.(map[string]any)["kind"].(string))
	}
	return list
}

// A column that tells the target is asked about wherever warnings are shown, and following the advice ends it.
func TestLeakIsAskedAboutEverywhere(t *testing.T) {
	dir := t.TempDir()
	table, model := filepath.Join(dir, "t.csv"), filepath.Join(dir, "m.psi")
	text := "a,b,refund,y\n"
	for i := range 300 {
		a, b := i*37%101, i*53%89
		y := 3*a - 2*b + i*29%7
		text += fmt.Sprintf("%d,%d,%.1f,%d\n", a, b, 1.5*float64(y)+float64(i*31%9), y)
	}
	write(t, table, text)
	o := mustRun(t, aMoment(table, "y", model)...)
	const said, asked = `Column "refund" (R² 0.99`, "Is it known when you predict? If not, train again without it (--drop refund)."
	wantText(t, strings.Join(strings.Fields(o.stderr), " "), said, asked)
	document := wantJSON(t, o, "psi.training/v1")
	if !strings.Contains(fmt.Sprint(kinds(document)), "leak") {
		t.Errorf("warnings %v", document["warnings"])
	}
	wantText(t, mustRun(t, "inspect", model).stdout, said, asked)
	reported := wantJSON(t, mustRun(t, "report", model, table, "-o", filepath.Join(dir, "r.html"), "--json"), "psi.reported/v1")
	if list := fmt.Sprint(reported["warnings"]); !strings.Contains(list, said) {
		t.Errorf("the report warns %s", list)
	}
	document = wantJSON(t, mustRun(t, append(aMoment(table, "y", model), "--drop", "refund")...), "psi.training/v1")
	if strings.Contains(fmt.Sprint(kinds(document)), "leak") {
		t.Errorf("without the column: warnings %v", document["warnings"])
	}
}

// No column of the shipped tables leaks the target.
func TestNoFalseAlarmOfLeaks(t *testing.T) {
	for name, target := range map[string]string{"bike": "cnt", "adult": "income"} {
		dir := t.TempDir()
		table := filepath.Join(dir, "t.csv")
		mustRun(t, "sample", name, "--rows", "5000", "-o", table)
		document := wantJSON(t, mustRun(t, aMoment(table, target, filepath.Join(dir, "m.psi"))...), "psi.training/v1")
		if list := fmt.Sprint(kinds(document)); strings.Contains(list, "leak") || strings.Contains(list, "too_good") {
			t.Errorf("%s: warnings %v", name, document["warnings"])
		}
	}
}

// visitsTable has 80 rows: y from x and colour, beside a row number, a name of each row, a constant and a remark that
// is missing in every other row.
func visitsTable(columns ...string) string {
	text := strings.Join(columns, ",") + "\n"
	for i := range 80 {
		colour := []string{"red", "blue"}[i/3%2]
		remark := ""
		if i%2 == 0 {
			remark = fmt.Sprint("remark ", i)
		}
		cells := map[string]string{
			"id": fmt.Sprint(1000 + i), "name": fmt.Sprint("customer ", 7*i%80), "k": "5", "remark": remark, "x": fmt.Sprint(i * i % 23), "colour": colour,
			"y": fmt.Sprint(i*i%23 + 10*len(colour)),
		}
		row := make([]string, len(columns))
		for j, name := range columns {
			row[j] = cells[name]
		}
		text += strings.Join(row, ",") + "\n"
	}
	return text
}

func columnsOf(t *testing.T, model string) []string {
	t.Helper()
	m, err := psi.Open(model)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	return m.Columns()
}

// Columns that say nothing, and those that identify rows, are left out as if they were dropped, and said once.
func TestLeftOutColumns(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	write(t, file("all.csv"), visitsTable("id", "x", "k", "name", "colour", "remark", "y"))
	write(t, file("few.csv"), visitsTable("colour", "x"))
	write(t, file("odd.csv"), strings.ReplaceAll(strings.ReplaceAll(visitsTable("k", "colour", "id", "x"), "\n5,", "\nfive,"), ",10", ",seven "))

	o := mustRun(t, quick("train", file("all.csv"), "--target", "y", "-o", file("m.psi"))...)
	wantText(t, o.stderr,
		`column "k": every cell is the same. Not used as a feature: nothing can be learned from it`,
		`column "id": it counts the rows; column "name": every text is different; column "remark": every text is different. Not used as features: they seem to identify rows rather than to describe them (--keep uses them)`,
	)
	for _, name := range []string{`"id"`, `"k"`, `"name"`, `"remark"`} {
		if strings.Count(o.stderr, name) != 1 {
			t.Errorf("%s is told of more than once:\n%s", name, o.stderr)
		}
	}
	if got := columnsOf(t, file("m.psi")); !slices.Equal(got, []string{"x", "colour"}) {
		t.Errorf("columns %v", got)
	}
	inspection := wantJSON(t, mustRun(t, "inspect", file("m.psi"), "--json"), "psi.model/v1")
	if got, want := fmt.Sprint(inspection["left_out"]), "[map[name:id place:0 reason:it counts the rows] map[name:k place:2 reason:every cell is the same] "+
		"map[name:name place:3 reason:every text is different] map[name:remark place:5 reason:every text is different]]"; got != want {
		t.Errorf("left out %s, want %s", got, want)
	}
	wantText(t, mustRun(t, "inspect", file("m.psi")).stdout, "columns not used", "every cell is the same")

	mustRun(t, quick("train", file("all.csv"), "--target", "y", "--drop", "id,k,name,remark", "-o", file("dropped.psi"))...)
	for _, command := range [][]string{{"predict"}, {"explain", "--format", "csv"}} {
		ask := func(model, rows string) string {
			return mustRun(t, slices.Concat(command[:1], []string{file(model), file(rows)}, command[1:])...).stdout
		}
		want := ask("dropped.psi", "few.csv")
		for _, rows := range []string{"all.csv", "few.csv", "odd.csv"} {
			if got := ask("m.psi", rows); got != want {
				t.Errorf("%v of %s: %.200s instead of %.200s", command, rows, got, want)
			}
		}
	}
}

func TestKeptColumns(t *testing.T) {
	dir := t.TempDir()
	rows, model := filepath.Join(dir, "t.csv"), filepath.Join(dir, "m.psi")
	write(t, rows, visitsTable("id", "x", "k", "name", "remark", "y"))
	for _, test := range []struct {
		flags, want []string
		said        string
	}{
		{[]string{"--keep", "id,k"}, []string{"id", "x", "k"}, `column "name": every text is different; column "remark"`},
		{[]string{"--keep", "name,remark"}, []string{"x", "name", "remark"}, `column "id": it counts the rows. Not used`},
		{[]string{"--keep-identifiers"}, []string{"id", "x", "remark"}, `column "id": it counts the rows; column "remark": every text is different. Used as features, though`},
		{[]string{"--drop", "x"}, []string{"id", "remark"}, `column "id": it counts the rows; column "remark": every text is different. Used as features, though`},
		{[]string{"--drop", "x,id,remark"}, []string{"k", "name"}, "k; name. Nothing can be learned from any column"},
		{[]string{"--only", "x,k"}, []string{"x"}, `column "k": every cell is the same. Not used as a feature`},
		{[]string{"--group", "g=id,x", "--group", "h=k,name"}, []string{"x"}, `column "k"`},
	} {
		o := mustRun(t, append(quick("train", rows, "--target", "y", "-o", model), test.flags...)...)
		wantText(t, o.stderr, test.said)
		if got := columnsOf(t, model); !slices.Equal(got, test.want) {
			t.Errorf("%v: columns %v, want %v", test.flags, got, test.want)
		}
		mustRun(t, "predict", model, rows)
	}
	explanation := wantJSON(t, mustRun(t, "explain", model, rows, "--rows", "0:1", "--json"), "psi.explanation/v1")
	if got := fmt.Sprint(explanation["players"]); !strings.Contains(got, "g") || strings.Contains(got, "h") {
		t.Errorf("players %s, want the group g without id, and no h", got)
	}
	for _, test := range []struct {
		flags []string
		code  int
		said  []string
	}{
		{[]string{"--keep", "ID"}, failed, []string{"ID", "the table has no such column to keep", "choose among id, x, k"}},
		{[]string{"--only", "X"}, failed, []string{"the table has no such column to use", "did you mean x?"}},
		{[]string{"--keep", "id", "--drop", "id"}, wrongUsage, []string{`column "id" is both kept and dropped`, "--drop"}},
		{[]string{"--keep", "y"}, wrongUsage, []string{`the target, "y", is to be kept`}},
		{[]string{"--keep", "x", "--weight", "x"}, wrongUsage, []string{`the weight, "x", is to be kept`}},
	} {
		o := run(t, append(quick("train", rows, "--target", "y", "-o", model), test.flags...)...)
		if o.code != test.code {
			t.Errorf("%v: exit %d, want %d", test.flags, o.code, test.code)
		}
		wantText(t, o.stderr, test.said...)
	}
}

// A checkpoint is of the columns that are used: with others, it is another training.
func TestResumeWithLeftOutColumns(t *testing.T) {
	dir := t.TempDir()
	rows, model, whole := filepath.Join(dir, "t.csv"), filepath.Join(dir, "m.psi"), filepath.Join(dir, "whole.psi")
	write(t, rows, visitsTable("id", "x", "k", "colour", "y"))
	args := func(out string, more ...string) []string {
		return append(quick("train", rows, "--target", "y", "--members", "3", "-o", out), more...)
	}
	mustRun(t, args(whole)...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil && !exists(checkpointOf(model)) {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	if o := runWith(ctx, strings.NewReader(""), args(model)...); o.code != failed {
		t.Fatalf("exit %d\n%s", o.code, o.stderr)
	}
	for _, flag := range []string{"--keep=id", "--keep-identifiers", "--drop=id"} {
		o := run(t, args(model, "--resume", flag)...)
		if o.code != failed {
			t.Errorf("%s: exit %d", flag, o.code)
		}
		wantText(t, o.stderr, "the checkpoint is of another training")
	}
	wantText(t, mustRun(t, args(model, "--resume")...).stderr, "resumed from")
	sameFile(t, model, whole)
}
