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
