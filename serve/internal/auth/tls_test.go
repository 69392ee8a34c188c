package auth

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestClientCertificates(t *testing.T) {
	clients, strangers := newAuthority(t, "client CA"), newAuthority(t, "client CA")
	s := startTLS(t, clients)
	spiffe := func(name string) func(*x509.Certificate) {
		return func(c *x509.Certificate) {
			c.Subject = pkix.Name{}
			c.URIs = []*url.URL{{Scheme: "spiffe", Host: "example.org", Path: name}}
			c.DNSNames = []string{"pod.example.org"}
		}
	}
	for _, c := range []struct {
		what, want string // want is empty if there is to be no connection
		show       issued
	}{
		{"a client", "HTTP/2.0 certificate ann infer", clients.issue(t, "ann", x509.ExtKeyUsageClientAuth, nil)},
		{"an admin", "HTTP/2.0 certificate root infer,admin,metrics", clients.issue(t, "root", x509.ExtKeyUsageClientAuth, nil)},
		{"an admin's SAN beside a name", "HTTP/2.0 certificate ann infer", clients.issue(t, "ann", x509.ExtKeyUsageClientAuth, func(c *x509.Certificate) { c.DNSNames = []string{"root"} })},
		{"a URI", "HTTP/2.0 certificate spiffe://example.org/ann infer", clients.issue(t, "", x509.ExtKeyUsageClientAuth, spiffe("/ann"))},
		{"an admin's URI", "HTTP/2.0 certificate spiffe://example.org/root infer,admin,metrics", clients.issue(t, "", x509.ExtKeyUsageClientAuth, spiffe("/root"))},
		{"a name of two words", "HTTP/2.0 certificate Ann Lee infer", clients.issue(t, "Ann Lee", x509.ExtKeyUsageClientAuth, nil)},
		{"a name for the log", ErrUnauthenticated.Error() + "\n", clients.issue(t, "ann\nbob", x509.ExtKeyUsageClientAuth, nil)},
		{"no name", ErrUnauthenticated.Error() + "\n", clients.issue(t, "", x509.ExtKeyUsageClientAuth, nil)},
		{"none", ErrUnauthenticated.Error() + "\n", issued{}},
		{"a stranger of the same names", "", strangers.issue(t, "root", x509.ExtKeyUsageClientAuth, nil)},
		{"a server's", "", clients.issue(t, "root", x509.ExtKeyUsageServerAuth, nil)},
		{"one that has ended", "", clients.issue(t, "ann", x509.ExtKeyUsageClientAuth, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })},
		{"one to come", "", clients.issue(t, "ann", x509.ExtKeyUsageClientAuth, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) })},
	} {
		config := s.client()
		if c.show.cert != "" {
			pair := c.show.pair(t)
			// As an attacker does: show it whether the server asks for its authority or not.
			config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
		}
		says, server, err := s.ask(s.http(t, config))
		if (err == nil) != (c.want != "") || says != c.want || err == nil && server != "first" {
			t.Errorf("%s: %q of %q, %v, want %q", c.what, says, server, err, c.want)
		}
	}
}

// A token decides, where tokens are taken: also over a proxy's connection with a certificate.
func TestTokenBeforeCertificate(t *testing.T) {
	ann, line := newToken(t, "ann", Metrics)
	g, path, _, _ := tokenGuard(t, line)
	proxy := &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{{Subject: pkix.Name{CommonName: "proxy"}, NotAfter: time.Now().Add(time.Hour)}}}}
	g.config.ClientCertificates = true
	for _, c := range []struct {
		what, authorization string
		needed              Permission
		name                string
		err                 error
	}{
		{"the certificate alone", "", Infer, "proxy", nil},
		{"the certificate for more", "", Metrics, "", ErrForbidden},
		{"the token", "Bearer " + ann, Metrics, "ann", nil},
		{"the token for more", "Bearer " + ann, Infer, "", ErrForbidden},
		{"a wrong token", "Bearer psi_wrong", Infer, "", ErrUnauthenticated},
		{"a password", "Basic YW5uOng=", Infer, "", ErrUnauthenticated},
	} {
		caller, err := g.Admit(t.Context(), Credentials{Authorization: c.authorization, TLS: proxy, Remote: "192.0.2.1"}, c.needed)
		switch {
		case c.err != nil:
			refused(t, c.what, err, c.err)
		case err != nil || caller.Name != c.name:
			t.Errorf("%s: %v, %v", c.what, caller, err)
		}
	}
	// Certificates that TLS was not asked to verify count for nothing, nor do verified ones where they are not wanted.
	shown := &tls.ConnectionState{PeerCertificates: proxy.VerifiedChains[0]}
	_, err := g.Admit(t.Context(), Credentials{TLS: shown}, Infer)
	refused(t, "an unverified certificate", err, ErrUnauthenticated)
	tokensOnly, err := New(t.Context(), Config{TokenFile: path})
	if err != nil {
		t.Fatal(err)
	}
	_, err = tokensOnly.Admit(t.Context(), Credentials{TLS: proxy}, Infer)
	refused(t, "a certificate where only tokens count", err, ErrUnauthenticated)
	certificatesOnly, err := New(t.Context(), Config{ClientCertificates: true})
	if err != nil {
		t.Fatal(err)
	}
	admitted(t, "an Authorization header where only certificates count", certificatesOnly, Credentials{TLS: proxy, Authorization: "Bearer x"}, Infer)
}

func TestCertificateEndsDuringConnection(t *testing.T) {
	clients := newAuthority(t, "client CA")
	s := startTLS(t, clients)
	client := s.http(t, s.client(clients.issue(t, "ann", x509.ExtKeyUsageClientAuth, nil).pair(t)))
	if says, _, err := s.ask(client); err != nil || !strings.Contains(says, "ann") {
		t.Fatal(says, err)
	}
	s.at.move(2 * time.Hour)
	if says, _, err := s.ask(client); err != nil || says != ErrUnauthenticated.Error()+"\n" {
		t.Errorf("%q, %v", says, err)
	}
}

func TestOldTLSIsRefused(t *testing.T) {
	s := startTLS(t, newAuthority(t, "client CA"))
	for version, good := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		config := s.client()
		config.MinVersion, config.MaxVersion = version, version
		connection, err := tls.Dial("tcp", s.address, config)
		if (err == nil) != good {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
		if err == nil {
			if state := connection.ConnectionState(); state.Version != version || state.NegotiatedProtocol != "h2" {
				t.Errorf("%s: got %s with %q", tls.VersionName(version), tls.VersionName(state.Version), state.NegotiatedProtocol)
			}
			if err := connection.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	connection, err := tls.Dial("tcp", s.address, s.client())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if got := connection.ConnectionState().Version; got != tls.VersionTLS13 {
		t.Errorf("of all versions it takes %s", tls.VersionName(got))
	}
}

// Certificates change while clients ask, over open connections and new ones; nobody notices.
func TestReloadUnderLoad(t *testing.T) {
	clients := newAuthority(t, "client CA")
	s := startTLS(t, clients)
	ann := clients.issue(t, "ann", x509.ExtKeyUsageClientAuth, nil).pair(t)
	var stop atomic.Bool
	var requests atomic.Int64
	var workers sync.WaitGroup
	kept := s.http(t, s.client(ann))
	for i := range 4 {
		workers.Go(func() {
			for !stop.Load() {
				client := kept
				if i%2 == 0 {
					client = s.http(t, s.client(ann))
				}
				if says, _, err := s.ask(client); err != nil || !strings.Contains(says, "ann") {
					t.Errorf("%q, %v", says, err)
					return
				}
				requests.Add(1)
				if i%2 == 0 {
					client.CloseIdleConnections()
				}
			}
		})
	}
	newest := func() string {
		_, server, err := s.ask(s.http(t, s.client(ann)))
		if err != nil {
			t.Error(err)
		}
		return server
	}
	for _, name := range []string{"second", "third", "fourth"} {
		next := s.servers.issue(t, name, x509.ExtKeyUsageServerAuth, nil)
		// Between the two writes the key does not fit: the old pair stays.
		before := newest()
		write(t, s.path("cert"), 0o644, next.cert)
		s.at.move(checkInterval)
		if got := newest(); got != before {
			t.Errorf("with half of %s written, new connections get %q", name, got)
		}
		write(t, s.path("key"), 0o600, next.key)
		s.at.move(checkInterval)
		// Another connection may be the one that looks, and not have ended.
		for end := time.Now().Add(10 * time.Second); newest() != name; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("new connections do not get %q", name)
			}
		}
	}
	seen := requests.Load()
	for end := time.Now().Add(10 * time.Second); requests.Load() < seen+20 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	stop.Store(true)
	workers.Wait()
	if requests.Load() < seen+20 {
		t.Errorf("only %d requests", requests.Load())
	}
	if _, server, err := s.ask(kept); err != nil || server != "first" {
		t.Errorf("the connection from before: %q, %v: it was dropped", server, err)
	}
	if list := s.told.all(); len(list) != 3 {
		t.Errorf("reports %q, want one for each half", list)
	}
}

func TestBrokenTLSFilesLeaveTheLastGoodOnes(t *testing.T) {
	clients := newAuthority(t, "client CA")
	s := startTLS(t, clients)
	ann := clients.issue(t, "ann", x509.ExtKeyUsageClientAuth, nil).pair(t)
	good := map[string]string{}
	for _, name := range []string{"cert", "key", "ca"} {
		content, err := os.ReadFile(s.path(name))
		if err != nil {
			t.Fatal(err)
		}
		good[name] = string(content)
	}
	mode := map[string]os.FileMode{"cert": 0o644, "key": 0o600, "ca": 0o644}
	for i, c := range []struct {
		name, content string
		mode          os.FileMode
	}{
		{"cert", "x", 0o644},
		{"cert", good["cert"][:100], 0o644},
		{"key", newAuthority(t, "x").issue(t, "x", x509.ExtKeyUsageServerAuth, nil).key, 0o600},
		{"key", good["key"], 0o644}, // readable by all
		{"ca", "", 0o644},
		{"ca", "no certificate", 0o644},
	} {
		write(t, s.path(c.name), c.mode, c.content)
		s.at.move(checkInterval)
		if says, server, err := s.ask(s.http(t, s.client(ann))); err != nil || server != "first" || !strings.Contains(says, "ann") {
			t.Errorf("%s %.20q: %q of %q, %v", c.name, c.content, says, server, err)
		}
		list := s.told.all()
		if len(list) != i+1 || !strings.Contains(list[i], s.path(c.name)) || strings.Contains(list[i], "PRIVATE") {
			t.Fatalf("%s %.20q: reports %q", c.name, c.content, list)
		}
		write(t, s.path(c.name), mode[c.name], good[c.name])
		s.at.move(checkInterval)
		if _, _, err := s.ask(s.http(t, s.client(ann))); err != nil {
			t.Error(err)
		}
	}
}

// Neither a new connection nor a resumed session gets past a client CA that was taken out.
func TestClientCAChanges(t *testing.T) {
	old, next := newAuthority(t, "old"), newAuthority(t, "next")
	s := startTLS(t, old)
	config := s.client(old.issue(t, "ann", x509.ExtKeyUsageClientAuth, nil).pair(t))
	config.ClientSessionCache = tls.NewLRUClientSessionCache(8)
	resumed := func() (bool, string, error) {
		client := s.http(t, config)
		defer client.CloseIdleConnections()
		response, err := client.Get("https://" + s.address)
		if err != nil {
			return false, "", err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		return response.TLS.DidResume, string(body), err
	}
	for i := range 2 {
		did, says, err := resumed()
		if err != nil || did != (i == 1) || !strings.Contains(says, "ann") {
			t.Fatalf("connection %d: resumed %v, %q, %v", i, did, says, err)
		}
	}
	write(t, s.path("ca"), 0o644, next.pem())
	s.at.move(checkInterval)
	if did, says, err := resumed(); err == nil && strings.Contains(says, "ann") {
		t.Errorf("with another CA: resumed %v, %q", did, says)
	}
	if says, _, err := s.ask(s.http(t, s.client(next.issue(t, "bob", x509.ExtKeyUsageClientAuth, nil).pair(t)))); err != nil || !strings.Contains(says, "bob") {
		t.Errorf("the new CA's client: %q, %v", says, err)
	}
}

func TestTLSFilesAtTheStart(t *testing.T) {
	a := newAuthority(t, "CA")
	pair := a.issue(t, "x", x509.ExtKeyUsageServerAuth, nil)
	dir := t.TempDir()
	cert, key, open := dir+"/cert", dir+"/key", dir+"/open"
	write(t, cert, 0o644, pair.cert)
	write(t, key, 0o400, pair.key)
	write(t, open, 0o644, pair.key)
	for _, c := range []struct{ cert, key, ca, want string }{
		{cert, key, "", ""},
		{cert, key, cert, ""},
		{cert, "", "", "serve.Config.KeyFile"},
		{"", key, "", "serve.Config.CertFile"},
		{"", "", cert, "serve.Config.CertFile"},
		{cert, open, "", "chmod 600"},
		{cert, cert, "", "mode"},
		{cert, dir + "/none", "", "none"},
		{cert, key, key, "no certificate"},
	} {
		_, err := TLS(c.cert, c.key, c.ca, func(error) {})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
