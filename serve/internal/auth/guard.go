package auth

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"strings"
	"time"
)

// Config says how callers are known. The zero Config is an open guard.
type Config struct {
	TokenFile string // lines made by NewToken

	ClientCertificates bool     // that TLS has verified
	Admins             []string // names of the certificates that may do everything

	Issuer   string // of OpenID Connect, an https URL
	Audience string // that its tokens are for: this server

	Rate       float64 // requests a second of each caller, as many at once; 0 is no limit
	PublicRate float64 // public requests a second of each address; 0 means DefaultPublicRate
	Calls      int     // requests of each caller that are under way at once; 0 is no limit

	Report func(error) // told of files and issuers that fail later; may be called from any goroutine
}

// Credentials are what a visitor showed, and where it came in.
type Credentials struct {
	Authorization string               // the header
	TLS           *tls.ConnectionState // nil without TLS
	Remote        string               // its IP, with or without a port: of the connection, never from a header
	Loopback      bool                 // it came in at an address of which [Loopback] is true
}

// Caller is who a visitor is.
type Caller struct {
	Name    string // for limits and logs; no secret
	Kind    string // anonymous, certificate, token or jwt
	Allowed Permission
}

// key is what a caller's requests are counted by: its name, or its address where nobody is asked.
func (c Caller) key(remote string) string {
	if c.Kind == "anonymous" {
		return AddressKey(remote)
	}
	return c.Kind + ":" + c.Name
}

// Guard lets callers in. It is safe for concurrent use.
type Guard struct {
	config   Config
	tokens   *tokenFile // or nil
	issuer   *issuer    // or nil
	rates    *rates     // or nil
	public   *rates
	inside   *inside // admitted requests, by caller
	outside  *inside // requests that are not admitted, by address
	failures *failures
	origins  *http.CrossOriginProtection
	now      func() time.Time
}

// New reads the token file and asks the issuer for its description, for as long as ctx lasts.
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
		public: newRates(config.PublicRate), inside: newInside(config.Calls), outside: newInside(maxOutside),
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

// Secured reports whether callers have to show who they are.
func (g *Guard) Secured() bool {
	return g.config.ClientCertificates || g.tokens != nil || g.issuer != nil
}

// Admit lets a visitor do what needs a permission, or refuses it, with the caller if that is known. What is [Public] is for
// everybody, at a rate for each address; what is [Health] is neither checked nor limited.
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

// Enter counts a request that was admitted as under way until leave is called. It refuses a caller who has as many under
// way as Config.Calls allows.
func (g *Guard) Enter(caller Caller, remote string) (leave func(), err error) {
	return g.inside.enter(caller.key(remote))
}

// Knock counts a request that is not admitted yet, or never is, as under way until leave is called. It refuses an address
// that has very many of them: each holds its header until the visitor has read an answer.
func (g *Guard) Knock(remote string) (leave func(), err error) {
	return g.outside.enter(AddressKey(remote))
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

// bearer knows a caller by a token. An address with many failures waits; but what was right before, or is cheap to check
// and cannot be guessed, still passes, so that one client with an old token does not lock out all behind the same proxy.
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

// notInToken is what RFC 6750 does not have in a token.
func notInToken(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-._~+/=", r))
}
