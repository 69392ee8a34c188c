package auth

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

const (
	clockSkew    = time.Minute // that an issuer's clock may be off
	rememberFor  = time.Minute // a JWT that was right
	maxJWTs      = 10_000      // that are remembered
	scopePrefix  = "psi:"      // of permissions in claims
	issuerAnswer = 10 * time.Second
)

// asymmetric lists the accepted signature algorithms. A JWT with another one, such as none or HS256, is refused unread: the
// key of HS256 would be the public key.
var asymmetric = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
}

// issuer authenticates callers by JWTs of an OpenID Connect issuer.
type issuer struct {
	verifier *oidc.IDTokenVerifier
	now      func() time.Time

	mu    sync.Mutex
	right *lru[[sha256.Size]byte, remembered]
}

// remembered is a JWT that was valid. The next request with it needs no check of the signature.
type remembered struct {
	caller Caller
	until  time.Time
}

func discover(ctx context.Context, address, audience string, report func(error), now func() time.Time) (*issuer, error) {
	if audience == "" {
		return nil, errors.New("serve.Config.Issuer without serve.Config.Audience: without it, a token for any other service would be taken; give both")
	}
	if err := checkURL(address); err != nil {
		return nil, fmt.Errorf("serve.Config.Issuer: %w", err)
	}
	fetch := newFetcher(report, now)
	client := &http.Client{
		Timeout:       issuerAnswer,
		Transport:     fetch,
		CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("an issuer may not redirect") },
	}
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, client), address)
	if err != nil {
		return nil, fmt.Errorf("OpenID Connect issuer %s cannot be asked: %w; check serve.Config.Issuer and the network", address, err)
	}
	var described struct {
		Keys string `json:"jwks_uri"`
	}
	if err := provider.Claims(&described); err != nil {
		return nil, fmt.Errorf("OpenID Connect issuer %s: %w", address, err)
	}
	if err := checkURL(described.Keys); err != nil {
		return nil, fmt.Errorf("OpenID Connect issuer %s, its jwks_uri: %w", address, err)
	}
	i := &issuer{now: now, right: newLRU[[sha256.Size]byte, remembered](maxJWTs)}
	i.verifier = oidc.NewVerifier(address, newKeys(described.Keys, client, fetch.answers.Load, now), &oidc.Config{
		ClientID:             audience,
		SupportedSigningAlgs: asymmetric,
		Now:                  func() time.Time { return now().Add(-clockSkew) }, // for the end; the beginning is checked below
	})
	return i, nil
}

// checkURL accepts https, and http only for this machine: whoever can change the keys in transit can be anybody.
func checkURL(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || !(u.Scheme == "https" || u.Scheme == "http" && loopbackHost(u.Hostname())) {
		return fmt.Errorf("%q is no https URL", address)
	}
	return nil
}

func (i *issuer) remembered(jwt string) (Caller, bool) {
	key := sha256.Sum256([]byte(jwt))
	i.mu.Lock()
	defer i.mu.Unlock()
	entry, ok := i.right.get(key)
	return entry.caller, ok && i.now().Before(entry.until)
}

func (i *issuer) verify(ctx context.Context, jwt string) (Caller, error) {
	verified, err := i.verifier.Verify(ctx, jwt)
	if err != nil {
		return Caller{}, unauthenticated("the JWT: %v", err)
	}
	var claims struct {
		NotBefore   float64 `json:"nbf"`
		Scope       words   `json:"scope"`
		Scp         words   `json:"scp"` // as Entra and Okta call it
		Permissions words   `json:"permissions"`
	}
	if err := verified.Claims(&claims); err != nil {
		return Caller{}, unauthenticated("the claims of the JWT: %v", err)
	}
	if claims.NotBefore > float64(i.now().Add(clockSkew).Unix()) {
		return Caller{}, unauthenticated("the JWT is not valid yet")
	}
	if err := checkName(verified.Subject); err != nil {
		return Caller{}, unauthenticated("the subject of the JWT: %v", err)
	}
	caller := Caller{Name: verified.Subject, Kind: "jwt"}
	for _, list := range []words{claims.Scope, claims.Scp, claims.Permissions} {
		for _, word := range list {
			if name, ok := strings.CutPrefix(word, scopePrefix); ok {
				caller.Allowed |= permissionNamed(name)
			}
		}
	}
	i.remember(jwt, caller, verified.Expiry)
	return caller, nil
}

func (i *issuer) remember(jwt string, caller Caller, expiry time.Time) {
	until := i.now().Add(rememberFor)
	if end := expiry.Add(clockSkew); end.Before(until) {
		until = end
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.right.put(sha256.Sum256([]byte(jwt)), remembered{caller, until})
}

// words is a list, or a string with spaces between words: issuers differ.
type words []string

// UnmarshalJSON parses either form.
func (w *words) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*w = strings.Fields(text)
		return nil
	}
	return json.Unmarshal(data, (*[]string)(w))
}
