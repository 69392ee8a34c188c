package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"testing"
	"time"
)

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	serial      int64
}

// issued is a certificate with its key, as PEM.
type issued struct{ cert, key string }

func (i issued) pair(t testing.TB) tls.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair([]byte(i.cert), []byte(i.key))
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func newAuthority(t testing.TB, name string) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{key: key, serial: 1}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *authority) pem() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw}))
}

// issue makes a certificate for a client or a server, changed as one likes.
func (a *authority) issue(t testing.TB, name string, usage x509.ExtKeyUsage, change func(*x509.Certificate)) issued {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a.serial++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(a.serial), Subject: pkix.Name{CommonName: name}, ExtKeyUsage: []x509.ExtKeyUsage{usage},
		KeyUsage: x509.KeyUsageDigitalSignature, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	if usage == x509.ExtKeyUsageServerAuth {
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return issued{
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})),
	}
}

// tlsServer is a real server with TLS in front of a guard that knows certificates.
type tlsServer struct {
	dir, address string
	servers      *authority // whom clients trust
	at           *clock
	told         *reports
}

// start serves what a guard says of its callers. Admins is a certificate named root.
func startTLS(t testing.TB, clients *authority) *tlsServer {
	t.Helper()
	s := &tlsServer{dir: t.TempDir(), servers: newAuthority(t, "server CA"), at: newClock(), told: &reports{}}
	s.write(t, s.servers.issue(t, "first", x509.ExtKeyUsageServerAuth, nil))
	write(t, s.path("ca"), 0o644, clients.pem())
	config, err := reloadedTLS(s.path("cert"), s.path("key"), s.path("ca"), s.told.add, s.at.now)
	if err != nil {
		t.Fatal(err)
	}
	g, err := newGuard(t.Context(), Config{ClientCertificates: true, Admins: []string{"root", "spiffe://example.org/root"}}, s.at.now)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = listener.Addr().String()
	server := &http.Server{TLSConfig: config, ReadHeaderTimeout: time.Minute, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown := Credentials{Authorization: r.Header.Get("Authorization"), TLS: r.TLS, Remote: r.RemoteAddr}
		caller, err := g.Admit(r.Context(), shown, Infer)
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		_, _ = fmt.Fprintf(w, "%s %s %s %s", r.Proto, caller.Kind, caller.Name, caller.Allowed)
	})}
	done := make(chan error, 1)
	go func() { done <- server.ServeTLS(listener, "", "") }()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return s
}

func (s *tlsServer) path(name string) string { return filepath.Join(s.dir, name) }

func (s *tlsServer) write(t testing.TB, pair issued) {
	t.Helper()
	write(t, s.path("cert"), 0o644, pair.cert)
	write(t, s.path("key"), 0o600, pair.key)
}

// client is how a client with some certificates speaks TLS.
func (s *tlsServer) client(certificates ...tls.Certificate) *tls.Config {
	roots := x509.NewCertPool()
	roots.AddCert(s.servers.certificate)
	return &tls.Config{RootCAs: roots, Certificates: certificates, NextProtos: []string{"h2"}}
}

// http is a client of its own connection.
func (s *tlsServer) http(t testing.TB, config *tls.Config) *http.Client {
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

// ask returns what the server says, and the common name of its certificate.
func (s *tlsServer) ask(client *http.Client) (says, server string, err error) {
	response, err := client.Get((&url.URL{Scheme: "https", Host: s.address}).String())
	if err != nil {
		return "", "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), response.TLS.PeerCertificates[0].Subject.CommonName, err
}
