package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/psi-shapley/psi"
)

// told reads lines of progress and calls with each; it returns when they end.
func told(t *testing.T, lines io.Reader, with func(trainingBeat)) {
	t.Helper()
	scanner := bufio.NewScanner(lines)
	for scanner.Scan() {
		var line trainingBeat
		if strings.HasPrefix(scanner.Text(), "{") {
			if err := json.Unmarshal(scanner.Bytes(), &line); err != nil || line.Schema != "psi.progress/v1" {
				t.Errorf("%v: %s", err, scanner.Text())
			}
			with(line)
		}
	}
}

// An interrupt with --on-interrupt finish ends in a model of what was learned until then. That a program is told how far
// it is, is what lets the test interrupt the second network.
func TestInterruptFinishes(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.psi")
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	reader, stderr := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		p := &program{stdin: strings.NewReader(""), stdout: io.Discard, stderr: stderr}
		ended <- p.run(ctx, []string{
			"train", fixtures.table, "--target", "y", "--members", "3", "--set", "steps=400", "--set", "refit_steps=20", "--set", "spread_steps=20",
			"--set", "channels=4", "--set", "batch=16", "--backend", "go", "--on-interrupt", "finish", "--progress", "json", "-o", model,
		})
		_ = stderr.Close() // of a pipe: it never fails
	}()
	stages, notes, furthest := map[string]bool{}, "", 0.0
	told(t, reader, func(line trainingBeat) {
		stages[line.Stage] = true
		if line.Note != nil {
			notes += *line.Note + "\n"
		}
		if line.Member == 1 && line.Step > 10 {
			interrupt()
		}
		if line.Done < furthest && line.Stage != "read" {
			t.Errorf("done %g after %g", line.Done, furthest)
		}
		furthest = max(furthest, line.Done)
	})
	if code := <-ended; code != 0 {
		t.Fatalf("exit %d\n%s", code, notes)
	}
	for _, stage := range []string{"read", "fit", "spread", "audit"} {
		if !stages[stage] {
			t.Errorf("stage %s was not told of: %v", stage, stages)
		}
	}
	wantText(t, notes, "network 2 was not done and is left out")
	m, err := psi.Open(model)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if s := m.Manifest().Settings; s.Members != 1 {
		t.Errorf("members %d", s.Members)
	}
	if exists(checkpointOf(model)) {
		t.Error("the checkpoint is still there")
	}
}
