package auth

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestJWTsOfAllKinds(t *testing.T) {
	for _, algorithm := range []string{"RS256", "PS256", "ES256", "EdDSA"} {
		key := newKey(t, "k1", algorithm)
		p := newProvider(t, key)
		g, at, told := p.guard(t)
		caller := admitted(t, algorithm, g, bearer(key.sign(t, p.body(at))), Infer)
		if want := (Caller{"ann", "jwt", Infer}); caller != want {
			t.Errorf("%s: %v, want %v", algorithm, caller, want)
		}
		if list := told.all(); len(list) != 0 {
			t.Errorf("%s: reports %q", algorithm, list)
		}
	}
}

func TestPermissionsOfJWTs(t *testing.T) {
	key := newKey(t, "k1", "ES256")
	p := newProvider(t, key)
	g, at, _ := p.guard(t)
	for _, c := range []struct {
		claims claims
		want   Permission
	}{
		{claims{"scope": "openid psi:infer psi:metrics"}, Infer | Metrics},
		{claims{"scope": []string{"psi:admin"}}, Admin},
		{claims{"scope": nil, "scp": "psi:infer"}, Infer},
		{claims{"scope": nil, "scp": []string{"psi:infer", "psi:admin"}}, Infer | Admin},
		{claims{"permissions": []string{"psi:metrics"}}, Infer | Metrics},
		{claims{"scope": "psi:admins xpsi:infer infer admin psi: psi:infer,psi:admin PSI:ADMIN"}, 0},
		{claims{"scope": nil}, 0},
		{claims{"scope": "", "role": "psi:admin", "psi:admin": true}, 0},
	} {
		jwt := key.sign(t, p.body(at).with(c.claims))
		for _, needed := range []Permission{Infer, Admin, Metrics} {
			caller, err := g.Admit(t.Context(), bearer(jwt), needed)
			if c.want.Has(needed) {
				if err != nil || caller.Allowed != c.want {
					t.Errorf("%v for %v: %v, %v", c.claims, needed, caller, err)
				}
			} else {
				refused(t, fmt.Sprint(c.claims, needed), err, ErrForbidden)
			}
		}
	}
}

func TestWrongJWTsAreRefusedAlike(t *testing.T) {
	key, other := newKey(t, "k1", "RS256"), newKey(t, "k1", "RS256")
	p := newProvider(t, key)
	_, at, _ := p.guard(t)
	good := p.body(at)
	now := at.now().Unix()
	der, err := x509.MarshalPKIXPublicKey(key.private.Public())
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	jwk, err := json.Marshal(key.jwk())
	if err != nil {
		t.Fatal(err)
	}
	jwt := key.sign(t, good)
	parts := strings.Split(jwt, ".")
	hs256 := claims{"alg": "HS256", "kid": "k1"}
	for _, c := range []struct{ what, reason, jwt string }{
		{"alg none", "algorithm", unsigned(t, claims{"alg": "none"}, good) + "."},
		{"alg None with a signature", "algorithm", unsigned(t, claims{"alg": "None", "kid": "k1"}, good) + "." + parts[2]},
		{"no alg", "algorithm", key.signWith(t, claims{"kid": "k1"}, good)},
		{"HS256 with the public PEM", "algorithm", hmacSigned(t, public, hs256, good)},
		{"HS256 with the public DER", "algorithm", hmacSigned(t, der, hs256, good)},
		{"HS256 with the JWK", "algorithm", hmacSigned(t, jwk, hs256, good)},
		{"HS256 with nothing", "algorithm", hmacSigned(t, nil, hs256, good)},
		{"ES256 over an RSA signature", "signature", key.signWith(t, claims{"alg": "ES256", "kid": "k1"}, good)},
		{"another's key of the same id", "signature", other.sign(t, good)},
		{"a key inside the JWT", "signature", other.signWith(t, claims{"alg": "RS256", "kid": "k1", "jwk": other.jwk()}, good)},
		{"a critical extension", "signature", key.signWith(t, claims{"alg": "RS256", "kid": "k1", "crit": []string{"x"}, "x": 1}, good)},
		{"no signature", "signature", parts[0] + "." + parts[1] + "."},
		{"another body", "signature", parts[0] + "." + strings.Split(key.sign(t, good.with(claims{"sub": "bob"})), ".")[1] + "." + parts[2]},
		{"half of it", "signature", jwt[:len(jwt)/2]},
		{"another form", "Authorization header", fmt.Sprintf(`{"protected":%q,"payload":%q,"signature":%q}`, parts[0], parts[1], parts[2])},
		{"two dots", "malformed", ".."},
		{"expired", "expired", key.sign(t, good.with(claims{"exp": now - 61}))},
		{"without an end", "expired", key.sign(t, good.with(claims{"exp": nil}))},
		{"with a negative end", "expired", key.sign(t, good.with(claims{"exp": -1}))},
		{"not yet valid", "not valid yet", key.sign(t, good.with(claims{"nbf": now + 62}))},
		{"for somebody else", "audience", key.sign(t, good.with(claims{"aud": "shop"}))},
		{"for many others", "audience", key.sign(t, good.with(claims{"aud": []string{"shop", "psi2", "PSI"}}))},
		{"for nobody", "audience", key.sign(t, good.with(claims{"aud": nil}))},
		{"of another issuer", "provider", key.sign(t, good.with(claims{"iss": "https://evil.example"}))},
		{"of nearly the issuer", "provider", key.sign(t, good.with(claims{"iss": p.URL + "/"}))},
		{"of no issuer", "provider", key.sign(t, good.with(claims{"iss": nil}))},
		{"of nobody", "subject", key.sign(t, good.with(claims{"sub": nil}))},
		{"of a subject for the log", "subject", key.sign(t, good.with(claims{"sub": "ann\nlevel=INFO msg=\"bob logged in\""}))},
		{"of a long subject", "subject", key.sign(t, good.with(claims{"sub": strings.Repeat("a", 256)}))},
		{"of a scope that is a number", "claims", key.sign(t, good.with(claims{"scope": 7}))},
		{"of a token that looks psi's", "token file", "psi_" + jwt},
	} {
		g, _, _ := p.guard(t) // a fresh one, so that no failure counts for another
		g.now, g.issuer.now = at.now, at.now
		_, err := g.Admit(t.Context(), bearer(c.jwt), Infer)
		refused(t, c.what, err, ErrUnauthenticated)
		if !strings.Contains(Reason(err), c.reason) {
			t.Errorf("%s: refused because %s, want %s", c.what, Reason(err), c.reason)
		}
	}
	g, _, _ := p.guard(t)
	for what, jwt := range map[string]string{
		"the good one":        jwt,
		"a minute late":       key.sign(t, good.with(claims{"exp": now - 50})),
		"a minute early":      key.sign(t, good.with(claims{"nbf": now + 50})),
		"for others too":      key.sign(t, good.with(claims{"aud": []string{"shop", "psi"}})),
		"without a key's id":  key.signWith(t, claims{"alg": "RS256"}, good),
		"with half a second":  key.sign(t, good.with(claims{"nbf": float64(now) - .5})),
		"with unknown claims": key.sign(t, good.with(claims{"email": "ann@example.org", "groups": []int{1}})),
	} {
		admitted(t, what, g, bearer(jwt), Infer)
	}
}

func TestRememberedJWTsEnd(t *testing.T) {
	key := newKey(t, "k1", "ES256")
	p := newProvider(t, key)
	g, at, _ := p.guard(t)
	jwt := key.sign(t, p.body(at).with(claims{"exp": at.now().Unix() - 30}))
	for range 4 {
		admitted(t, "before the end", g, bearer(jwt), Infer)
		at.move(7 * time.Second)
	}
	at.move(3 * time.Second) // 61 s after the end: more than clocks may be off
	_, err := g.Admit(t.Context(), bearer(jwt), Infer)
	refused(t, "after the end", err, ErrUnauthenticated)
	if n := p.fetched(); n != 1 {
		t.Errorf("the keys were fetched %d times", n)
	}
}

func TestKeyRotation(t *testing.T) {
	old, next := newKey(t, "k1", "ES256"), newKey(t, "k2", "RS256")
	p := newProvider(t, old)
	g, at, told := p.guard(t)
	admitted(t, "the old key", g, bearer(old.sign(t, p.body(at))), Infer)
	p.set(false, old, next)
	admitted(t, "the new key", g, bearer(next.sign(t, p.body(at))), Infer)
	admitted(t, "the old key beside the new one", g, bearer(old.sign(t, p.body(at).with(claims{"sub": "bob"}))), Infer)
	if n := p.fetched(); n != 2 {
		t.Errorf("the keys were fetched %d times, want 2", n)
	}

	p.set(false, next)
	at.move(keysLife)
	taken := old.sign(t, p.body(at))
	_, err := g.Admit(t.Context(), bearer(taken), Infer)
	refused(t, "a key that the issuer took back", err, ErrUnauthenticated)
	admitted(t, "the key that stays", g, bearer(next.sign(t, p.body(at))), Infer)
	if list := told.all(); len(list) != 0 {
		t.Errorf("reports %q", list)
	}
}

// Each new key is met while go-oidc may still be ending the fetch of the one before.
func TestKeysThatFollowAtOnce(t *testing.T) {
	list := make([]signingKey, 100)
	for i := range list {
		list[i] = newKey(t, fmt.Sprint("k", i), "ES256")
	}
	p := newProvider(t, list[0])
	g, at, _ := p.guard(t)
	shown := make([]string, len(list))
	for i, key := range list {
		shown[i] = key.sign(t, p.body(at).with(claims{"exp": at.now().Add(24 * time.Hour).Unix()}))
	}
	for i, key := range list {
		p.set(false, key)
		at.move(fetchEvery)
		admitted(t, key.id, g, bearer(shown[i]), Infer)
	}
}

func TestIssuerOutOfOrder(t *testing.T) {
	key, next := newKey(t, "k1", "ES256"), newKey(t, "k2", "ES256")
	p := newProvider(t, key)
	g, at, told := p.guard(t)
	admitted(t, "before", g, bearer(key.sign(t, p.body(at))), Infer)
	p.set(true)
	at.move(keysLife)
	admitted(t, "with the keys from before", g, bearer(key.sign(t, p.body(at))), Infer)
	if list := told.all(); len(list) != 1 || !strings.Contains(list[0], "503") || !strings.Contains(list[0], "stay in force") {
		t.Errorf("reports %q", list)
	}
	_, err := g.Admit(t.Context(), bearer(next.sign(t, p.body(at))), Infer)
	refused(t, "a key that cannot be fetched", err, ErrUnauthenticated)
	p.set(false, next)
	at.move(keysRetry)
	admitted(t, "when it is back", g, bearer(next.sign(t, p.body(at))), Infer)
	_, err = g.Admit(t.Context(), bearer(key.sign(t, p.body(at))), Infer)
	refused(t, "the old key when it is back", err, ErrUnauthenticated)
}

// Bad JWTs from everywhere must not make the server flood the issuer.
func TestBadJWTsFetchFewKeys(t *testing.T) {
	key, evil := newKey(t, "k1", "ES256"), newKey(t, "evil", "ES256")
	p := newProvider(t, key)
	g, at, told := p.guard(t)
	for i := range 500 {
		shown := bearer(evil.sign(t, p.body(at)))
		shown.Remote = fmt.Sprintf("10.0.%d.%d", i/256, i%256)
		_, err := g.Admit(t.Context(), shown, Infer)
		refused(t, "a bad JWT", err, ErrUnauthenticated)
		at.move(100 * time.Millisecond)
	}
	if n, most := p.fetched(), firstFew+5; n > most {
		t.Errorf("500 bad JWTs in 50 s made it fetch keys %d times, more than %d", n, most)
	}
	admitted(t, "a good JWT", g, bearer(key.sign(t, p.body(at))), Infer)
	if list := told.all(); len(list) != 0 {
		t.Errorf("reports %q", list)
	}
}

// A locked address costs no signatures, but who was known before still is.
func TestLockedAddressAndJWTs(t *testing.T) {
	key, evil := newKey(t, "k1", "ES256"), newKey(t, "k1", "ES256")
	p := newProvider(t, key)
	g, at, _ := p.guard(t)
	known := key.sign(t, p.body(at))
	admitted(t, "before", g, bearer(known), Infer)
	for range maxFailures {
		_, err := g.Admit(t.Context(), bearer(evil.sign(t, p.body(at))), Infer)
		refused(t, "a bad JWT", err, ErrUnauthenticated)
	}
	for what, jwt := range map[string]string{"a bad JWT": evil.sign(t, p.body(at)), "a new good JWT": key.sign(t, p.body(at).with(claims{"sub": "bob"}))} {
		if _, err := g.Admit(t.Context(), bearer(jwt), Infer); wait(err) != failureWait {
			t.Errorf("%s: %v", what, err)
		}
	}
	admitted(t, "a JWT that was known", g, bearer(known), Infer)
}

func TestIssuersThatAreNotTaken(t *testing.T) {
	answer := func(text string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprint(w, text)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	redirecting := httptest.NewServer(http.RedirectHandler("https://evil.example", http.StatusFound))
	t.Cleanup(redirecting.Close)
	// Keys over http from elsewhere: the issuer names itself, so that only this is wrong.
	var plain *httptest.Server
	plain = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":"http://keys.example/"}`, plain.URL)
	}))
	t.Cleanup(plain.Close)
	for _, c := range []struct{ what, issuer, audience, want string }{
		{"no audience", "https://issuer.example", "", "serve.Config.Audience"},
		{"no issuer", "", "psi", "serve.Config.Issuer"},
		{"http", "http://issuer.example", "psi", "no https URL"},
		{"a file", "file:///keys", "psi", "no https URL"},
		{"a password", "https://ann:x@issuer.example", "psi", "no https URL"},
		{"another name", answer(`{"issuer":"https://other.example","jwks_uri":"https://other.example/keys"}`), "psi", "other.example"},
		{"no JSON", answer("<html>"), "psi", "JSON"},
		{"too much", answer("{}" + strings.Repeat(" ", maxAnswer)), "psi", "JSON"},
		{"redirects", redirecting.URL, "psi", "302"},
		{"keys over http", plain.URL, "psi", "jwks_uri"},
	} {
		_, err := New(t.Context(), Config{Issuer: c.issuer, Audience: c.audience})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
}
