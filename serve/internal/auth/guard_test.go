package auth

import (
	"strings"
	"sync"
	"testing"
	"time"
)

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
	for p := Infer; p <= given; p += Infer {
		if got, err := ParsePermission(p.String()); err != nil || got != p {
			t.Errorf("%v: %v, %v", p, got, err)
		}
	}
	for _, list := range []string{"", "public", "infer,", ",", "Infer", "infer metrics", "root"} {
		if p, err := ParsePermission(list); err == nil {
			t.Errorf("%q is read as %v", list, p)
		}
	}
	if Public.String() != "public" || Permission(0).String() != "nothing" || given.Has(Public) || !Public.Has(Public) || Infer.Has(Infer|Admin) || !(Infer | Admin).Has(Admin) {
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
