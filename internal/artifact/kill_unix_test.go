//go:build unix

package artifact

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// childPath tells a process that it is the child of a test, and what to write.
const childPath = "PSI_TEST_ARTIFACT"

func child(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	command.Env = append(os.Environ(), childPath+"="+path)
	return command
}

// version is a file that differs from the others in its content and its weights.
func version(i int) *File {
	weights := make([]byte, 1<<20)
	for j := range weights {
		weights[j] = byte(i)
	}
	return &File{Kind: Checkpoint, Content: json.RawMessage(fmt.Sprintf(`{"step":%d}`, i)), Parts: map[string][]byte{"weights.safetensors": weights}}
}

func TestKilledWritersLeaveAWholeFile(t *testing.T) {
	if path := os.Getenv(childPath); path != "" {
		// Long enough to be killed, but not for ever if nobody is left to do it.
		for i, start := 0, time.Now(); time.Since(start) < 10*time.Second; i++ {
			if _, err := WriteFile(path, version(i%100)); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	rng := newRand(t)
	directory := t.TempDir()
	path := filepath.Join(directory, "m.psi")
	if _, err := WriteFile(path, version(0)); err != nil {
		t.Fatal(err)
	}
	drafts := 0
	for range 10 {
		writer := child(t, path)
		if err := writer.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(50+rng.IntN(100)) * time.Millisecond)
		if err := writer.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = writer.Wait() // it was killed
		got, _, err := ReadFile(path, Checkpoint)
		if err != nil {
			t.Fatal(err)
		}
		var content struct{ Step int }
		if err := json.Unmarshal(got.Content, &content); err != nil || !same(got, version(content.Step)) {
			t.Fatal("a mixture of two versions:", err)
		}
		if _, err := os.Stat(path + ".tmp"); err == nil {
			drafts++
		}
	}
	t.Logf("%d of 10 writers were killed over a draft", drafts)
	if _, err := WriteFile(path, version(0)); err != nil {
		t.Fatal(err)
	}
	onlyFiles(t, directory, "m.psi")
}

// A limit on the size of files stands for a disk that is full.
func TestFullDiskLeavesTheOldFile(t *testing.T) {
	if path := os.Getenv(childPath); path != "" {
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 16, Max: 1 << 16}); err != nil {
			t.Skip(err)
		}
		_, err := WriteFile(path, version(1))
		if want := path + ": writing failed: "; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v", err)
		}
		return
	}
	directory := t.TempDir()
	path := filepath.Join(directory, "m.psi")
	if _, err := WriteFile(path, version(0)); err != nil {
		t.Fatal(err)
	}
	if out, err := child(t, path).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got, _, err := ReadFile(path, Checkpoint); err != nil || !same(got, version(0)) {
		t.Error("the old file has changed:", err)
	}
	onlyFiles(t, directory, "m.psi")
}
