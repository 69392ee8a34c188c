package auth

import (
	"strings"
	"testing"
)

func TestOpenGuardsStayOnLoopback(t *testing.T) {
	for address, loopback := range map[string]bool{
		"127.0.0.1:8080": true, "127.8.9.1:1": true, "[::1]:8080": true, "[::ffff:127.0.0.1]:80": true, "localhost:8080": true,
		"LOCALHOST:8080": true, "unix:/run/psi.sock": true, "unix:psi.sock": true, "127.0.0.1": true, "::1": true,

		"": false, ":8080": false, "0.0.0.0:8080": false, "[::]:8080": false, "::": false, "0:8080": false, "192.0.2.1:80": false, "10.0.0.1:80": false,
		"[::ffff:10.0.0.1]:80": false, "example.org:80": false, "localhost.example.org:80": false, "127.0.0.1.example.org:80": false,
		"127.1:80": false, "*:80": false, "[fe80::1%lo]:80": false, "/run/psi.sock": false,
	} {
		if got := Loopback(address); got != loopback {
			t.Errorf("Loopback(%q) = %v", address, got)
		}
		for _, c := range []struct{ secured, insecure, good bool }{{false, false, loopback}, {true, false, true}, {false, true, true}} {
			err := CheckAddresses([]string{"127.0.0.1:1", address}, c.secured, c.insecure)
			if (err == nil) != c.good {
				t.Errorf("%q secured %v insecure %v: %v", address, c.secured, c.insecure, err)
			}
			if err != nil {
				for _, remedy := range []string{"serve.Config.TokenFile", "serve.Config.ClientCAFile", "serve.Config.Issuer", "127.0.0.1", "serve.Config.Insecure"} {
					if !strings.Contains(err.Error(), remedy) {
						t.Errorf("%v: %s is not named", err, remedy)
					}
				}
			}
		}
	}
	if err := CheckAddresses(nil, false, false); err != nil {
		t.Error(err)
	}
}
