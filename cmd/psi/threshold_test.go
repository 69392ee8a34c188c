package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What evaluate counts at a threshold is what psi predict says of the rows.
func TestEvaluateAtAThreshold(t *testing.T) {
	dir := t.TempDir()
	table, model := filepath.Join(dir, "t.csv"), filepath.Join(dir, "m.psi")
	var lines, truth []string
	for i := range 400 {
		a, b := i*37%101, i*53%89
		y := "no"
		if a > 80 && (i%3 > 0 || b > 60) {
			y = "yes"
		}
		lines, truth = append(lines, fmt.Sprintf("%d,%d,%s", a, b, y)), append(truth, y)
	}
	write(t, table, "a,b,y\n"+strings.Join(lines, "\n")+"\n")
	mustRun(t, "train", table, "--target", "y", "--bags", "0", "--set", "steps=60", "--set", "refit_steps=1", "--set", "spread_steps=1", "-o", model)
	rows, err := csv.NewReader(strings.NewReader(mustRun(t, "predict", model, table, "-o", "-", "--format", "csv").stdout)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	tp, fp, positive := 0.0, 0.0, 0.0
	for i, row := range rows[1:] {
		p, err := strconv.ParseFloat(row[slices.Index(rows[0], "probability")], 64)
		if err != nil {
			t.Fatal(err)
		}
		if truth[i] == "yes" {
			positive++
		}
		switch {
		case p >= 0.15 && truth[i] == "yes":
			tp++
		case p >= 0.15:
			fp++
		}
	}
	document := wantJSON(t, mustRun(t, "evaluate", model, table, "--threshold", "0.15,0.5", "--json"), "psi.evaluation/v1")
	list := document["decisions"].([]any)
	first := list[0].(map[string]any)
	if len(list) != 2 || first["threshold"] != 0.15 || first["true_positives"] != tp || first["false_positives"] != fp || first["false_negatives"] != positive-tp {
		t.Errorf("decisions %v, expected %g and %g rows to be called yes", list, tp, fp)
	}
	if lift := tp / (tp + fp) / (positive / 400); tp == 0 || math.Abs(first["lift"].(float64)-lift) > 1e-12 {
		t.Errorf("lift %v, expected %g", first["lift"], lift)
	}
	wantText(t, mustRun(t, "evaluate", model, table, "--threshold", "0.15").stdout, "auroc", "called yes from a probability of 0.15 up", "precision", "recall", "lift")
	if text := mustRun(t, "evaluate", model, table).stdout; strings.Contains(text, "called") {
		t.Errorf("without a threshold: %s", text)
	}
}
