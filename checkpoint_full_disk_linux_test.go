package psi_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/psi-shapley/psi"
)

// fullDisk is a directory on a small file system of its own, and the file that takes up all of it.
func fullDisk(t *testing.T) (dir, ballast string) {
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
	ballast = filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 8<<20), 0o600); err == nil {
		t.Fatal("the disk is not full")
	}
	return dir, ballast
}

// A training whose checkpoints cannot be written says so once, goes on to the same model, and writes them
// again when there is room.
func TestCheckpointsOnAFullDisk(t *testing.T) {
	dir, ballast := fullDisk(t)
	rows := gappy(t, 400)
	_, want := saved(t, trained(t, rows, psi.Config{Change: few}))
	path := filepath.Join(dir, "m.checkpoint")
	var warnings []string
	warned, appeared := time.Time{}, false
	m := trained(t, rows, psi.Config{Change: few, Checkpoint: path, SaveEvery: time.Millisecond, Progress: func(p psi.Progress) {
		_, err := os.Stat(path)
		appeared = appeared || err == nil
		if strings.Contains(p.Note, "checkpoint") {
			warnings = append(warnings, p.Note)
			if p.Stage == "read" || p.Step == 0 {
				t.Errorf("the warning came in stage %s, step %d", p.Stage, p.Step)
			}
			warned = time.Now()
		}
		if len(warnings) > 0 && ballast != "" && time.Since(warned) > 5*time.Millisecond { // a few failures later
			if appeared {
				t.Error("there is a checkpoint on a full disk")
			}
			if err := os.Remove(ballast); err != nil {
				t.Error(err)
			}
			ballast = ""
		}
	}})
	if len(warnings) != 1 || !strings.Contains(warnings[0], "no space left on device") {
		t.Errorf("warnings %q, want one about the space", warnings)
	}
	if !appeared {
		t.Error("no checkpoint was written once there was room")
	}
	if _, got := saved(t, m); string(got) != string(want) {
		t.Error("the model has other bytes")
	}
	if drafts, _ := filepath.Glob(filepath.Join(dir, "*.tmp")); len(drafts) > 0 {
		t.Errorf("left behind: %v", drafts)
	}
}
