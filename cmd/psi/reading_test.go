package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

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
	p.note("a note")
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
