//go:build !onnx

package main

import (
	"path/filepath"
	"testing"
)

// A backend that is not compiled in is refused as wrong usage, with the command that builds a program that has it.
func TestBackendAbsent(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.csv")
	for _, backend := range []struct{ name, build string }{{"onnx", "make psi-onnx"}, {"xla", "-tags xla"}} {
		o := run(t, "explain", fixtures.model, fixtures.table, "--backend", backend.name, "-o", out)
		if o.code != wrongUsage {
			t.Errorf("--backend %s: exit %d\n%s", backend.name, o.code, o.stderr)
		}
		wantText(t, o.stderr, "built without the "+backend.name+" backend", backend.build, "leave --backend out")
	}
}
