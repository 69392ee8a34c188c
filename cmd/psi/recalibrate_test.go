package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/internal/prose"
)

// moved writes the fixture table with the target twice as large, 50 higher.
func moved(t *testing.T, rows int) string {
	t.Helper()
	content, err := os.ReadFile(fixtures.table)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")[:1+rows]
	for i, line := range lines[1:] {
		at := strings.LastIndex(line, ",")
		y, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			t.Fatal(err)
		}
		lines[1+i] = line[:at+1] + strconv.FormatFloat(50+2*y, 'g', -1, 64)
	}
	path := filepath.Join(t.TempDir(), "moved.csv")
	write(t, path, strings.Join(lines, "\n")+"\n")
	return path
}

func TestRecalibrate(t *testing.T) {
	rows, out := moved(t, 120), filepath.Join(t.TempDir(), "fresh.psi")
	document := wantJSON(t, mustRun(t, "recalibrate", fixtures.model, rows, "-o", out, "--json"), "psi.recalibration/v1")
	before, after := document["before"].(map[string]any)["rmse"].(float64), document["after"].(map[string]any)["rmse"].(float64)
	if !(before > 45 && after < 10) || document["file"] != out || document["rows"] != 120.0 {
		t.Errorf("%v", document)
	}
	measured := wantJSON(t, mustRun(t, "evaluate", out, rows, "--json"), "psi.evaluation/v1")["metrics"].(map[string]any)["rmse"].(float64)
	if measured > after*1.1 || measured < after*0.8 {
		t.Errorf("RMSE %v of the rows, %v out of fold", measured, after)
	}
	wantText(t, mustRun(t, "inspect", out).stdout, "recalibrated on 120 rows; the figures above are from the training", "was "+prose.Number(before)+" before")
	said := wantJSON(t, mustRun(t, "inspect", out, "--json"), "psi.model/v1")["recalibrations"].([]any)
	if len(said) != 1 || said[0].(map[string]any)["rows"] != 120.0 {
		t.Errorf("%v", said)
	}
}

// Files of the user are not overwritten, and without -o none is written.
func TestRecalibrateKeepsFiles(t *testing.T) {
	rows := moved(t, 40)
	original, err := os.ReadFile(fixtures.model)
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{fixtures.model, rows} {
		if o := run(t, "recalibrate", fixtures.model, rows, "-o", out, "--force"); o.code != 1 || !strings.Contains(o.stderr, "the output file is also an input") {
			t.Errorf("-o %s: exit %d, %s", out, o.code, o.stderr)
		}
	}
	text := filepath.Join(t.TempDir(), "notes.csv")
	write(t, text, "a,b\n1,2\n")
	if o := run(t, "recalibrate", fixtures.model, rows, "-o", text); o.code != 1 || !strings.Contains(o.stderr, "not a psi model") {
		t.Errorf("exit %d, %s", o.code, o.stderr)
	}
	o := mustRun(t, "recalibrate", fixtures.model, rows)
	wantText(t, o.stderr, "40 rows are few", "nothing is written")
	wantText(t, o.stdout, "before", "rmse", "attributions × ")
	if now, err := os.ReadFile(fixtures.model); err != nil || string(now) != string(original) {
		t.Errorf("the model changed: %v", err)
	}
	if o := run(t, "recalibrate", fixtures.model, moved(t, 20)); o.code != 1 || !strings.Contains(o.stderr, "20 rows have an outcome, and recalibrating needs 30") {
		t.Errorf("exit %d, %s", o.code, o.stderr)
	}
}
