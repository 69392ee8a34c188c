package queue

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// guarded is a server in this process that asks who comes.
func guarded(t *testing.T, o *server.Options) *url.URL {
	t.Helper()
	o.Host, o.Port, o.NoSigs, o.NoLog = "127.0.0.1", server.RANDOM_PORT, true, true
	o.JetStream, o.StoreDir = true, t.TempDir()
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not start")
	}
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return &url.URL{Scheme: "nats", Host: s.Addr().String()}
}

func noSecret(t *testing.T, text string, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		if strings.Contains(text, secret) {
			t.Errorf("%q tells the secret %q", text, secret)
		}
	}
}

// turnedAway checks that the queue refuses at once, in words that help and tell no secret.
func turnedAway(t *testing.T, o Options, word string, secrets ...string) {
	t.Helper()
	var said []string
	o.Log = func(s string) { said = append(said, s) }
	began := time.Now()
	q, err := Connect(t.Context(), o)
	if err == nil {
		_ = q.Close()
		t.Errorf("was let in; want an error with %q", word)
		return
	}
	if !strings.Contains(err.Error(), word) || time.Since(began) > 5*time.Second {
		t.Errorf("after %s: %v; want %q at once", time.Since(began), err, word)
	}
	noSecret(t, err.Error()+strings.Join(said, "\n"), secrets...)
}

func TestUsersAndTokens(t *testing.T) {
	const password = "pa:ss/w@rd"
	at := guarded(t, &server.Options{Username: "anna", Password: password})
	with := func(user *url.Userinfo) Options {
		u := *at
		u.User = user
		return Options{URL: u.String()}
	}
	put(t, connect(t, with(url.UserPassword("anna", password))), "a", 1)
	turnedAway(t, with(url.UserPassword("anna", "guessed")), "does not let this user in", "guessed")
	turnedAway(t, with(nil), "does not let this user in")

	at = guarded(t, &server.Options{Authorization: "t0ken"})
	put(t, connect(t, with(url.User("t0ken"))), "a", 1)
	turnedAway(t, with(url.User("0ther")), "does not let this user in", "0ther")

	for _, broken := range []string{"nats://anna:" + password + "@host:port", "http://anna:" + password + "@host", "", "nats://anna:100%@host"} {
		_, err := Connect(t.Context(), Options{URL: broken})
		if err == nil {
			t.Errorf("%q was taken for an address", broken)
			continue
		}
		noSecret(t, err.Error(), "w@rd", "100%@")
	}
}

// What the library says passes a filter, whether the secret stands there as it is or as in a URL.
func TestTextsOfTheLibraryTellNoSecret(t *testing.T) {
	a, err := parseAddress("nats://anna:pa%3Ass%2Fword@one:4222, t0ken@two")
	if err != nil {
		t.Fatal(err)
	}
	text := a.redact("dial nats://anna:pa%3Ass%2Fword@one:4222 with pa:ss/word, then t0ken@two")
	noSecret(t, text+a.String(), "pa:ss/word", "pa%3Ass%2Fword", "t0ken")
	if want := "nats://one:4222,nats://two"; a.String() != want {
		t.Errorf("shown as %s; want %s", a, want)
	}
}

// A user who may not publish is told so, and not left waiting.
func TestRights(t *testing.T) {
	t.Parallel()
	user := &server.User{Username: "reader", Password: "secret", Permissions: &server.Permissions{
		Publish: &server.SubjectPermission{Deny: []string{subjects + ">"}},
	}}
	at := guarded(t, &server.Options{Users: []*server.User{user}})
	at.User = url.UserPassword("reader", "secret")
	q := connect(t, Options{URL: at.String()})
	began := time.Now()
	if _, err := q.Put(t.Context(), "a", numbered(1)); err == nil || !strings.Contains(err.Error(), "does not allow") || time.Since(began) > 10*time.Second {
		t.Errorf("put without the right to: %v after %s", err, time.Since(began))
	}
}

// credentials writes a .creds file of a user of an account.
func credentials(t *testing.T, account nkeys.KeyPair) string {
	t.Helper()
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, err := user.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.NewUserClaims(public).Encode(account)
	if err != nil {
		t.Fatal(err)
	}
	seed, err := user.Seed()
	if err != nil {
		t.Fatal(err)
	}
	content, err := jwt.FormatUserConfig(token, seed)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, "user.creds", content)
}

func write(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCredentialsFile(t *testing.T) {
	operator, account, stranger := pair(t, nkeys.CreateOperator), pair(t, nkeys.CreateAccount), pair(t, nkeys.CreateAccount)
	claims := jwt.NewAccountClaims(public(t, account))
	claims.Limits.JetStreamLimits = jwt.JetStreamLimits{DiskStorage: -1, MemoryStorage: -1, Streams: -1, Consumer: -1}
	token, err := claims.Encode(operator)
	if err != nil {
		t.Fatal(err)
	}
	resolver := &server.MemAccResolver{}
	if err := resolver.Store(public(t, account), token); err != nil {
		t.Fatal(err)
	}
	system := pair(t, nkeys.CreateAccount)
	systemToken, err := jwt.NewAccountClaims(public(t, system)).Encode(operator)
	if err != nil {
		t.Fatal(err)
	}
	if err := resolver.Store(public(t, system), systemToken); err != nil {
		t.Fatal(err)
	}
	o := jwt.NewOperatorClaims(public(t, operator))
	at := guarded(t, &server.Options{TrustedOperators: []*jwt.OperatorClaims{o}, AccountResolver: resolver, SystemAccount: public(t, system)})

	put(t, connect(t, Options{URL: at.String(), Credentials: credentials(t, account)}), "a", 1)
	turnedAway(t, Options{URL: at.String(), Credentials: credentials(t, stranger)}, ".creds")
	turnedAway(t, Options{URL: at.String()}, ".creds")
	turnedAway(t, Options{URL: at.String(), Credentials: "nowhere.creds"}, "nowhere.creds")
}

func pair(t *testing.T, create func() (nkeys.KeyPair, error)) nkeys.KeyPair {
	t.Helper()
	k, err := create()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func public(t *testing.T, k nkeys.KeyPair) string {
	t.Helper()
	p, err := k.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// authority signs certificates that no system knows.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{key: newKey(t), certificate: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ours"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}}
	der, err := x509.CreateCertificate(rand.Reader, a.certificate, a.certificate, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	a.certificate, err = x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *authority) file(t *testing.T) string {
	return write(t, "ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw}))
}

// sign writes a certificate for this machine, and its key.
func (a *authority) sign(t *testing.T) (certificate, key string) {
	t.Helper()
	k := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "node"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, k.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	der2, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, "node.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		write(t, "node.key", pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der2}))
}

func TestTLSWithAnAuthorityOfOurOwn(t *testing.T) {
	t.Parallel()
	ours, theirs := newAuthority(t), newAuthority(t)
	certificate, key := ours.sign(t)
	loaded, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(ours.certificate)
	at := guarded(t, &server.Options{TLS: true, TLSVerify: true, TLSTimeout: 5, TLSConfig: &tls.Config{
		Certificates: []tls.Certificate{loaded}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
	}})
	mine, mineKey := ours.sign(t)
	put(t, connect(t, Options{URL: at.String(), CA: ours.file(t), Certificate: mine, Key: mineKey}), "a", 1)
	at.Scheme = "tls"
	put(t, connect(t, Options{URL: at.String(), CA: ours.file(t), Certificate: mine, Key: mineKey}), "b", 1)

	turnedAway(t, Options{URL: at.String(), Certificate: mine, Key: mineKey}, "is not trusted")
	turnedAway(t, Options{URL: at.String(), CA: theirs.file(t), Certificate: mine, Key: mineKey}, "is not trusted")
	turnedAway(t, Options{URL: at.String(), CA: ours.file(t)}, "certificate")
	turnedAway(t, Options{URL: at.String(), CA: ours.file(t), Certificate: mine}, "needs its key")

	plain := guarded(t, &server.Options{})
	plain.Scheme = "tls"
	turnedAway(t, Options{URL: plain.String()}, "TLS")
}
