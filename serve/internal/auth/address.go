package auth

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

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
