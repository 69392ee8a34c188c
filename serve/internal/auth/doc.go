// Package auth decides which caller may do what at a server. It knows neither models nor protocols.
//
// A server asks a [Guard] once for each request. [Guard.Admit] takes the [Credentials] of the visitor and the [Permission]
// that the route needs. It returns the [Caller] or one of three refusals: [ErrUnauthenticated], [ErrForbidden] and
// [*TooManyError]. Their texts do not tell a stranger what was wrong; [Reason] does, for the log. [Guard.Knock] and
// [Guard.Enter] limit the concurrent requests of an address or a caller.
//
// There are three kinds of authentication: a token whose hash is in a file ([NewToken]), a client certificate that TLS has
// verified ([TLS]), and a JWT of an OpenID Connect issuer. A token takes precedence over a certificate, since a proxy with
// its own certificate may forward tokens of others. A wrong token is refused, even with a valid certificate. Without any of
// the three, a guard is open and all callers are anonymous; [CheckAddresses] restricts open guards to loopback.
//
// Token files, certificates and client CAs are read again when they are needed, at most once a second. If a changed file is
// invalid, that is reported and the last valid one stays in force.
package auth
