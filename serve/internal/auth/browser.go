package auth

import (
	"net"
	"net/http"
)

// SetHeaders sets what keeps browsers from misusing an answer of the API. A page sets its own Content-Security-Policy
// afterwards.
func SetHeaders(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
}

// CheckOrigin refuses what a foreign web page makes a browser ask: requests of other origins that change or compute
// something, as the browser adds a client certificate, or the trust in loopback, without the page knowing any secret. An
// open guard on loopback also refuses to be called by another name than localhost or its IP: a page whose name an attacker
// points to 127.0.0.1 is of the same origin for the browser.
func (g *Guard) CheckOrigin(r *http.Request, loopback bool) error {
	if err := g.origins.Check(r); err != nil {
		return &originError{"the request comes from a web page of another origin, which may not ask this server", err.Error()}
	}
	address, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	socket := address != nil && address.Network() == "unix" // which no browser reaches
	if !g.Secured() && loopback && !socket && !loopbackHost(hostOf(r.Host)) {
		return &originError{
			"this server has no authentication, so it answers only to localhost and its IP address: use one of those, or give the server a token file",
			"the request is for the host " + r.Host + ", not for localhost",
		}
	}
	return nil
}
