package auth

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// clock is a clock that stands until it is moved.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Now()} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// reports keeps what was reported.
type reports struct {
	mu   sync.Mutex
	list []string
}

func (r *reports) add(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, err.Error())
}

func (r *reports) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.list...)
}

// write puts a file in place at once, as mv does.
func write(t testing.TB, path string, mode os.FileMode, content string) {
	t.Helper()
	next := path + ".next"
	if err := os.WriteFile(next, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(next, mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, path); err != nil {
		t.Fatal(err)
	}
}

func newToken(t testing.TB, name string, allowed Permission) (secret, line string) {
	t.Helper()
	secret, line, err := NewToken(name, allowed)
	if err != nil {
		t.Fatal(err)
	}
	return secret, line + "\n"
}

// tokenGuard is a guard with a token file of these lines.
func tokenGuard(t testing.TB, lines ...string) (g *Guard, path string, at *clock, told *reports) {
	t.Helper()
	path, at, told = filepath.Join(t.TempDir(), "tokens"), newClock(), &reports{}
	write(t, path, 0o600, strings.Join(lines, ""))
	g, err := newGuard(t.Context(), Config{TokenFile: path, Report: told.add}, at.now)
	if err != nil {
		t.Fatal(err)
	}
	return g, path, at, told
}

func bearer(secret string) Credentials {
	return Credentials{Authorization: "Bearer " + secret, Remote: "192.0.2.1:4711"}
}

// refused checks that a refusal is of a kind and tells what every refusal of that kind tells.
func refused(t testing.TB, what string, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("%s: got %v (%s), want %v", what, err, Reason(err), kind)
	} else if err.Error() != kind.Error() {
		t.Errorf("%s: the text %q tells more than %q", what, err, kind)
	}
}

func admitted(t testing.TB, what string, g *Guard, shown Credentials, needed Permission) Caller {
	t.Helper()
	caller, err := g.Admit(t.Context(), shown, needed)
	if err != nil {
		t.Errorf("%s: refused: %v (%s)", what, err, Reason(err))
	}
	return caller
}
