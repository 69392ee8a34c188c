package main

import (
	"testing"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/prose"
)

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		lasting(1234 * time.Millisecond):     "1.2 s",
		lasting(4 * time.Second):             "4 s",
		lasting(83 * time.Second):            "83 s",
		lasting(20 * time.Minute):            "20 min",
		lasting(3 * time.Hour):               "3.0 h",
		prose.Printable("a\x1b[1m\n"):        "a?[1m?",
		quoted("a.csv"):                      "a.csv",
		quoted("it's *.csv"):                 `'it'\''s *.csv'`,
		either([]string{"a", "b", "c"}):      "a, b or c",
		wrap("one two three 5 s", 9):         "one two\nthree 5 s",
		aligned(" ", [][]string{{"é", "1"}}): " é  1\n",
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
