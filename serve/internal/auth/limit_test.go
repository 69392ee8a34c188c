package auth

import (
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"testing"
	"time"
)

func wait(err error) time.Duration {
	if e, ok := errors.AsType[*TooManyError](err); ok {
		return e.RetryAfter
	}
	return -1
}

// In any second no more come through than the rate and what may come at once.
func TestRatePerCaller(t *testing.T) {
	const perSecond = 5
	ann, annLine := newToken(t, "ann", Infer)
	second, secondLine := newToken(t, "ann", Infer|Metrics) // another token of the same caller
	bob, bobLine := newToken(t, "bob", Infer)
	g, _, at, _ := tokenGuard(t, annLine, secondLine, bobLine)
	g.rates = newRates(perSecond)
	for range perSecond {
		admitted(t, "ann at once", g, bearer(ann), Infer)
	}
	caller, err := g.Admit(t.Context(), bearer(second), Infer)
	if got := wait(err); got != time.Second/perSecond || caller.Name != "ann" {
		t.Errorf("ann at once, once more: %v of %v, want to wait 200ms", err, caller)
	}
	admitted(t, "bob", g, bearer(bob), Infer)
	admitted(t, "what is public, which has a limit of its own", g, bearer(ann), Public)
	passed := 0
	for range 1000 { // ten seconds of a hundred requests
		at.move(10 * time.Millisecond)
		if _, err := g.Admit(t.Context(), bearer(ann), Infer); err == nil {
			passed++
		} else if wait(err) <= 0 {
			t.Fatal(err)
		}
	}
	if passed != 10*perSecond {
		t.Errorf("%d requests passed in ten seconds, want %d", passed, 10*perSecond)
	}
	_, err = g.Admit(t.Context(), bearer(bob), Admin)
	refused(t, "bob administers", err, ErrForbidden)
}

func TestRatePerAddressOfTheAnonymous(t *testing.T) {
	at := newClock()
	g, err := newGuard(t.Context(), Config{Rate: 1}, at.now)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		remote string
		pass   bool
	}{
		{"192.0.2.1:1000", true},
		{"192.0.2.1:2000", false}, // another port
		{"::ffff:192.0.2.1", false},
		{"192.0.2.2:1000", true},
		{"[2001:db8::1]:1000", true},
		{"[2001:db8::ffff:1%eth0]:1000", false}, // the same network of 64 bits
		{"[2001:db8:0:1::1]:1000", true},
		{"", true},
		{"@", false}, // a Unix socket
	} {
		_, err := g.Admit(t.Context(), Credentials{Remote: c.remote}, Infer)
		if (err == nil) != c.pass || err != nil && wait(err) != time.Second {
			t.Errorf("%s: %v, want passed %v", c.remote, err, c.pass)
		}
	}
}

func TestRetryAfterIsWholeSeconds(t *testing.T) {
	for wait, want := range map[time.Duration]int{0: 1, time.Nanosecond: 1, time.Second: 1, 1001 * time.Millisecond: 2, time.Minute: 60} {
		if got := (&TooManyError{RetryAfter: wait}).Seconds(); got != want {
			t.Errorf("%v: %d s, want %d", wait, got, want)
		}
	}
}

// Who comes from very many addresses does not fill the memory, neither with requests nor with guesses.
func TestManyAddressesNeedLittleMemory(t *testing.T) {
	const addresses = 20 * maxKeys
	at := newClock()
	open, err := newGuard(t.Context(), Config{Rate: 1}, at.now)
	if err != nil {
		t.Fatal(err)
	}
	_, line := newToken(t, "ann", Infer)
	guarded, _, _, _ := tokenGuard(t, line)
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	ip := netip.MustParseAddr("10.0.0.0")
	for range addresses {
		ip = ip.Next()
		remote := ip.String()
		if _, err := open.Admit(t.Context(), Credentials{Remote: remote}, Infer); err != nil {
			t.Fatal(err)
		}
		_, err := guarded.Admit(t.Context(), Credentials{Remote: remote, Authorization: "Bearer psi_"}, Infer)
		refused(t, remote, err, ErrUnauthenticated)
	}
	if grown := heap() - before; grown > 20<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
	if a, b := len(open.rates.buckets.items), len(guarded.failures.count.items); a != maxKeys || b != maxKeys {
		t.Errorf("%d and %d keys, want %d", a, b, maxKeys)
	}
	runtime.KeepAlive(open)
}

// Who keeps asking is not forgotten while others come and go: no flood of addresses refills its bucket.
func TestOldestKeyGivesWay(t *testing.T) {
	c := newLRU[int, string](3)
	for i := range 3 {
		c.put(i, fmt.Sprint(i))
	}
	c.get(0)
	c.put(3, "3") // 1 gives way
	if value, ok := c.get(0); !ok || value != "0" {
		t.Errorf("0 was asked for and gave way")
	}
	c.put(2, "two")
	c.put(4, "4") // 3 gives way
	for key, want := range map[int]string{0: "0", 1: "", 2: "two", 3: "", 4: "4"} {
		if got, ok := c.items[key]; ok != (want != "") || ok && got.Value.(*pair[int, string]).value != want {
			t.Errorf("key %d: there %v, want %q", key, ok, want)
		}
	}
}

func TestGuessesAreLimited(t *testing.T) {
	ann, line := newToken(t, "ann", Infer)
	g, _, at, _ := tokenGuard(t, line)
	guess := func(remote string) error {
		secret, _ := newToken(t, "guess", Infer)
		_, err := g.Admit(t.Context(), Credentials{Authorization: "Bearer " + secret, Remote: remote}, Infer)
		return err
	}
	for range maxFailures - 1 {
		refused(t, "a guess", guess("192.0.2.1:1"), ErrUnauthenticated)
	}
	at.move(failureWindow) // so slow is no attack
	for range maxFailures {
		refused(t, "a guess", guess("192.0.2.1:1"), ErrUnauthenticated)
	}
	if got := wait(guess("192.0.2.1:2")); got != failureWait {
		t.Errorf("one guess too many: wait %v, want %v", got, failureWait)
	}
	refused(t, "a guess from elsewhere", guess("192.0.2.2:1"), ErrUnauthenticated)
	admitted(t, "the right token from the locked address", g, bearer(ann), Infer)
	_, err := g.Admit(t.Context(), Credentials{Remote: "192.0.2.1"}, Public)
	if err != nil {
		t.Errorf("what is public is locked: %v", err)
	}
	at.move(failureWait - time.Second)
	if got := wait(guess("192.0.2.1:2")); got != time.Second {
		t.Errorf("a second before the end: wait %v", got)
	}
	at.move(time.Second)
	refused(t, "a guess after the wait", guess("192.0.2.1:1"), ErrUnauthenticated)
}

// What is public has a rate for each address, whatever token comes with it; health has none.
func TestPublicRate(t *testing.T) {
	ann, line := newToken(t, "ann", Infer)
	g, _, at, _ := tokenGuard(t, line)
	here, there := Credentials{Remote: "192.0.2.1:1"}, Credentials{Remote: "192.0.2.2:1"}
	for range DefaultPublicRate {
		admitted(t, "at once", g, here, Public)
	}
	for _, shown := range []Credentials{here, {Remote: "192.0.2.1:2", Authorization: "Bearer " + ann}} {
		if _, err := g.Admit(t.Context(), shown, Public); wait(err) != time.Second/DefaultPublicRate {
			t.Errorf("once more: %v", err)
		}
	}
	for range 10 * DefaultPublicRate {
		admitted(t, "health", g, here, Health)
	}
	admitted(t, "from elsewhere", g, there, Public)
	admitted(t, "what is not public", g, Credentials{Remote: "192.0.2.1:1", Authorization: "Bearer " + ann}, Infer)
	at.move(time.Second / DefaultPublicRate)
	admitted(t, "after a while", g, here, Public)
}

// A caller has so many requests in progress, by its name, or by its address where nobody is asked.
func TestRequestsUnderWay(t *testing.T) {
	g, err := New(t.Context(), Config{Calls: 2})
	if err != nil {
		t.Fatal(err)
	}
	token, nobody := Caller{Name: "ann", Kind: "token"}, Caller{Name: "anonymous", Kind: "anonymous"}
	var leave []func()
	enter := func(c Caller, remote string, free bool) {
		t.Helper()
		l, err := g.Enter(c, remote)
		if (err == nil) != free || err != nil && wait(err) <= 0 {
			t.Errorf("%s from %s: %v", c.Name, remote, err)
		}
		if err == nil {
			leave = append(leave, l)
		}
	}
	enter(token, "192.0.2.1:1", true)
	enter(token, "192.0.2.2:1", true)
	enter(token, "192.0.2.3:1", false)
	enter(nobody, "192.0.2.3:1", true)
	enter(nobody, "192.0.2.3:2", true)
	enter(nobody, "192.0.2.3:3", false)
	enter(nobody, "192.0.2.4:1", true)
	for _, l := range leave {
		l()
	}
	enter(token, "192.0.2.1:1", true)
	if len(g.admitted.count) != 1 {
		t.Errorf("%v is remembered", g.admitted.count)
	}
	for range maxUnadmitted {
		if _, err := g.EnterUnadmitted("192.0.2.5:1"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := g.EnterUnadmitted("192.0.2.5:2"); wait(err) <= 0 {
		t.Errorf("one more at the door: %v", err)
	}
	if _, err := g.EnterUnadmitted("192.0.2.6:2"); err != nil {
		t.Errorf("at the door from elsewhere: %v", err)
	}
}
