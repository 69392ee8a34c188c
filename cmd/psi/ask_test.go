package main

import (
	"strings"
	"testing"
)

func TestAsk(t *testing.T) {
	args := []string{"ask", fixtures.model, fixtures.table, "--reference", fixtures.table, "--unknown", "x1,x3", "--rows", "2:5"}
	o := mustRun(t, args...)
	if lines := strings.Split(strings.TrimSpace(o.stdout), "\n"); len(lines) != 3 || !strings.HasPrefix(lines[0], "row 2: ask for x") || !strings.Contains(lines[0], "of the variance), then x") {
		t.Errorf("stdout %q", o.stdout)
	}
	list := wantJSON(t, mustRun(t, append(args, "--json", "--most", "1")...), "psi.questions/v1")["questions"].([]any)
	if len(list) != 3 {
		t.Fatalf("%d questions, not one for each of three rows", len(list))
	}
	for _, q := range list {
		q := q.(map[string]any)
		if v, r, s := q["variance"].(float64), q["reduction"].(float64), q["share"].(float64); v <= 0 || r < 0 || s < 0 || s > 1 {
			t.Errorf("%v", q)
		}
	}
	if o := mustRun(t, "ask", fixtures.model, fixtures.table, "--reference", fixtures.table, "--rows", "0:1"); o.stdout != "" || !strings.Contains(o.stderr, "no cell is missing") {
		t.Errorf("a row without gaps: %+v", o)
	}
	if o := run(t, "ask", fixtures.model, fixtures.table); o.code != 1 || !strings.Contains(o.stderr, "--reference FILE") {
		t.Errorf("without a reference: %+v", o)
	}
}

// A row held against another has the difference of their predictions and attributions.
func TestAgainstRow(t *testing.T) {
	explanation := func(extra ...string) map[string]any {
		o := mustRun(t, append([]string{"explain", fixtures.model, fixtures.table, "--json"}, extra...)...)
		rows := wantJSON(t, o, "psi.explanation/v1")["rows"].([]any)
		return rows[0].(map[string]any)["outputs"].([]any)[0].(map[string]any)
	}
	mean := func(of map[string]any, k int) float64 {
		return of["attributions"].([]any)[k].(map[string]any)["mean"].(float64)
	}
	one, other, less := explanation("--rows", "3:4"), explanation("--rows", "8:9"), explanation("--rows", "3:4", "--against-row", "8")
	if got, want := less["prediction"].(float64), one["prediction"].(float64)-other["prediction"].(float64); got != want {
		t.Errorf("prediction %v, not %v", got, want)
	}
	for k := range 3 {
		if got, want := mean(less, k), mean(one, k)-mean(other, k); got != want {
			t.Errorf("attribution %d is %v, not %v", k, got, want)
		}
	}
	text := mustRun(t, "explain", fixtures.model, fixtures.table, "--rows", "3:4", "--against-row", "8").stdout
	if !strings.Contains(text, ", not ") || !strings.Contains(text, "Row 3 against row 8: prediction ") {
		t.Errorf("text\n%s", text)
	}
	for _, row := range []string{"-2", "100000"} {
		if o := run(t, "explain", fixtures.model, fixtures.table, "--against-row", row); o.code == 0 {
			t.Errorf("row %s was found", row)
		}
	}
}

// Mode refined tells its standard errors and evaluations, to people and to programs.
func TestRefined(t *testing.T) {
	o := mustRun(t, "explain", fixtures.deep, fixtures.wide, "--mode", "refined", "--rows", "3:4")
	wantText(t, inOneLine(o.stdout), "Refined: ", "standard error of the computation: at most", "after 79 evaluations")
	document := wantJSON(t, mustRun(t, "explain", fixtures.deep, fixtures.wide, "--mode", "refined", "--budget", "30", "--interactions", "--rows", "3:4", "--json"), "psi.explanation/v1")
	row := document["rows"].([]any)[0].(map[string]any)
	output := row["outputs"].([]any)[0].(map[string]any)
	first := output["attributions"].([]any)[0].(map[string]any)
	pair := output["interactions"].([]any)[0].(map[string]any)
	if document["mode"] != "refined" || document["exact"] != false || row["evaluations"] != 30.0 || first["standard_error"] == nil || pair["standard_error"] == nil {
		t.Errorf("mode %v, exact %v, %v evaluations, %v, %v", document["mode"], document["exact"], row["evaluations"], first, pair)
	}
}

// With the exact head there is nothing to refine, and the answer says so.
func TestRefinedOfTheExactHead(t *testing.T) {
	o := mustRun(t, "explain", fixtures.model, fixtures.table, "--mode", "refined", "--rows", "3:4")
	wantText(t, inOneLine(o.stdout), "Exact: these are the Shapley values of the model.")
}
