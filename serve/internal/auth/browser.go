package auth

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// SetHeaders sets the security headers of an answer to a browser. A page replaces the Content-Security-Policy afterwards.
func SetHeaders(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
}

// CheckOrigin refuses requests that a web page of another origin makes a browser send. The browser would add a client
// certificate, or come from loopback, without the page knowing a secret. An open guard on loopback also refuses host names
// other than localhost and its IP. Else an attacker could point a name at 127.0.0.1, whose pages are then of the same
// origin.
func (g *Guard) CheckOrigin(r *http.Request, loopback bool) error {
	if err := g.origins.Check(r); err != nil {
		return &originError{"the request comes from a web page of another origin, which may not ask this server", err.Error()}
	}
	address, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	socket := address != nil && address.Network() == "unix" // browsers cannot reach it
	if !g.Secured() && loopback && !socket && !loopbackHost(hostOf(r.Host)) {
		return &originError{
			"this server has no authentication, so it answers only to localhost and its IP address: use one of those, or give the server a token file",
			"the request is for the host " + r.Host + ", not for localhost",
		}
	}
	return nil
}

// Loopback reports whether only this machine can reach a server at an address: HOST:PORT or unix:PATH. A name other than
// localhost is not resolved, and counts as reachable from elsewhere.
func Loopback(address string) bool {
	if strings.HasPrefix(address, "unix:") {
		return true
	}
	return loopbackHost(hostOf(address))
}

// hostOf returns an address without its port.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}

func loopbackHost(host string) bool {
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	return err == nil && ip.Unmap().IsLoopback()
}

// CheckAddresses returns an error if other machines could reach a server without authentication, unless insecure allows
// that. secured is [Guard.Secured].
func CheckAddresses(addresses []string, secured, insecure bool) error {
	if secured || insecure {
		return nil
	}
	for _, address := range addresses {
		if !Loopback(address) {
			return fmt.Errorf("address %q can be reached from other machines without authentication: "+
				"give serve.Config.TokenFile, serve.Config.ClientCAFile or serve.Config.Issuer, or listen on 127.0.0.1 or unix:PATH; "+
				"serve.Config.Insecure lets everybody in", address)
		}
	}
	return nil
}
