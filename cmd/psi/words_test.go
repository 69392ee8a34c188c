package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/prose"
)

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		formatDuration(1234 * time.Millisecond):                              "1.2 s",
		formatDuration(4 * time.Second):                                      "4 s",
		formatDuration(83 * time.Second):                                     "83 s",
		formatDuration(20 * time.Minute):                                     "20 min",
		formatDuration(3 * time.Hour):                                        "3.0 h",
		prose.Printable("a\x1b[1m\n"):                                        "a?[1m?",
		quoted("a.csv"):                                                      "a.csv",
		quoted("it's *.csv"):                                                 `'it'\''s *.csv'`,
		joinOr([]string{"a", "b", "c"}):                                      "a, b or c",
		wrap("one two three 5 s", 9):                                         "one two\nthree 5 s",
		aligned(" ", [][]string{{"é", "1"}}):                                 " é  1\n",
		aligned("", [][]string{{"ab", "c"}, {"a", "b", "c"}, {"long last"}}): "ab  c\na   b  c\nlong last\n",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestMeasuredInWords(t *testing.T) {
	for r2, want := range map[float64]string{0.666: "it explains 66.6 % of the variance (r2)", -0.2: "it explains none of the variance (r2)"} {
		if got := measuredText(psi.Manifest{Task: psi.Regression, Metrics: map[string]float64{"r2": r2}}); got != want {
			t.Errorf("%g: %s", r2, got)
		}
	}
}

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
