package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The walk of a newcomer, each step as a person and as a program.
func TestWalk(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }

	o := mustRun(t, "sample", "synth2", "--rows", "150", "--seed", "3", "--truth", at("truth.csv"), "-o", at("data.csv"), "--json")
	sample := wantJSON(t, o, "psi.sample/v1")
	if sample["rows"] != 150.0 || sample["target"] != "y" {
		t.Errorf("sample document %v", sample)
	}
	if got := strings.Join(names(readTable(t, at("data.csv"))), ","); got != "x1,x2,x3,y" {
		t.Errorf("sample has columns %s", got)
	}
	if truth := readTable(t, at("truth.csv")); truth.Rows() != 150 || truth.Column("mean_x3") == nil {
		t.Errorf("truth has %d rows of %v", truth.Rows(), names(truth))
	}

	o = mustRun(t, quick("train", at("data.csv"), "--target", "y", "-o", at("m.psi"), "--json")...)
	wantText(t, o.stderr, "how the columns are read", "y (target)", "all 150 observed cells", "attributions are exact", "audit:", "psi explain "+at("m.psi"))
	training := wantJSON(t, o, "psi.training/v1")
	if training["rows"] != 150.0 || training["model"] != at("m.psi") {
		t.Errorf("training document %v", training)
	}
	digest, _ := training["digest"].(string)
	if !strings.HasPrefix(digest, "sha256:") {
		t.Errorf("digest %q", digest)
	}
	if _, err := os.Stat(checkpointOf(at("m.psi"))); !os.IsNotExist(err) {
		t.Error("the checkpoint of a finished training is still there")
	}

	wantText(t, mustRun(t, "evaluate", at("m.psi"), at("data.csv")).stdout, "regression of y on 150 rows", "rmse", "coverage_90")
	evaluation := wantJSON(t, mustRun(t, "evaluate", at("m.psi"), at("data.csv"), "--json"), "psi.evaluation/v1")
	if evaluation["rows"] != 150.0 {
		t.Errorf("evaluation document %v", evaluation)
	}

	wantText(t, mustRun(t, "audit", at("m.psi"), at("data.csv"), "--rows", "7").stdout, "audit of 7 rows", "relative_rmse")
	audit := wantJSON(t, mustRun(t, "audit", at("m.psi"), at("data.csv"), "--rows", "7", "--json"), "psi.audit/v1")
	if miss, ok := audit["relative_rmse"].(float64); !ok || miss > 1e-4 || audit["rows"] != 7.0 {
		t.Errorf("audit document %v", audit)
	}

	o = mustRun(t, "explain", at("m.psi"), at("data.csv"))
	wantText(t, o.stdout, "Row 0:", "Row 9:", "Exact: these are the Shapley values")
	wantText(t, o.stderr, "the first 10 rows", "--rows 10:20", "y (the target)")
	if strings.Contains(o.stdout, "Row 10:") {
		t.Error("more than ten rows on the screen")
	}
	explanation := wantJSON(t, mustRun(t, "explain", at("m.psi"), at("data.csv"), "--json"), "psi.explanation/v1")
	if rows, _ := explanation["rows"].([]any); len(rows) != 150 || explanation["model"] != digest {
		t.Errorf("explanation of %d rows by %v", len(rows), explanation["model"])
	}

	wantText(t, mustRun(t, "inspect", at("m.psi")).stdout, digest, "x3", "parse as numbers", "rmse", "relative_rmse", "spread_penalty", "backend")
	inspection := wantJSON(t, mustRun(t, "inspect", at("m.psi"), "--json"), "psi.model/v1")
	if weights, _ := inspection["weights"].(float64); weights < 100 || inspection["digest"] != digest {
		t.Errorf("inspection document %v", inspection)
	}
}

func TestDoctor(t *testing.T) {
	wantText(t, mustRun(t, "doctor").stdout, "works", "training step", "CPU")
	document := wantJSON(t, mustRun(t, "doctor", "--json"), "psi.doctor/v1")
	backends, _ := document["backends"].([]any)
	if len(backends) != 4 {
		t.Fatalf("backends %v", backends)
	}
	for i, name := range map[int]string{0: "native", 1: "go"} { // they need nothing
		if b, _ := backends[i].(map[string]any); b["name"] != name || b["works"] != true {
			t.Errorf("backend %v", b)
		}
	}
	for _, b := range backends {
		state, _ := b.(map[string]any)
		if state["works"] == false && (state["reason"] == nil || state["install"] == nil) {
			t.Errorf("backend %v says neither why nor what to install", state)
		}
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"help"}} {
		wantText(t, mustRun(t, args...).stdout, "psi trains a model on a table", "explain", "train")
	}
	wantText(t, mustRun(t, "--version").stdout, "psi 0.")
	wantText(t, mustRun(t, "completion", "bash").stdout, "psi")
	wantText(t, mustRun(t, "train", "--help-config").stdout, "channels", "docs/adr/", "members")
	settings := wantJSON(t, mustRun(t, "train", "--help-config", "--json"), "psi.settings/v1")
	if list, _ := settings["settings"].([]any); len(list) < 10 {
		t.Errorf("settings %v", settings)
	}
}
