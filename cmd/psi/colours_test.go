package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

// An explanation has colours on a terminal that shows them, and nowhere else; beside them it is the same.
func TestColours(t *testing.T) {
	on := func(s screen) string {
		var stdout, stderr bytes.Buffer
		p := &program{stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr, screen: s}
		if code := p.run(t.Context(), []string{"explain", fixtures.model, fixtures.table, "--rows", "0:2", "--interactions"}); code != 0 {
			t.Fatalf("exit %d: %s", code, &stderr)
		}
		return stdout.String()
	}
	plain := on(screen{})
	for what, s := range map[string]screen{
		"piped": {colours: true, width: 80}, "a terminal without colours": {stdout: true, width: 80}, "only errors on a terminal": {stderr: true, colours: true, width: 80},
	} {
		if got := on(s); got != plain {
			t.Errorf("%s: %q, want %q", what, got, plain)
		}
	}
	coloured := on(screen{stdout: true, colours: true, width: 80})
	if !strings.Contains(coloured, "\x1b[38;5;208m") || regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(coloured, "") != plain {
		t.Errorf("a terminal: %q", coloured)
	}
	for _, args := range [][]string{{"--format", "csv"}, {"--json"}} {
		var stdout bytes.Buffer
		p := &program{stdin: strings.NewReader(""), stdout: &stdout, stderr: &bytes.Buffer{}, screen: screen{stdout: true, colours: true}}
		if code := p.run(t.Context(), append([]string{"explain", fixtures.model, fixtures.table, "--rows", "0:2"}, args...)); code != 0 || strings.Contains(stdout.String(), "\x1b") {
			t.Errorf("%v: exit %d, %q", args, code, &stdout)
		}
	}
}
