package main

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/psi-shapley/psi"
)

// watched plays a training of a minute, a step every 20 ms, and returns what was told.
func watched(terminal bool) string {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	w := newWatch(&program{stderr: &out, screen: screen{stderr: terminal, width: 80}}, func() time.Time { return now })
	const steps = 3000
	for step := range steps {
		now = now.Add(20 * time.Millisecond)
		s := psi.Progress{Stage: "fit", Step: step, Steps: steps, Done: float64(step) / steps, Remaining: time.Minute, Error: math.NaN()}
		if step > 100 {
			s.Error = 0.25
		}
		if step == 500 {
			s.Note = "rolled back\x1b[2J"
		}
		w.progress(s)
	}
	w.progress(psi.Progress{Stage: "audit", Done: 1, Error: math.NaN()})
	now = now.Add(3 * time.Second)
	w.end()
	return out.String()
}

func TestProgressInALog(t *testing.T) {
	text := watched(false)
	if lines := strings.Count(text, "\n"); lines < 5 || lines > 7 {
		t.Errorf("%d lines in a minute:\n%s", lines, text)
	}
	wantText(t, text, "learning, 50 %, about 60 s left, validation error 0.25\n", "rolled back?[2J\n")
	if strings.ContainsAny(text, "\r\x1b") {
		t.Error("a log that steers a terminal")
	}
}

// Of classes the log loss is shown.
func TestProgressOfClasses(t *testing.T) {
	w := newWatch(&program{}, time.Now)
	w.best, w.metric = 0.3, "log loss"
	if text := w.line(psi.Progress{Stage: "fit"}); text != "learning, 0 %, validation log loss 0.3" {
		t.Errorf("got %q", text)
	}
}

func TestProgressOnATerminal(t *testing.T) {
	text := watched(true)
	if draws := strings.Count(text, "\r"); draws < 500 || draws > 620 {
		t.Errorf("drawn %d times in a minute", draws)
	}
	wantText(t, text, "██████████░░░░░░░░░░ learning, 50 %", "\rauditing", "\rrolled back?[2J\n")
	if !strings.HasSuffix(text, " \r") {
		t.Errorf("the line still stands at the end: %q", text[len(text)-20:])
	}
}
