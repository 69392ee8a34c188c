package auth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/time/rate"
)

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
