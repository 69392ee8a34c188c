package auth

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

func TestForeignPagesAreRefused(t *testing.T) {
	_, line := newToken(t, "ann", Infer)
	secured, _, _, _ := tokenGuard(t, line)
	open, err := New(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what, method, host, origin, site string
		open, secured                    bool // let through
	}{
		{"a program", "POST", "localhost:8080", "", "", true, true},
		{"a program by IP", "POST", "127.0.0.1:8080", "", "", true, true},
		{"a program by IPv6", "POST", "[::1]:8080", "", "", true, true},
		{"our page", "POST", "localhost:8080", "http://localhost:8080", "same-origin", true, true},
		{"a foreign page", "POST", "localhost:8080", "https://evil.example", "cross-site", false, false},
		{"a foreign page in an old browser", "POST", "localhost:8080", "https://evil.example", "", false, false},
		{"a sandboxed page", "POST", "localhost:8080", "null", "", false, false},
		{"another port's page", "POST", "localhost:8080", "http://localhost:9", "same-site", false, false},
		{"a name pointed here", "POST", "evil.example:8080", "http://evil.example:8080", "same-origin", false, true},
		{"a name pointed here, reading", "GET", "evil.example", "", "same-origin", false, true},
		{"the name unix pointed here", "GET", "unix:8080", "", "same-origin", false, true},
		{"no name", "GET", "", "", "", false, true},
	} {
		r := httptest.NewRequestWithContext(t.Context(), c.method, "/v2/models/m/infer", strings.NewReader("{}"))
		r.Host = c.host
		for key, value := range map[string]string{"Origin": c.origin, "Sec-Fetch-Site": c.site} {
			if value != "" {
				r.Header.Set(key, value)
			}
		}
		for g, pass := range map[*Guard]bool{open: c.open, secured: c.secured} {
			err := g.CheckOrigin(r, true)
			if pass && err != nil {
				t.Errorf("%s, secured %v: %v", c.what, g.Secured(), Reason(err))
			} else if !pass && (!errors.Is(err, ErrForbidden) || err.Error() == ErrForbidden.Error() || Reason(err) == err.Error()) {
				t.Errorf("%s, secured %v: %v (%s)", c.what, g.Secured(), err, Reason(err))
			}
		}
		if err := open.CheckOrigin(r, false); (err == nil) != c.secured {
			t.Errorf("%s, not on loopback: %v", c.what, err)
		}
	}
}

// Clients of a Unix socket name any host.
func TestUnixSocketsHaveNoHost(t *testing.T) {
	g, err := New(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "s")
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := g.CheckOrigin(r, true); err != nil {
			http.Error(w, Reason(err), http.StatusForbidden)
		}
	})}}
	server.Start()
	defer server.Close()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Post("http://psi.example/", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Error(response.Status)
	}
}

func TestHeaders(t *testing.T) {
	h := http.Header{}
	SetHeaders(h)
	for key, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
		"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		if got := h.Get(key); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}

func TestChallenges(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{unauthenticated("x"), `Bearer realm="psi"`},
		{&refusal{ErrForbidden, "x"}, `Bearer realm="psi", error="insufficient_scope"`},
		{&TooManyError{}, ""},
		{errors.New("x"), ""},
		{nil, ""},
	} {
		if got := Challenge(c.err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}

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
