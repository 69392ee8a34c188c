package auth

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/time/rate"
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

	mu       sync.Mutex
	verified *lru[[sha256.Size]byte, remembered]
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
	i := &issuer{now: now, verified: newLRU[[sha256.Size]byte, remembered](maxJWTs)}
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
	entry, ok := i.verified.get(key)
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
	i.verified.put(sha256.Sum256([]byte(jwt)), remembered{caller, until})
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

const (
	keysLife   = 10 * time.Minute // after which an issuer's keys are fetched again
	keysRetry  = 30 * time.Second // if that failed
	fetchEvery = 10 * time.Second // from the issuer, at most, once the first few are used up
	firstFew   = 4
	maxAnswer  = 1 << 20 // bytes
)

// keys holds an issuer's public keys. go-oidc fetches them when it cannot verify a signature, and keeps them for ever, so a
// revoked key would stay valid. Here they are fetched again after keysLife.
type keys struct {
	address string
	client  *http.Client
	fetched func() int64 // how often the issuer has answered
	now     func() time.Time

	mu      sync.Mutex
	current *oidc.RemoteKeySet
	renew   time.Time
}

func newKeys(address string, client *http.Client, fetched func() int64, now func() time.Time) *keys {
	k := &keys{address: address, client: client, fetched: fetched, now: now, renew: now().Add(keysLife)}
	k.current = k.fetchedLater()
	return k
}

func (k *keys) fetchedLater() *oidc.RemoteKeySet {
	return oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), k.client), k.address)
}

// VerifySignature returns the payload of a JWT that one of the keys has signed.
func (k *keys) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	k.mu.Lock()
	current, now := k.current, k.now()
	due := !now.Before(k.renew)
	if due {
		k.renew = now.Add(keysRetry) // the others go on with the old ones
	}
	k.mu.Unlock()
	if !due {
		before := k.fetched()
		payload, err := current.VerifySignature(ctx, jwt)
		// go-oidc answers the waiters of a fetch before it records that the fetch is over. A request in between is judged by
		// the keys of an earlier fetch. So a JWT is invalid only if the issuer was asked meanwhile.
		if _, failed := errors.AsType[*fetchError](err); err == nil || failed || ctx.Err() != nil || k.fetched() != before {
			return payload, err
		}
	}
	fresh := k.fetchedLater()
	payload, err := fresh.VerifySignature(ctx, jwt)
	if _, failed := errors.AsType[*fetchError](err); failed || ctx.Err() != nil {
		return current.VerifySignature(ctx, jwt)
	}
	k.mu.Lock()
	k.current, k.renew = fresh, now.Add(keysLife)
	k.mu.Unlock()
	return payload, err
}

// fetcher is a transport to an issuer. Every invalid JWT makes go-oidc fetch keys, so the fetcher limits the rate; each
// fetch serves all waiting requests.
type fetcher struct {
	limit  *rate.Limiter
	report func(error)
	now    func() time.Time

	answers atomic.Int64
}

func newFetcher(report func(error), now func() time.Time) *fetcher {
	return &fetcher{limit: rate.NewLimiter(rate.Every(fetchEvery), firstFew), report: report, now: now}
}

type fetchError struct{ err error }

func (e *fetchError) Error() string { return e.err.Error() }
func (e *fetchError) Unwrap() error { return e.err }

var errTooSoon = errors.New("the issuer was asked a moment ago")

// RoundTrip implements http.RoundTripper. It returns complete JSON answers of bounded size, or an error.
func (f *fetcher) RoundTrip(request *http.Request) (*http.Response, error) {
	if !f.limit.AllowN(f.now(), 1) {
		return nil, &fetchError{errTooSoon}
	}
	response, err := f.fetch(request)
	if err != nil {
		err = &fetchError{err}
		f.report(fmt.Errorf("OpenID Connect issuer, %s: %w; the keys that were fetched before stay in force", request.URL.Redacted(), err))
		return nil, err
	}
	f.answers.Add(1)
	return response, nil
}

func (*fetcher) fetch(request *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answered %s", response.Status)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxAnswer || !json.Valid(body) {
		return nil, errors.New("its answer is not JSON of reasonable size")
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}
