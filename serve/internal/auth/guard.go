// Package auth decides which caller may do what at a server. It knows neither models nor protocols.
//
// A server asks a [Guard] once for each request. [Guard.Admit] takes the [Credentials] of the visitor and the [Permission]
// that the route needs. It returns the [Caller] or one of three refusals: [ErrUnauthenticated], [ErrForbidden] and
// [*TooManyError]. Their texts do not tell a stranger what was wrong; [Reason] does, for the log. [Guard.EnterUnadmitted]
// and [Guard.Enter] limit the concurrent requests of an address or a caller.
//
// There are three kinds of authentication: a token whose hash is in a file ([NewToken]), a client certificate that TLS has
// verified ([TLS]), and a JWT of an OpenID Connect issuer. A token takes precedence over a certificate, since a proxy with
// its own certificate may forward tokens of others. A wrong token is refused, even with a valid certificate. Without any of
// the three, a guard is open and all callers are anonymous; [CheckAddresses] restricts open guards to loopback.
//
// Token files, certificates and client CAs are read again when they are needed, at most once a second. If a changed file is
// invalid, that is reported and the last valid one stays in force.
package auth

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"
)

// Permission is a set of permissions: of a caller, or those that a route needs. A route that needs none was forgotten, and
// nobody may use it; routes for everybody need Public or Health.
type Permission uint8

// The permissions. None includes another.
const (
	Public  Permission = 1 << iota // for everybody, at a limited rate
	Infer                          // ask models, and describe them
	Admin                          // load and unload models, read profiles
	Metrics                        // read the metrics
	Health                         // health checks, for everybody without limits

	grantable = Infer | Admin | Metrics // permissions that callers can have
)

var permissionNames = []struct {
	name string
	bit  Permission
}{{"infer", Infer}, {"admin", Admin}, {"metrics", Metrics}}

// Has reports whether p includes all needed permissions.
func (p Permission) Has(needed Permission) bool { return p&needed == needed }

// String returns a list as in token files.
func (p Permission) String() string {
	var names []string
	for _, known := range permissionNames {
		if p&known.bit != 0 {
			names = append(names, known.name)
		}
	}
	switch {
	case names == nil && p == Health:
		return "health"
	case names == nil && p == Public:
		return "public"
	case names == nil:
		return "nothing"
	}
	return strings.Join(names, ",")
}

// ParsePermission parses a list such as "infer,metrics", which must not be empty.
func ParsePermission(list string) (Permission, error) {
	var p Permission
	for name := range strings.SplitSeq(list, ",") {
		bit := permissionNamed(name)
		if bit == 0 {
			return 0, fmt.Errorf("%q is no permission: use infer, admin or metrics, with commas between them", name)
		}
		p |= bit
	}
	return p, nil
}

func permissionNamed(name string) Permission {
	for _, known := range permissionNames {
		if name == known.name {
			return known.bit
		}
	}
	return 0
}

// Config selects the kinds of authentication. The zero Config is an open guard.
type Config struct {
	TokenFile string // file of lines of NewToken

	ClientCertificates bool     // accept client certificates that TLS has verified
	Admins             []string // names of client certificates that may do everything

	Issuer   string // OpenID Connect issuer, an https URL
	Audience string // required audience of its tokens

	Rate       float64 // maximum requests per second of each caller, and burst; 0 means no limit
	PublicRate float64 // maximum public requests per second of each address; 0 means DefaultPublicRate
	Calls      int     // maximum concurrent requests of each caller; 0 means no limit

	Report func(error) // called with later errors of files and issuers, from any goroutine
}

// Credentials are what a visitor presents, and where it connected.
type Credentials struct {
	Authorization string               // value of the header
	TLS           *tls.ConnectionState // nil without TLS
	Remote        string               // IP of the connection, with or without a port; never from a header
	Loopback      bool                 // [Loopback] of the address that it connected to
}

// Caller is an authenticated or anonymous visitor.
type Caller struct {
	Name    string // for limits and logs; no secret
	Kind    string // anonymous, certificate, token or jwt
	Allowed Permission
}

// key identifies a caller for limits: its name, or its address if it is anonymous.
func (c Caller) key(remote string) string {
	if c.Kind == "anonymous" {
		return AddressKey(remote)
	}
	return c.Kind + ":" + c.Name
}

// Guard authenticates callers and enforces their limits. It is safe for concurrent use.
type Guard struct {
	config     Config
	tokens     *tokenFile // or nil
	issuer     *issuer    // or nil
	rates      *rates     // or nil
	public     *rates
	admitted   *inProgress // admitted requests, by caller
	unadmitted *inProgress // requests that are not admitted, by address
	failures   *failures
	origins    *http.CrossOriginProtection
	now        func() time.Time
}

// New returns a guard. It reads the token file and fetches the description of the issuer, which ctx bounds.
func New(ctx context.Context, config Config) (*Guard, error) { return newGuard(ctx, config, time.Now) }

func newGuard(ctx context.Context, config Config, now func() time.Time) (*Guard, error) {
	if config.Report == nil {
		config.Report = func(error) {}
	}
	if config.PublicRate == 0 {
		config.PublicRate = DefaultPublicRate
	}
	g := &Guard{
		config: config, failures: newFailures(), origins: http.NewCrossOriginProtection(), now: now,
		public: newRates(config.PublicRate), admitted: newInProgress(config.Calls), unadmitted: newInProgress(maxUnadmitted),
	}
	var err error
	if config.TokenFile != "" {
		if g.tokens, err = openTokens(config.TokenFile, config.Report, now); err != nil {
			return nil, err
		}
	}
	switch {
	case config.Issuer != "":
		if g.issuer, err = discover(ctx, config.Issuer, config.Audience, config.Report, now); err != nil {
			return nil, err
		}
	case config.Audience != "":
		return nil, errors.New("serve.Config.Audience without serve.Config.Issuer: give both")
	}
	switch {
	case config.Rate > 0:
		g.rates = newRates(config.Rate)
	case config.Rate != 0:
		return nil, errors.New("the rate of requests must be above 0, or 0 for no limit")
	}
	if config.Calls < 0 {
		return nil, errors.New("the limit of concurrent requests must be above 0, or 0 for none")
	}
	if len(config.Admins) > 0 && !config.ClientCertificates {
		return nil, errors.New("certificates are named as admins, but there is no serve.Config.ClientCAFile to verify them")
	}
	return g, nil
}

// Secured reports whether callers must authenticate.
func (g *Guard) Secured() bool {
	return g.config.ClientCertificates || g.tokens != nil || g.issuer != nil
}

// Admit authenticates a visitor and checks that it has a permission. A refusal comes with the caller if that is known.
// [Public] needs no authentication but has a rate limit for each address; [Health] is neither checked nor limited.
func (g *Guard) Admit(ctx context.Context, shown Credentials, needed Permission) (Caller, error) {
	switch needed {
	case Health:
		return Caller{Name: "anonymous", Kind: "anonymous", Allowed: Health}, nil
	case Public:
		return Caller{Name: "anonymous", Kind: "anonymous", Allowed: Public}, g.public.take(AddressKey(shown.Remote), g.now())
	case 0:
		return Caller{}, &refusal{ErrForbidden, "nothing says what this route needs"}
	}
	caller, err := g.authenticate(ctx, shown)
	if err != nil {
		return Caller{}, err
	}
	if g.rates != nil {
		if err := g.rates.take(caller.key(shown.Remote), g.now()); err != nil {
			return caller, err
		}
	}
	if !caller.Allowed.Has(needed) {
		return caller, &refusal{ErrForbidden, caller.Kind + " " + caller.Name + " may " + caller.Allowed.String() + ", not " + needed.String()}
	}
	return caller, nil
}

// Enter counts an admitted request until leave is called. It returns a *TooManyError if the caller has Config.Calls requests
// in progress.
func (g *Guard) Enter(caller Caller, remote string) (leave func(), err error) {
	return g.admitted.enter(caller.key(remote))
}

// EnterUnadmitted counts a request that is not admitted yet, until leave is called. It returns a *TooManyError if the
// address has very many of them: each holds its header until the visitor has read an answer.
func (g *Guard) EnterUnadmitted(remote string) (leave func(), err error) {
	return g.unadmitted.enter(AddressKey(remote))
}

func (g *Guard) authenticate(ctx context.Context, shown Credentials) (Caller, error) {
	if !g.Secured() {
		allowed := Infer | Metrics
		if shown.Loopback {
			allowed |= Admin
		}
		return Caller{Name: "anonymous", Kind: "anonymous", Allowed: allowed}, nil
	}
	if shown.Authorization != "" && (g.tokens != nil || g.issuer != nil) {
		return g.bearer(ctx, shown)
	}
	if certificate := leaf(shown.TLS); certificate != nil && g.config.ClientCertificates {
		return g.certificateCaller(certificate, g.now())
	}
	return Caller{}, unauthenticated("no token and no client certificate")
}

// bearer authenticates a caller by a token. An address with many failures must wait. Tokens that were valid before, or are
// cheap to check and cannot be guessed, pass all the same, so that one client with an old token does not lock out all others
// behind its proxy.
func (g *Guard) bearer(ctx context.Context, shown Credentials) (Caller, error) {
	address, now := AddressKey(shown.Remote), g.now()
	locked := g.failures.locked(address, now)
	caller, err := g.known(ctx, shown.Authorization, locked)
	if err != nil && locked == nil && ctx.Err() == nil {
		g.failures.add(address, now)
	}
	if err != nil && locked != nil {
		return Caller{}, locked
	}
	return caller, err
}

func (g *Guard) known(ctx context.Context, authorization string, locked error) (Caller, error) {
	const maxSecret = 16 << 10
	scheme, secret, _ := strings.Cut(authorization, " ")
	secret = strings.TrimLeft(secret, " ")
	switch {
	case !strings.EqualFold(scheme, "Bearer") || secret == "" || len(secret) > maxSecret || strings.ContainsFunc(secret, notInToken):
		return Caller{}, unauthenticated("the Authorization header is not Bearer and a token")
	case isToken(secret):
		if g.tokens != nil {
			if t, ok := g.tokens.find(secret); ok {
				return Caller{Name: t.name, Kind: "token", Allowed: t.allowed}, nil
			}
		}
		return Caller{}, unauthenticated("the token is not in the token file")
	case g.issuer == nil:
		return Caller{}, unauthenticated("the token does not begin with %s", tokenPrefix)
	}
	if caller, ok := g.issuer.remembered(secret); ok {
		return caller, nil
	}
	if locked != nil {
		return Caller{}, locked
	}
	return g.issuer.verify(ctx, secret)
}

// notInToken reports whether RFC 6750 excludes a character from tokens.
func notInToken(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-._~+/=", r))
}

// The refusals. Their texts do not depend on what was wrong.
var (
	ErrUnauthenticated = errors.New("unauthenticated: send a valid token or client certificate")
	ErrForbidden       = errors.New("you may not do this: ask for a token with the permission")
)

// TooManyError refuses a caller that sends too many requests or wrong credentials.
type TooManyError struct{ RetryAfter time.Duration }

func (e *TooManyError) Error() string {
	return fmt.Sprintf("too many requests: wait %d s", e.Seconds())
}

// Seconds returns the value of a Retry-After header: whole seconds, at least 1.
func (e *TooManyError) Seconds() int { return max(1, int(math.Ceil(e.RetryAfter.Seconds()))) }

// refusal is a refusal with a reason for the log.
type refusal struct {
	public error
	reason string
}

func (e *refusal) Error() string { return e.public.Error() }
func (e *refusal) Unwrap() error { return e.public }

// originError is a refusal that depends on no secret, so its text may give the remedy.
type originError struct{ remedy, reason string }

func (e *originError) Error() string { return e.remedy }
func (e *originError) Unwrap() error { return ErrForbidden }

func unauthenticated(format string, args ...any) error {
	return &refusal{ErrUnauthenticated, fmt.Sprintf(format, args...)}
}

// Reason returns why a request was refused: for the log, never for the caller. It contains no secret, but may contain text
// of a stranger, so quote it.
func Reason(err error) string {
	const limit = 300
	reason := ""
	if e, ok := errors.AsType[*refusal](err); ok {
		reason = e.reason
	} else if e, ok := errors.AsType[*originError](err); ok {
		reason = e.reason
	} else if err != nil {
		reason = err.Error()
	}
	return reason[:min(len(reason), limit)]
}

// Challenge returns the header WWW-Authenticate of a refusal; "" if it has none.
func Challenge(err error) string {
	switch {
	case errors.Is(err, ErrUnauthenticated):
		return `Bearer realm="psi"`
	case errors.Is(err, ErrForbidden):
		return `Bearer realm="psi", error="insufficient_scope"`
	}
	return ""
}
