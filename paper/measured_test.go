package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/psi-shapley/psi"
)

// A training is the program calling itself, and the program of a test is its tests: one that trains would start itself without end.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == trainCommand {
		panic("a test must not train")
	}
	m.Run()
}

// What was measured once is not measured again, and a line that is kept stays as it is, even one with settings of older code.
func TestAnswersAreKept(t *testing.T) {
	l := newLab(t.TempDir(), 1, false)
	training := Training{Set: "synth1", Head: "exact"}
	settings, err := training.settings()
	if err != nil {
		t.Fatal(err)
	}
	settings.Beta++ // which the head does not read
	asMeasured, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	older := fmt.Sprintf(`{"asked":"truth","training":{"set":"synth1","fold":0,"head":"exact"},"digest":"d1","revision":"abc","settings":{"gone":1,%s,"cost":{"cpu_seconds":60},"fidelity":0.5,"answer":7}`, asMeasured[1:])
	path := filepath.Join(l.dir, measuredFile)
	if err := os.WriteFile(path, []byte(older+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	never := func(context.Context, *Fitted) (int, error) { panic("asked again") }
	k, err := ask(t.Context(), l, training, "truth", never)
	if err != nil || k.Answer != 7 || k.Revision != "abc" || k.Fidelity != .5 {
		t.Fatalf("%+v, %v", k, err)
	}

	var all sync.WaitGroup
	for fold := range 20 {
		all.Go(func() {
			another := kept[int]{origin: origin{Asked: "curves", Training: Training{Set: "synth1", Fold: fold}, Digest: fmt.Sprint(fold)}, Answer: fold}
			if err := l.keep(another); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 21 || !slices.IsSorted(lines) || !slices.Contains(lines, older) {
		t.Errorf("%d lines, want 21 in order, the oldest as it was:\n%s", len(lines), text)
	}
	if seconds, trainings, err := l.cost(); seconds != 60 || trainings != 21 || err != nil {
		t.Errorf("%g s of %d trainings, %v", seconds, trainings, err)
	}
}

// An answer holds while the settings that its head reads are the same, and a newer one replaces it.
func TestAnswersBySettings(t *testing.T) {
	was := psi.DefaultSettings("learned", psi.TypicalSize())
	for key, reads := range map[string]bool{"channels": false, "absent_steps": false, "bags": false, "width": true, "beta": true, "steps": true, "bins": true} {
		for head, counts := range map[string]bool{"learned": reads, "exact": !reads || key == "steps" || key == "bins"} {
			was.Head = head
			now := was
			if err := now.Set(key, "77"); err != nil {
				t.Fatal(err)
			}
			if (readBy(was) != readBy(now)) != counts {
				t.Errorf("%s of the %s head: counts is %t, want %t", key, head, !counts, counts)
			}
		}
	}
	l := newLab(t.TempDir(), 1, false)
	for answer := range 3 {
		first := kept[int]{origin: origin{Asked: "truth", Training: Training{Set: "synth1", Fold: answer / 2}, Digest: fmt.Sprint(answer)}, Answer: answer}
		if err := l.keep(first); err != nil {
			t.Fatal(err)
		}
	}
	answers, err := l.measured()
	if err != nil || len(answers) != 2 || string(answers[0].Answer) != "1" || string(answers[1].Answer) != "2" {
		t.Errorf("%d answers, %v: want 1, which replaced 0, and 2: %+v", len(answers), err, answers)
	}
}

func TestBrokenLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lines.jsonl")
	if err := os.WriteFile(path, []byte("1\n2\n{\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readLines[json.RawMessage](path); err == nil || !strings.Contains(err.Error(), "lines.jsonl:3:") {
		t.Errorf("error %v, want one of line 3", err)
	}
}

// Every committed figure, of this module and of bench/, has one line and names the revision of the code behind it.
func TestLinesNameRevisions(t *testing.T) {
	checkLines(t, measuredFile, func(k kept[json.RawMessage]) (key, revision string) {
		return k.question(), k.Revision
	})
	type fit struct {
		Set, Tool, Digest string
		Fold              int
		Versions          struct{ Revision string }
	}
	checkLines(t, benchFile, func(f fit) (key, revision string) {
		return fmt.Sprint(f.Set, f.Fold, f.Tool, f.Digest), f.Versions.Revision
	})
}

// hexDigits are those of a commit.
const hexDigits = 40

func checkLines[T any](t *testing.T, path string, of func(T) (key, revision string)) {
	t.Helper()
	lines, err := readLines[T](path)
	if err != nil || len(lines) == 0 {
		t.Errorf("%s: %d lines, %v", path, len(lines), err)
	}
	seen := map[string]bool{}
	for i, line := range lines {
		key, revision := of(line)
		if seen[key] || len(revision) < hexDigits {
			t.Errorf("%s:%d: %s: a second line: %t; revision %q", path, i+1, key, seen[key], revision)
		}
		seen[key] = true
	}
}

// Of the benchmark's results only psi's without flags count, and only those on the set.
func TestBenchResults(t *testing.T) {
	dir := t.TempDir()
	here := filepath.Join(dir, "paper")
	if err := errors.Join(os.Mkdir(here, 0o755), os.Mkdir(filepath.Join(dir, "bench"), 0o755)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(here)
	lines := `{"set":"bike","tool":"psi","configuration":{"flags":[]},"views":{"whole":{"rmse":1}},"audit":{"relative_rmse":3}}
{"set":"bike","tool":"psi","configuration":{"flags":["--effort","best"]},"views":{"whole":{"rmse":2}}}
{"set":"gas","tool":"psi","configuration":{"flags":[]},"views":{"whole":{"rmse":4}}}
{"set":"bike","tool":"LGBM","configuration":{"package":"lightgbm"},"views":{"whole":{"rmse":5}}}
`
	if err := os.WriteFile(benchFile, []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	by, err := readBench("bike", "rmse")
	if err != nil || len(by) != 2 || len(by["LGBM"]) != 1 || !slices.Equal(by["psi"], []judged{{metric: 1, fidelity: 3}}) {
		t.Errorf("%v, %v", by, err)
	}
}
