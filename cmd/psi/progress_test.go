package main

import (
	"bytes"
	"io"
	"math"
	"os"
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

// A second of reading shows rows and the share of the bytes, after half a second and ten times a second.
func TestReadingIsShown(t *testing.T) {
	var out bytes.Buffer
	p := &program{stderr: &out, screen: screen{stderr: true, width: 80}}
	now := time.Unix(0, 0)
	r := newReading(p, "rows.csv", 1000, func() time.Time { return now })
	from := r.count(strings.NewReader(strings.Repeat("x", 1000)))
	for range 100 {
		now = now.Add(10 * time.Millisecond)
		if _, err := io.CopyN(io.Discard, from, 10); err != nil {
			t.Fatal(err)
		}
		r.add(0, 20)
	}
	p.logf("a note")
	if draws := strings.Count(out.String(), "\rreading") + strings.Count(out.String(), " reading"); draws != 6 {
		t.Errorf("drawn %d times", draws)
	}
	wantText(t, out.String(), "\r██████████░░░░░░░░░░ reading rows.csv, 980 rows, 50 %\r", "\ra note\n")
	r.add(0, 1)
	now = now.Add(time.Second)
	r.add(0, 1)
	r.end()
	if text := out.String(); !strings.HasSuffix(text, " \r") {
		t.Errorf("the line still stands: %q", text)
	}
	if newReading(&program{}, "rows.csv", 1000, time.Now) != nil {
		t.Error("progress where nobody watches")
	}
}

// Commands show it on a terminal, unless results pass by there.
func TestReadingOfCommands(t *testing.T) {
	content, err := os.ReadFile(fixtures.table)
	if err != nil {
		t.Fatal(err)
	}
	half := bytes.IndexByte(content[len(content)/2:], '\n') + len(content)/2 + 1
	told := func(s screen, args ...string) string {
		t.Helper()
		slow, writer := io.Pipe()
		go func() {
			_, _ = writer.Write(content[:half])
			time.Sleep(readingPatience + 50*time.Millisecond)
			_, _ = writer.Write(content[half:])
			_ = writer.Close()
		}()
		var stdout, stderr bytes.Buffer
		p := &program{stdin: slow, stdout: &stdout, stderr: &stderr, screen: s}
		if code := p.run(t.Context(), args); code != 0 {
			t.Fatalf("%v: exit %d\n%s", args, code, stderr.String())
		}
		return stderr.String()
	}
	terminal := screen{stderr: true}
	for _, args := range [][]string{
		{"predict", fixtures.model, "-", "--format", "csv"},
		{"explain", fixtures.model, "-", "--format", "csv"},
		{"evaluate", fixtures.model, "-", "--format", "csv"},
	} {
		if text := told(terminal, args...); !strings.Contains(text, "reading standard input") {
			t.Errorf("%s: %q", args[0], text)
		}
	}
	predict := []string{"predict", fixtures.model, "-", "--format", "csv"}
	for _, s := range []screen{{}, {stderr: true, stdout: true}} {
		if text := told(s, predict...); strings.Contains(text, "reading") {
			t.Errorf("%+v: %q", s, text)
		}
	}
}
