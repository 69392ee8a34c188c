package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// signingKey signs JWTs by hand: what is tested must not be what signs.
type signingKey struct {
	id, algorithm string
	private       crypto.Signer
}

func newKey(t testing.TB, id, algorithm string) signingKey {
	t.Helper()
	var private crypto.Signer
	var err error
	switch algorithm {
	case "RS256", "PS256":
		private, err = rsa.GenerateKey(rand.Reader, 2048)
	case "ES256":
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "EdDSA":
		_, private, err = ed25519.GenerateKey(rand.Reader)
	}
	if err != nil || private == nil {
		t.Fatal(algorithm, err)
	}
	return signingKey{id, algorithm, private}
}

func encode(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

// jwk is the public key as issuers publish it (RFC 7517).
func (k signingKey) jwk() map[string]any {
	switch public := k.private.Public().(type) {
	case *rsa.PublicKey:
		return map[string]any{"kty": "RSA", "use": "sig", "kid": k.id, "n": encode(public.N.Bytes()), "e": encode(big.NewInt(int64(public.E)).Bytes())}
	case *ecdsa.PublicKey:
		point, err := public.Bytes() // 4, x, y
		if err != nil {
			panic(err)
		}
		return map[string]any{"kty": "EC", "use": "sig", "kid": k.id, "crv": "P-256", "x": encode(point[1:33]), "y": encode(point[33:])}
	case ed25519.PublicKey:
		return map[string]any{"kty": "OKP", "use": "sig", "kid": k.id, "crv": "Ed25519", "x": encode(public)}
	}
	panic("no such key")
}

type claims map[string]any

// unsigned is the part of a JWT that is signed.
func unsigned(t testing.TB, header, body claims) string {
	t.Helper()
	var parts [2]string
	for i, part := range []claims{header, body} {
		text, err := json.Marshal(part)
		if err != nil {
			t.Fatal(err)
		}
		parts[i] = encode(text)
	}
	return strings.Join(parts[:], ".")
}

// sign signs as RFC 7518 says.
func (k signingKey) sign(t testing.TB, body claims) string {
	t.Helper()
	return k.signWith(t, claims{"alg": k.algorithm, "kid": k.id, "typ": "JWT"}, body)
}

func (k signingKey) signWith(t testing.TB, header, body claims) string {
	t.Helper()
	text := unsigned(t, header, body)
	digest := sha256.Sum256([]byte(text))
	var signature []byte
	var err error
	switch private := k.private.(type) {
	case *rsa.PrivateKey:
		if k.algorithm == "PS256" {
			signature, err = rsa.SignPSS(rand.Reader, private, crypto.SHA256, digest[:], &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash})
		} else {
			signature, err = rsa.SignPKCS1v15(rand.Reader, private, crypto.SHA256, digest[:])
		}
	case *ecdsa.PrivateKey:
		r, s, failure := ecdsa.Sign(rand.Reader, private, digest[:])
		err = failure
		if err == nil {
			signature = append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
		}
	case ed25519.PrivateKey:
		signature = ed25519.Sign(private, []byte(text))
	}
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + encode(signature)
}

// hmacSigned is a JWT of a symmetric algorithm.
func hmacSigned(t testing.TB, secret []byte, header, body claims) string {
	t.Helper()
	text := unsigned(t, header, body)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(text))
	return text + "." + encode(mac.Sum(nil))
}

// provider is a real OpenID Connect issuer: a description and keys.
type provider struct {
	*httptest.Server
	mu      sync.Mutex
	keys    []signingKey
	broken  bool
	fetches int // of keys
}

func newProvider(t testing.TB, keys ...signingKey) *provider {
	t.Helper()
	p := &provider{keys: keys}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q,"id_token_signing_alg_values_supported":["RS256","HS256","none"]}`, p.URL, p.URL+"/keys")
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.fetches++
		if p.broken {
			http.Error(w, "out of order", http.StatusServiceUnavailable)
			return
		}
		list := []any{}
		for _, k := range p.keys {
			list = append(list, k.jwk())
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(map[string]any{"keys": list}); err != nil {
			t.Error(err)
		}
	})
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

// set changes what is published.
func (p *provider) set(broken bool, keys ...signingKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys, p.broken = keys, broken
}

func (p *provider) fetched() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fetches
}

// guard is a guard for the audience psi.
func (p *provider) guard(t testing.TB) (g *Guard, at *clock, told *reports) {
	t.Helper()
	at, told = newClock(), &reports{}
	g, err := newGuard(t.Context(), Config{Issuer: p.URL, Audience: "psi", Report: told.add}, at.now)
	if err != nil {
		t.Fatal(err)
	}
	return g, at, told
}

// body is what a good JWT says.
func (p *provider) body(at *clock) claims {
	return claims{
		"iss": p.URL, "aud": "psi", "sub": "ann", "scope": "openid psi:infer",
		"iat": at.now().Unix(), "exp": at.now().Unix() + 3600,
	}
}

// with is a body with some claims changed; nil takes one out.
func (c claims) with(changes claims) claims {
	changed := maps.Clone(c)
	for key, value := range changes {
		if value == nil {
			delete(changed, key)
		} else {
			changed[key] = value
		}
	}
	return changed
}
