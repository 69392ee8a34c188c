package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/explain"
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
		wantText(t, mustRun(t, args...).stdout, "psi trains a neural network on a table", "explain", "train")
	}
	wantText(t, mustRun(t, "version").stdout, "psi devel") // tests are built without a version
	if mustRun(t, "--version").stdout != mustRun(t, "version").stdout {
		t.Error("version and --version differ")
	}
	if d := wantJSON(t, mustRun(t, "version", "--json"), "psi.version/v1"); d["version"] != "devel" || d["go"] == "" {
		t.Errorf("%v", d)
	}
	wantText(t, mustRun(t, "completion", "bash").stdout, "psi")
	wantText(t, mustRun(t, "train", "--help-config").stdout, "channels", "docs/adr/", "members")
	settings := wantJSON(t, mustRun(t, "train", "--help-config", "--json"), "psi.settings/v1")
	if list, _ := settings["settings"].([]any); len(list) < 10 {
		t.Errorf("settings %v", settings)
	}
}

// The walk of a newcomer whose target has two classes.
func TestWalkOfTwoClasses(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	mustRun(t, "sample", "synth1-binary", "--rows", "150", "--seed", "3", "-o", at("data.csv"))

	o := mustRun(t, quick("train", at("data.csv"), "--target", "y", "--positive", "0", "-o", at("m.psi"), "--json")...)
	wantText(t, inOneLine(o.stderr), "predicts whether y is 0 from 3 columns, learned from", "ranks a random pair correctly with probability", "(auroc)", "log loss", "calibration error (ece)", "attributions are exact")
	training := wantJSON(t, o, "psi.training/v1")
	metrics, _ := training["metrics"].(map[string]any)
	for _, name := range []string{"auroc", "average_precision", "log_loss", "brier", "ece", "accuracy"} {
		if _, known := metrics[name].(float64); !known {
			t.Errorf("no %s in %v", name, metrics)
		}
	}

	wantText(t, mustRun(t, "evaluate", at("m.psi"), at("data.csv")).stdout, "binary classification of y (0 or not) on 150 rows", "auroc", "average_precision")
	evaluation := wantJSON(t, mustRun(t, "evaluate", at("m.psi"), at("data.csv"), "--json"), "psi.evaluation/v1")
	if evaluation["task"] != "binary" || evaluation["rows"] != 150.0 {
		t.Errorf("evaluation document %v", evaluation)
	}
	audit := wantJSON(t, mustRun(t, "audit", at("m.psi"), at("data.csv"), "--rows", "7", "--json"), "psi.audit/v1")
	if miss, ok := audit["relative_rmse"].(float64); !ok || miss > 1e-4 {
		t.Errorf("audit document %v", audit)
	}
	wantText(t, mustRun(t, "audit", at("m.psi"), at("data.csv"), "--rows", "7").stdout, "log_loss")
	wantText(t, mustRun(t, "inspect", at("m.psi")).stdout, "binary classification of y", "classes: 0 (positive) and 1", "scale", "slope", "auroc")
	inspection := wantJSON(t, mustRun(t, "inspect", at("m.psi"), "--json"), "psi.model/v1")
	if classes, _ := inspection["classes"].([]any); len(classes) != 2 || classes[1] != "0" || inspection["task"] != "binary" || inspection["weight"] != nil {
		t.Errorf("inspection document %v", inspection)
	}

	mustRun(t, "predict", at("m.psi"), at("data.csv"), "-o", at("p.parquet"))
	predictions := readTable(t, at("p.parquet"))
	if got := strings.Join(names(predictions), ","); got != "row,prediction,probability,score,score_std" {
		t.Errorf("predictions have columns %s", got)
	}
	for row, p := range predictions.Column("probability").Numbers {
		if label := predictions.Column("prediction").Text(row); (p >= 0.5) != (label == "0") {
			t.Errorf("row %d: %s with probability %g", row, label, p)
		}
	}

	wantText(t, mustRun(t, "explain", at("m.psi"), at("data.csv"), "--rows", "0:1").stdout, "Row 0: P(0) ", "; score (log odds) ", "added to the score of 0")
	e := explained(t, "explain", at("m.psi"), at("data.csv"), "--json")
	if e.Scale != explain.Logit || len(e.Outputs) != 1 || e.Outputs[0] != "0" || len(e.Probability) != 150 {
		t.Errorf("outputs %v on %s", e.Outputs, e.Scale)
	}
	for row, p := range predictions.Column("probability").Numbers {
		if math.Abs(p-e.Probability[row]) > 1e-12 || predictions.Column("score").Numbers[row] != e.Prediction[row] {
			t.Fatalf("row %d is predicted with %g and explained with %g", row, p, e.Probability[row])
		}
	}
	wantText(t, mustRun(t, "explain", at("m.psi"), at("data.csv"), "--output", "0", "--format", "csv").stdout, "row,prediction,prediction_std,probability,base,x1,x1__std")
}

// explained reads the JSON of an explanation, whose parts must add up.
func explained(t *testing.T, args ...string) *explain.Explanation {
	t.Helper()
	e, err := explain.ReadJSON(strings.NewReader(mustRun(t, args...).stdout))
	if err != nil {
		t.Fatal(err)
	}
	for line, prediction := range e.Prediction {
		sum := e.Base[line] + e.Residual[line]
		for _, mean := range e.Mean[line*len(e.Players) : (line+1)*len(e.Players)] {
			sum += mean
		}
		if math.Abs(sum-prediction) > 1e-5 || math.Abs(e.Residual[line]) > 1e-4 {
			t.Fatalf("line %d: the parts add up to %g, the prediction is %g", line, sum, prediction)
		}
	}
	return e
}

// The walk of one with three classes, a group, weights and telling gaps.
func TestWalkOfManyClasses(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	var text strings.Builder
	for i, line := range strings.Split(strings.TrimSpace(flowersTable()), "\n") {
		extra := []string{"2", "1", "0.5", "0"}[i%4] + ",seen"
		switch {
		case i == 0:
			extra = "w,note"
		case i%3 == 0:
			extra = "1,"
		}
		text.WriteString(extra + "," + line + "\n")
	}
	write(t, at("data.csv"), text.String())

	o := mustRun(t, quick("train", at("data.csv"), "--target", "kind", "--weight", "w", "--missing-as-level", "note", "--group", "size=a,b", "-o", at("m.psi"))...)
	wantText(t, inOneLine(o.stderr), "w (weight)", "a (in size)", "predicts which of 3 classes kind is (iris, lily or rose) from 4 columns, which are 3 players, learned from", "(accuracy)", "(macro_auroc)")

	wantText(t, mustRun(t, "inspect", at("m.psi")).stdout, "multiclass classification of kind", "3 classes: iris, lily, rose", "rows are weighted by w", "size  a, b", "a missing cell is a value of its own", "macro_auroc", "scale", "slope")
	inspection := wantJSON(t, mustRun(t, "inspect", at("m.psi"), "--json"), "psi.model/v1")
	if levels, _ := inspection["missing_as_level"].([]any); len(levels) != 1 || inspection["weight"] != "w" {
		t.Errorf("inspection document %v", inspection)
	}

	wantText(t, mustRun(t, "evaluate", at("m.psi"), at("data.csv")).stdout, "multiclass classification of kind (3 classes) on", "macro_auroc")
	audit := wantJSON(t, mustRun(t, "audit", at("m.psi"), at("data.csv"), "--rows", "7", "--json"), "psi.audit/v1")
	if outputs, _ := audit["outputs"].([]any); len(outputs) != 3 {
		t.Errorf("audit document %v", audit)
	}

	o = mustRun(t, "predict", at("m.psi"), at("data.csv"), "-o", at("p.csv"))
	wantText(t, o.stderr, "ignored", "w (the weight), kind (the target)")
	predictions := readTable(t, at("p.csv"))
	if got := strings.Join(names(predictions), ","); got != "row,prediction,probability_iris,probability_lily,probability_rose" {
		t.Errorf("predictions have columns %s", got)
	}
	var document struct {
		Rows []struct {
			Prediction    string
			Probabilities map[string]float64
		}
	}
	if err := json.Unmarshal([]byte(mustRun(t, "predict", at("m.psi"), at("data.csv"), "--json").stdout), &document); err != nil {
		t.Fatal(err)
	}
	for row, r := range document.Rows {
		p := r.Probabilities
		if math.Abs(p["iris"]+p["lily"]+p["rose"]-1) > 1e-9 || p[r.Prediction] < max(p["iris"], p["lily"], p["rose"]) ||
			math.Abs(p["lily"]-predictions.Column("probability_lily").Numbers[row]) > 1e-12 {
			t.Fatalf("row %d is %+v", row, r)
		}
	}

	wantText(t, mustRun(t, "explain", at("m.psi"), at("data.csv")).stdout, "Of the 3 classes, psi shows the most probable", "; score ", "size ", "group of columns")
	e := explained(t, "explain", at("m.psi"), at("data.csv"), "--json")
	if strings.Join(e.Outputs, ",") != "iris,lily,rose" || strings.Join(e.Players, ",") != "note,size,c" || e.Scale != explain.Score {
		t.Errorf("outputs %v, players %v on %s", e.Outputs, e.Players, e.Scale)
	}
	if e.Values[1] != nil || e.Values[0] == nil {
		t.Errorf("values %v", e.Values)
	}
	lead := explained(t, "explain", at("m.psi"), at("data.csv"), "--output", "rose", "--against", "iris", "--json")
	if lead.Outputs[0] != "rose − iris" || lead.Probability != nil || math.Abs(lead.Prediction[4]-(e.Prediction[14]-e.Prediction[12])) > 1e-9 {
		t.Errorf("%v: %g is not %g − %g", lead.Outputs, lead.Prediction[4], e.Prediction[14], e.Prediction[12])
	}
	wantText(t, mustRun(t, "explain", at("m.psi"), at("data.csv"), "--output", "rose", "--against", "iris").stdout, "rose − iris")
	wantText(t, mustRun(t, "explain", at("m.psi"), at("data.csv"), "--output", "rose").stdout, "the score of rose", "P(rose)")

	other := explained(t, "explain", at("m.psi"), at("data.csv"), "--group", "all=a,c", "--output", "lily", "--json")
	if strings.Join(other.Players, ",") != "note,all,b" || math.Abs(other.Prediction[0]-e.Prediction[1]) > 1e-5 {
		t.Errorf("players %v, prediction %g instead of %g", other.Players, other.Prediction[0], e.Prediction[1])
	}
}
