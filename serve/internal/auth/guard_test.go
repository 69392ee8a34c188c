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

func TestOpenGuard(t *testing.T) {
	g, err := New(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	if g.Secured() {
		t.Error("a guard that asks for nothing is called secured")
	}
	for _, needed := range []Permission{Infer, Admin, Metrics} {
		caller := admitted(t, "on loopback", g, Credentials{Loopback: true, Authorization: "Bearer anything"}, needed)
		if caller.Name != "anonymous" || caller.Kind != "anonymous" {
			t.Error(caller)
		}
		_, err := g.Admit(t.Context(), Credentials{Remote: "127.0.0.1:99"}, needed)
		if needed != Admin && err != nil {
			t.Errorf("%v from elsewhere: %v", needed, err)
		} else if needed == Admin {
			refused(t, "to administer from elsewhere", err, ErrForbidden)
		}
	}
}

func TestSecuredGuardGivesNothingToTheAnonymous(t *testing.T) {
	_, line := newToken(t, "ann", Infer)
	g, _, _, _ := tokenGuard(t, line)
	if !g.Secured() {
		t.Error("a guard with tokens is not called secured")
	}
	for _, needed := range []Permission{Infer, Admin, Metrics} {
		_, err := g.Admit(t.Context(), Credentials{Loopback: true, Remote: "127.0.0.1:1"}, needed)
		refused(t, needed.String(), err, ErrUnauthenticated)
	}
	if caller := admitted(t, "public", g, Credentials{}, Public); caller.Allowed != Public {
		t.Errorf("public gives %v", caller.Allowed)
	}
	_, err := g.Admit(t.Context(), Credentials{Loopback: true}, 0)
	refused(t, "a route that was forgotten", err, ErrForbidden)
	// To come without credentials is no guess: it locks nobody out.
	for range 10 * maxFailures {
		_, err := g.Admit(t.Context(), Credentials{Remote: "192.0.2.1"}, Infer)
		refused(t, "without credentials", err, ErrUnauthenticated)
	}
}

func TestConfigurationsThatDoNotFit(t *testing.T) {
	for want, config := range map[string]Config{
		"rate":                      {Rate: -1},
		"serve.Config.ClientCAFile": {Admins: []string{"root"}},
	} {
		if _, err := New(t.Context(), config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", config, err, want)
		}
	}
}

func TestPermissionText(t *testing.T) {
	for p := Infer; p <= grantable; p += Infer {
		if got, err := ParsePermission(p.String()); err != nil || got != p {
			t.Errorf("%v: %v, %v", p, got, err)
		}
	}
	for _, list := range []string{"", "public", "infer,", ",", "Infer", "infer metrics", "root"} {
		if p, err := ParsePermission(list); err == nil {
			t.Errorf("%q is read as %v", list, p)
		}
	}
	if Public.String() != "public" || Permission(0).String() != "nothing" || grantable.Has(Public) || !Public.Has(Public) || Infer.Has(Infer|Admin) || !(Infer | Admin).Has(Admin) {
		t.Error("permissions are no sets")
	}
}

// All parts at once, for the race detector.
func TestManyCallersAtOnce(t *testing.T) {
	key := newKey(t, "k1", "ES256")
	p := newProvider(t, key)
	ann, line := newToken(t, "ann", Infer)
	_, path, at, told := tokenGuard(t, line)
	g, err := newGuard(t.Context(), Config{TokenFile: path, Issuer: p.URL, Audience: "psi", Rate: 1e6, Report: told.add}, at.now)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			body := p.body(at)
			for range 50 {
				at.move(300 * time.Millisecond)
				admitted(t, "a token", g, bearer(ann), Infer)
				admitted(t, "a JWT", g, Credentials{Authorization: "Bearer " + key.sign(t, body.with(claims{"n": i})), Remote: "192.0.2.9"}, Infer)
				_, err := g.Admit(t.Context(), Credentials{Authorization: "Bearer psi_" + strings.Repeat("x", 43), Remote: "192.0.2.8"}, Infer)
				if wait(err) < 0 {
					refused(t, "a wrong token", err, ErrUnauthenticated)
				}
			}
		})
	}
	all.Wait()
}
