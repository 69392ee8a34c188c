package main

import (
	"bytes"
	"context"
	"math"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/internal/prose"
)

func TestCrossValidation(t *testing.T) {
	o := mustRun(t, quick("cv", fixtures.table, "--target", "y", "--folds", "3", "--json")...)
	document := wantJSON(t, o, "psi.cv/v1")
	if document["target"] != "y" || document["task"] != "regression" || document["divided"] != "at random" {
		t.Errorf("document %v", document)
	}
	folds, _ := document["folds"].([]any)
	models, _ := document["models"].([]any)
	if len(folds) != 3 || len(models) != 4 {
		t.Fatalf("%d folds of %d models", len(folds), len(models))
	}
	tested, sum := 0.0, 0.0
	for _, one := range folds {
		fold := one.(map[string]any)
		rows, _ := fold["test_rows"].(float64)
		if tested += rows; fold["training_rows"] != 120-rows {
			t.Errorf("fold %v", fold)
		}
		sum += fold["metrics"].(map[string]any)["rmse"].(float64)
		if plain, _ := fold["baselines"].([]any); len(plain) != 3 {
			t.Errorf("baselines %v", plain)
		}
	}
	if tested != 120 {
		t.Errorf("%g of 120 rows are tested", tested)
	}
	for i, name := range []string{"psi", "mean", "linear", "additive"} {
		if m := models[i].(map[string]any); m["name"] != name {
			t.Errorf("model %d is %v", i, m["name"])
		}
	}
	rmse := models[0].(map[string]any)["metrics"].(map[string]any)["rmse"].(map[string]any)
	if mean := rmse["mean"].(float64); math.Abs(mean-sum/3) > 1e-12 || rmse["folds"] != 3.0 || rmse["std"] == nil {
		t.Errorf("rmse %v over the folds, want the mean %g", rmse, sum/3)
	}

	text := mustRun(t, quick("cv", fixtures.table, "--target", "y", "--folds", "3")...).stdout
	wantText(t, text, "regression of y in 3 folds, divided at random; 120 rows tested.", " of 3 folds.\n", "mean ± standard deviation  rmse", "psi ", "linear model", "additive model", "rmse of fold", "80 rows", " ± ", "\nrmse         typical error")
	if cell := prose.Number(rmse["mean"].(float64)) + " ± "; !strings.Contains(text, cell) {
		t.Errorf("the table lacks %q:\n%s", cell, text)
	}
	if lines := strings.Count(text, "\n"); lines != 2+1+5+1+4+1+4 {
		t.Errorf("%d lines:\n%s", lines, text)
	}

	o = mustRun(t, quick("cv", fixtures.table, "--target", "y", "--folds", "2", "--order-by", "x1", "--drop", "x1")...)
	wantText(t, o.stdout, "divided in the order of x1; 80 rows tested", "40 rows", "80 rows")
	wantText(t, o.stderr, "x1 (orders rows)")
	wantText(t, mustRun(t, quick("cv", fixtures.flowers, "--target", "kind", "--folds", "2")...).stdout, "multiclass of kind", "log_loss", "macro_auroc", "base rate")
	wantText(t, mustRun(t, quick("cv", fixtures.labels, "--target", "y", "--folds", "2", "--by", "x1")...).stdout, "binary of y in 2 folds, divided by x1", "auroc")
}

// Where a plain model wins, that is the first thing said.
func TestCrossValidationSaysWhoWins(t *testing.T) {
	o := mustRun(t, quick("cv", fixtures.table, "--target", "y", "--folds", "2", "--set", "lr=1e-9")...)
	if !strings.Contains(strings.Split(o.stdout, "\n")[1], "predicts these rows at least as well as psi") {
		t.Errorf("an untrained model is not said to lose:\n%s", o.stdout)
	}
}

// Ctrl-C while a fold trains ends with one line and without a result.
func TestInterruptedCrossValidation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stdout bytes.Buffer
	told := &cancelling{cancel: cancel, when: "fold 2 of 3"}
	p := &program{stdin: strings.NewReader(""), stdout: &stdout, stderr: told, screen: screen{stderr: true}}
	code := p.run(ctx, quick("cv", fixtures.table, "--target", "y", "--folds", "3"))
	if code != failed || stdout.Len() > 0 {
		t.Errorf("exit %d, %q", code, stdout.String())
	}
	wantText(t, told.text.String(), "stopped after 1 of 3 folds; no result is kept; run the command again")
}

// cancelling is stderr that interrupts once it is told something.
type cancelling struct {
	text   strings.Builder
	when   string
	cancel context.CancelFunc
}

func (c *cancelling) Write(b []byte) (int, error) {
	if c.text.Write(b); strings.Contains(c.text.String(), c.when) {
		c.cancel()
	}
	return len(b), nil
}
