// Package auth decides who may do what at a server. It knows neither models nor protocols.
//
// A [Guard] is asked once per request: [Guard.Admit] takes what the visitor showed, its [Credentials], and the [Permission]
// that the route needs, and gives the [Caller] or one of three refusals: [ErrUnauthenticated], [ErrForbidden] and
// [*TooManyError]. Their texts tell a stranger nothing about what was wrong; [Reason] tells the log. [Guard.Knock] and
// [Guard.Enter] limit how many requests of an address or a caller are under way at once.
//
// There are three ways to be known: a token whose hash stands in a file ([NewToken]), a client certificate that TLS has
// verified ([TLS]), and a JWT of an OpenID Connect issuer. Who shows a token is who the token says, also over a connection
// with a certificate: a proxy with its own certificate passes on others' tokens. A wrong token is refused and never fallen
// back from. Without any of the three a guard is open and everybody is anonymous; [CheckAddresses] keeps open guards on
// loopback.
//
// Token files, certificates and client CAs are looked at again at most once a second when they are needed. A file that is
// broken is reported, and what was read last stays in force.
package auth
