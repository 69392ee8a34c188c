//go:build unix

package queue

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// aloneDir tells a process that it is a server in a directory, until it is killed.
const aloneDir = "PSI_TEST_QUEUE_ALONE"

func serveUntilKilled() (bool, error) {
	dir := os.Getenv(aloneDir)
	if dir == "" {
		return false, nil
	}
	if _, err := Start(dir); err != nil {
		return true, err
	}
	if _, err := fmt.Fprintln(os.Stdout, "ready"); err != nil {
		return true, err
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	return true, err
}

// alone is a server in a process of its own.
func alone(t *testing.T, dir string) (kill func()) {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), aloneDir+"="+dir)
	command.Stderr = os.Stderr
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the server says %q, %v", line, err)
	}
	return func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	}
}

func found(t *testing.T, dir string) string {
	t.Helper()
	where, running, err := Find(dir)
	if err != nil || !running {
		t.Fatalf("find: running %v, %v", running, err)
	}
	return where
}

func TestKilledServerStartsAgainWithAllUnits(t *testing.T) {
	const n = 3000
	dir := t.TempDir()
	kill := alone(t, dir)
	q := connect(t, Options{URL: found(t, dir), AckWait: time.Second})
	put(t, q, "a", n)
	if err := q.Remember(t.Context(), Job{ID: "a", Out: "out", Units: n}); err != nil {
		t.Fatal(err)
	}
	before := map[string]bool{}
	for range 200 {
		d := take(t, q)
		done(t, d)
		before[string(d.Body)] = true
	}
	take(t, q)
	kill()
	_ = q.Close()
	if _, running, err := Find(dir); running || err != nil {
		t.Fatalf("find after kill: %v, %v", running, err)
	}

	kill = alone(t, dir)
	defer kill()
	o := Options{URL: found(t, dir)}
	q = connect(t, o)
	if job, err := q.Job(t.Context(), "a"); err != nil || job.Units != n {
		t.Errorf("job after kill: %+v, %v", job, err)
	}
	again, err := q.Left(t.Context(), "a")
	if err != nil || again < n-len(before) {
		t.Fatalf("%d units left after kill, %v; want at least %d", again, err, n-len(before))
	}
	t.Logf("%d units that were done came back", again-(n-len(before)))
	w := work(t, o, "a", 4, 0)
	for unit := range before {
		w.begun[unit]++
	}
	w.complete(t, n)
}

func TestOneServerToADirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "queue")
	if _, running, err := Find(dir); running || err != nil {
		t.Fatalf("find before: %v, %v", running, err)
	}
	s, err := Start(dir)
	if err != nil {
		t.Fatal(err)
	}
	if where := found(t, dir); where != s.URL() {
		t.Errorf("found %s; want %s", where, s.URL())
	}
	if second, err := Start(dir); !errors.Is(err, ErrRunning) {
		t.Errorf("a second server: %v, %v; want ErrRunning", second, err)
	}
	for name, mode := range map[string]os.FileMode{"": 0o700, addressFile: 0o600, lockFile: 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%q has mode %v, %v; want %v", name, info.Mode().Perm(), err, mode)
		}
	}
	if !strings.Contains(s.URL(), "@127.0.0.1:") {
		t.Errorf("%s is not on loopback", s.URL())
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if _, running, err := Find(dir); running || err != nil {
		t.Errorf("find after: %v, %v", running, err)
	}
	s, err = Start(dir)
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()

	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("start in a file: %v; want its name", err)
	}
}
