package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/prose"
)

// A training that is interrupted and resumed ends in the same file.
func TestInterruptedTraining(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "m.psi")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	args := quick("train", fixtures.table, "--target", "y", "--members", "3", "--seed", "5", "-o", model)

	whole := filepath.Join(dir, "whole.psi")
	mustRun(t, quick("train", fixtures.table, "--target", "y", "--members", "3", "--seed", "5", "-o", whole)...)

	for interruption := range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer cancel()
			for ctx.Err() == nil && !exists(checkpointOf(model)) {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(time.Duration(rng.Int64N(int64(500 * time.Millisecond))))
		}()
		o := runWith(ctx, strings.NewReader(""), append(args, "--resume")...)
		cancel()
		if o.code == 0 {
			t.Skip("the training ended before it could be interrupted")
		}
		if o.code != failed {
			t.Fatalf("interruption %d: exit %d\n%s", interruption, o.code, o.stderr)
		}
		wantText(t, o.stderr, "stopped; the checkpoint "+checkpointOf(model)+" is kept", "--resume")
		if exists(model) {
			t.Fatal("an interrupted training left a model")
		}
	}
	o := mustRun(t, append(args, "--resume")...)
	wantText(t, o.stderr, "resumed from")
	sameFile(t, model, whole)
	if exists(checkpointOf(model)) {
		t.Error("the checkpoint is still there")
	}

	before, err := os.Stat(model)
	if err != nil {
		t.Fatal(err)
	}
	o = mustRun(t, append(args, "--resume", "--json")...)
	wantText(t, o.stderr, "already finished")
	if document := wantJSON(t, o, "psi.training/v1"); document["seconds"] != nil || document["rows"] != 120.0 {
		t.Errorf("document %v", document)
	}
	if after, err := os.Stat(model); err != nil || !os.SameFile(before, after) {
		t.Errorf("the finished model did not stay as it was: %v", err)
	}
}

// interrupted stops a training once it has a checkpoint, and returns that.
func interrupted(t *testing.T, model string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil && !exists(checkpointOf(model)) {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	o := runWith(ctx, strings.NewReader(""), quick("train", fixtures.table, "--target", "y", "--members", "3", "-o", model)...)
	if o.code != failed {
		t.Fatalf("exit %d\n%s", o.code, o.stderr)
	}
	return checkpointOf(model)
}

// Stopping before there is a checkpoint says so.
func TestStoppedAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := runWith(ctx, strings.NewReader(""), quick("train", fixtures.table, "--target", "y", "-o", filepath.Join(t.TempDir(), "m.psi"))...)
	if o.code != failed {
		t.Errorf("exit %d", o.code)
	}
	wantText(t, o.stderr, "stopped before the first checkpoint")
	o = runWith(ctx, strings.NewReader(""), "predict", fixtures.model, fixtures.table)
	if o.code != failed || !strings.Contains(o.stderr, "stopped") {
		t.Errorf("exit %d: %s", o.code, o.stderr)
	}
}

func TestResumeWithoutCheckpoint(t *testing.T) {
	o := mustRun(t, quick("train", fixtures.table, "--target", "y", "--resume", "-o", filepath.Join(t.TempDir(), "m.psi"))...)
	wantText(t, o.stderr, "no checkpoint to resume from")
}

// Settings come from the file, then from flags.
func TestSettings(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "c.yaml")
	write(t, config, "# a comment\nsteps: 20\nrefit_steps: 5\nspread_steps: 5\nchannels: 4\nbatch: 16\nlr: 1e-3\n")
	model := filepath.Join(dir, "m.psi")
	mustRun(t, "train", fixtures.table, "--target", "y", "--config", config, "--set", "channels=6", "--members", "2", "--backend", "go", "-o", model)
	m, err := psi.Open(model)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if s := m.Manifest().Settings; s.Steps != 20 || s.Channels != 6 || s.Members != 2 || s.Rate != 1e-3 {
		t.Errorf("settings %+v", s)
	}
}

func TestTrainingOptions(t *testing.T) {
	dir := t.TempDir()
	var text strings.Builder
	text.WriteString("id,patient,zone,size,late,y\n")
	rng := rand.New(rand.NewPCG(1, 1))
	for row := range 60 {
		zone, size := rng.IntN(3), rng.Float64()
		cells := []string{digits(row), digits(row / 5), digits(zone), prose.Number(size), []string{"yes", "no"}[row%2], prose.Number(float64(zone) + size)}
		if row == 7 {
			cells[3] = "unknown"
		}
		text.WriteString(strings.Join(cells, ",") + "\n")
	}
	path := filepath.Join(dir, "t.csv")
	write(t, path, text.String())
	model := filepath.Join(dir, "m.psi")
	mustRun(t, quick("train", path, "--target", "y", "--drop", "id", "--categorical", "zone", "--missing", "unknown", "--validation-by", "patient", "-o", model)...)
	m, err := psi.Open(model)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if got := strings.Join(m.Columns(), ","); got != "zone,size,late" {
		t.Errorf("columns %s", got)
	}
	wantText(t, mustRun(t, "inspect", model).stdout, "declared a category", "by patient", "unknown")
	wantText(t, mustRun(t, "explain", model, path, "--rows", "7:8").stdout, "missing: size")

	other := filepath.Join(dir, "other.psi")
	mustRun(t, quick("train", path, "--target", "y", "--drop", "id,patient", "--missing", "unknown", "--validation", path, "--time-budget", "20s", "-o", other)...)
	document := wantJSON(t, mustRun(t, "inspect", other, "--json"), "psi.model/v1")
	if from, _ := document["provenance"].(map[string]any); from["validation"] != "a table of their own" {
		t.Errorf("provenance %v", from)
	}
	newest := filepath.Join(dir, "newest.psi")
	told := mustRun(t, quick("train", path, "--target", "y", "--only", "zone,size,late", "--missing", "unknown", "--order-by", "id", "--validation-after", "44", "-o", newest)...)
	wantText(t, told.stderr, "id (orders rows)", "On 15 rows for validation")
	if got := inOneLine(mustRun(t, "inspect", newest).stdout); !strings.Contains(got, "15 the newest rows, after 44 in id") {
		t.Errorf("validation rows are not described: %s", got)
	}
	n, err := psi.Open(newest)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if got := strings.Join(n.Columns(), ","); got != "zone,size,late" {
		t.Errorf("columns %s, though the order column is not to be learned from", got)
	}
	late := filepath.Join(dir, "late.psi")
	o := mustRun(t, quick("train", path, "--target", "late", "--drop", "id,patient,size", "--positive", "no", "-o", late)...)
	wantText(t, inOneLine(o.stderr), "predicts whether late is no from 2 columns")
}

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
