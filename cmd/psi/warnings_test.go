package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
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
