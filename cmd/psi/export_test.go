package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExportONNX(t *testing.T) {
	out := filepath.Join(t.TempDir(), "m.onnx")
	document := wantJSON(t, mustRun(t, "export", "onnx", fixtures.model, "-o", out, "--json"), "psi.exported/v1")
	content, err := os.ReadFile(out)
	if err != nil || float64(len(content)) != document["bytes"] || len(content) == 0 {
		t.Errorf("%d bytes, said %v, %v", len(content), document["bytes"], err)
	}
	wantText(t, string(content), "attribution_mean", "psi.players", "prediction_std")
	wantText(t, mustRun(t, "export", "onnx", fixtures.model, "-o", out).stderr, "columns in")
	again, err := os.ReadFile(out)
	if err != nil || string(again) != string(content) {
		t.Errorf("the second export differs: %v", err)
	}
}

func TestExportMisused(t *testing.T) {
	directory := t.TempDir()
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{nil, 2, "psi export onnx MODEL -o FILE.onnx"},
		{[]string{"tflite"}, 2, "tflite"},
		{[]string{"onnx"}, 2, "MODEL"},
		{[]string{"onnx", fixtures.model}, 2, "add -o FILE.onnx"},
		{[]string{"onnx", fixtures.model, "-o", filepath.Join(directory, "m.pb")}, 2, "use .onnx"},
		{[]string{"onnx", fixtures.model, "-o", filepath.Join(directory, "none", "m.onnx")}, 1, "mkdir -p"},
		{[]string{"onnx", filepath.Join(directory, "m.psi"), "-o", filepath.Join(directory, "m.onnx")}, 1, "m.psi"},
	} {
		o := run(t, append([]string{"export"}, c.args...)...)
		if o.code != c.code || !strings.Contains(o.stderr, c.says) {
			t.Errorf("export %v: exit %d, want %d and %q\n%s", c.args, o.code, c.code, c.says, o.stderr)
		}
	}
}
