package main

import "testing"

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
