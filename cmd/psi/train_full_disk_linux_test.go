package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// smallDisk is a directory on a small file system of its own; fill takes up what is left of it, and
// empty gives that back.
func smallDisk(t *testing.T) (dir string, fill, empty func()) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("a small file system cannot be mounted, which takes root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	ballast := filepath.Join(dir, "ballast")
	fill = func() {
		if err := os.WriteFile(ballast, make([]byte, 8<<20), 0o600); err == nil {
			t.Error("the disk is not full")
		}
	}
	empty = func() {
		if err := os.Remove(ballast); err != nil {
			t.Error(err)
		}
	}
	return dir, fill, empty
}

// interruptedWhen runs a training of a thousand steps, with a validation every 25th, and interrupts it at a moment
// that its progress tells.
func interruptedWhen(t *testing.T, model string, when func(trainingBeat) bool, args ...string) (code int, words string) {
	t.Helper()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	reader, stderr := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		p := &program{stdin: strings.NewReader(""), stdout: io.Discard, stderr: stderr}
		ended <- p.run(ctx, append([]string{
			"train", fixtures.table, "--target", "y", "--backend", "go", "--set", "steps=1000", "--set", "refit_steps=10", "--set", "spread_steps=10",
			"--set", "batch=32", "--set", "channels=8", "--set", "bins=8", "--progress", "json", "-o", model,
		}, args...))
		_ = stderr.Close() // of a pipe: it never fails
	}()
	var all bytes.Buffer
	told(t, io.TeeReader(reader, &all), func(line trainingBeat) {
		if when(line) {
			interrupt()
		}
	})
	return <-ended, all.String()
}

// An interrupted training whose checkpoint cannot be written says that nothing is kept, or only an older one.
func TestInterruptedOnAFullDisk(t *testing.T) {
	dir, fill, empty := smallDisk(t)
	model := filepath.Join(dir, "m.psi")
	fill()
	code, words := interruptedWhen(t, model, func(line trainingBeat) bool { return line.Step > 60 })
	if code != failed || strings.Count(words, "training goes on, and tries again") != 1 {
		t.Errorf("exit %d, %s", code, words)
	}
	wantText(t, words, "no space left on device", "stopped; nothing is kept because the checkpoint cannot be written")

	empty()
	filled := 0
	code, words = interruptedWhen(t, model, func(line trainingBeat) bool {
		if filled == 0 && exists(checkpointOf(model)) {
			fill()
			filled = line.Step + 1
		}
		return filled > 0 && line.Step > filled+30 // by then there is something newer to keep
	})
	if only := regexp.MustCompile(`stopped; the last checkpoint cannot be written \(.*no space left on device.*\), so only the one of \d\d:\d\d:\d\d is kept: `); code != failed || !only.MatchString(words) {
		t.Errorf("exit %d, %s", code, words)
	}
	empty()
	code, words = interruptedWhen(t, model, func(line trainingBeat) bool { return line.Step > 60 }, "--resume")
	if code != failed {
		t.Errorf("exit %d", code)
	}
	wantText(t, words, "resumed from", "stopped; the checkpoint "+checkpointOf(model)+" is kept")
}

// Only the model itself must be written. If it cannot be, the training is not lost.
func TestModelOnAFullDisk(t *testing.T) {
	dir, fill, empty := smallDisk(t)
	model := filepath.Join(dir, "m.psi")
	args := quick("train", fixtures.table, "--target", "y", "-o", model)
	fill()
	o := run(t, args...)
	if o.code != failed || exists(model) || exists(checkpointOf(model)) {
		t.Errorf("exit %d, %s", o.code, o.stderr)
	}
	wantText(t, o.stderr, model+": the model cannot be written: ", "no space left on device", "free disk space or choose another location, and run the command again")

	empty()
	checkpoint := interrupted(t, model)
	fill()
	o = run(t, quick("train", fixtures.table, "--target", "y", "--members", "3", "--resume", "-o", model)...)
	if o.code != failed || exists(model) || !exists(checkpoint) {
		t.Errorf("exit %d, %s", o.code, o.stderr)
	}
	wantText(t, o.stderr, "the model cannot be written: ", "free disk space and add --resume: the checkpoint of ")
	empty()
	mustRun(t, quick("train", fixtures.table, "--target", "y", "--members", "3", "--resume", "-o", model)...)
}
