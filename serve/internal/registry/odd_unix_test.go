//go:build unix

package registry_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What only has the name of a model file is reported once and skipped; the other files are loaded, and reloaded.
func TestOddEntriesAreSkipped(t *testing.T) {
	directory := t.TempDir()
	at := func(name string) string { return filepath.Join(directory, name) }
	err := errors.Join(syscall.Mkfifo(at("fifo.psi"), 0o600), os.Mkdir(at("directory.psi"), 0o700), os.Symlink("loop.psi", at("loop.psi")), os.Symlink("m.psi", at("link.psi")))
	if err != nil {
		t.Skip("no FIFOs or links here:", err)
	}
	put(t, directory, "m.psi", models()[0])
	reg, seen := open(t, directory, nil)
	if names := strings.Join(reg.Names(), " "); names != "link m" {
		t.Errorf("%s are served", names)
	}
	check(t, reg.Ready())
	put(t, directory, "z.psi", models()[1])
	eventually(t, "a file that comes later", func() bool { return len(reg.Names()) == 3 })
	time.Sleep(100 * time.Millisecond)
	if told := seen.told(); len(told) != 3 {
		t.Errorf("reported %d times: %v", len(told), told)
	}
	if err := reg.Load(t.Context(), "fifo"); err == nil {
		t.Error("a FIFO is loaded")
	}
	check(t, syscall.Mkfifo(at("draft"), 0o600))
	check(t, os.Rename(at("draft"), at("m.psi"))) // a FIFO in the place of a good file replaces nothing
	eventually(t, "the FIFO is reported", func() bool { return len(seen.told()) >= 4 })
	leased(t, reg, "m", "", "")
	put(t, directory, "m.psi", models()[1])
	eventually(t, "the new file", func() bool { return leased(t, reg, "m", "", "") == -1 })

	single, _ := watch(t, nil, at("fifo.psi"))
	if err := single.First(t.Context()); err == nil {
		t.Error("a FIFO is served")
	}
}

// A file that could not be read once is read later, although nothing about it changes but its permissions.
func TestUnreadableFileIsTriedAgain(t *testing.T) {
	if os.Getuid() == 0 {
		asNobody(t)
		return
	}
	directory := t.TempDir()
	put(t, directory, "m.psi", models()[0])
	path := filepath.Join(directory, "m.psi")
	check(t, os.Chmod(path, 0))
	reg, seen := open(t, directory, nil)
	if seen.failed.Load() == 0 || reg.Ready() == nil {
		t.Error("an unreadable file is loaded")
	}
	check(t, os.Chmod(path, 0o600))
	eventually(t, "the file is read in the end", func() bool { return reg.Ready() == nil })
}

// asNobody runs the test again as a user who may not read everything.
func asNobody(t *testing.T) {
	t.Helper()
	const nobody = 65534
	directory, err := os.MkdirTemp("/tmp", "psi-registry") //nolint:usetesting // whose directories are for their owner alone
	check(t, err)
	t.Cleanup(func() { check(t, os.RemoveAll(directory)) })
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Skip("the test's own program cannot be read:", err)
	}
	check(t, os.WriteFile(filepath.Join(directory, "test"), program, 0o700))
	check(t, errors.Join(os.Chown(directory, nobody, nobody), os.Chown(filepath.Join(directory, "test"), nobody, nobody)))
	command := exec.CommandContext(t.Context(), filepath.Join(directory, "test"), "-test.run=^"+t.Name()+"$", "-test.v")
	command.Dir, command.Env = directory, append(os.Environ(), "TMPDIR="+directory)
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := command.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v: %s", err, out)
	}
}
