package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

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
