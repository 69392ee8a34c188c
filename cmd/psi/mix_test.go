package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestMixUsage(t *testing.T) {
	for says, args := range map[string][]string{
		"at least two":      {"mix", "a.psi"},
		"needs -o":          {"mix", "a.psi", "b.psi"},
		"needs --rows":      {"mix", "a.psi", "b.psi", "-o", "c.psi"},
		"--python is for":   {"train", "x.csv", "--target", "y", "-o", "m.psi", "--python", "p"},
		"does not run":      {"train", "x.csv", "--target", "y", "-o", filepath.Join(t.TempDir(), "m.psi"), "--with-trees", "--python", filepath.Join(t.TempDir(), "none")},
		"--validation-by":   {"train", "x.csv", "--target", "y", "-o", "m.psi", "--with-trees", "--validation-by", "z"},
		"needs --target":    {"import", "m.json", "-o", "m.psi"},
		"psi import needs ": {"import", "m.json", "--target", "y"},
	} {
		r := run(t, args...)
		if r.code != 2 || !strings.Contains(r.stderr, says) {
			t.Errorf("psi %s: exit %d, %q does not say %q", strings.Join(args, " "), r.code, r.stderr, says)
		}
	}
}
