package auth

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"
)

// TLS returns the configuration of a server: TLS 1.2 or later, HTTP/2 or HTTP/1.1. It reads its files again when they
// change, for new connections. An invalid new file, or a key that does not fit the certificate, goes to report and leaves
// the old files in force. So nothing breaks between writing a certificate and writing its key.
//
// With a file of client CAs, a client certificate must be signed by one of them. A client may also present none, as health
// checks do; [Guard.Admit] decides whether one is needed.
func TLS(certFile, keyFile, clientCAFile string, report func(error)) (*tls.Config, error) {
	return reloadedTLS(certFile, keyFile, clientCAFile, report, time.Now)
}

func reloadedTLS(certFile, keyFile, clientCAFile string, report func(error), now func() time.Time) (*tls.Config, error) {
	switch {
	case certFile == "" && keyFile != "":
		return nil, errors.New("serve.Config.KeyFile without serve.Config.CertFile: give both")
	case certFile != "" && keyFile == "":
		return nil, errors.New("serve.Config.CertFile without serve.Config.KeyFile: give both")
	case certFile == "":
		return nil, errors.New("serve.Config.ClientCAFile without serve.Config.CertFile and serve.Config.KeyFile: give all three")
	}
	sources := []source{{path: certFile}, {path: keyFile, secret: true}}
	if clientCAFile != "" {
		sources = append(sources, source{path: clientCAFile})
	}
	files, err := reload(sources, func(contents [][]byte) (*tls.Config, error) {
		config := baseTLS()
		certificate, err := tls.X509KeyPair(contents[0], contents[1])
		if err != nil {
			return nil, fmt.Errorf("certificate %s with key %s: %w", certFile, keyFile, err)
		}
		config.Certificates = []tls.Certificate{certificate}
		if clientCAFile != "" {
			config.ClientAuth, config.ClientCAs = tls.VerifyClientCertIfGiven, x509.NewCertPool()
			if !config.ClientCAs.AppendCertsFromPEM(contents[2]) {
				return nil, fmt.Errorf("client CAs %s: no certificate in PEM form", clientCAFile)
			}
		}
		return config, nil
	}, report, now)
	if err != nil {
		return nil, fmt.Errorf("TLS: %w", err)
	}
	config := baseTLS()
	// Each load is a configuration with its own session keys. An old session cannot be resumed, so a removed client CA is
	// out of force at once.
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return files.get(), nil }
	return config, nil
}

func baseTLS() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
}

// leaf returns the client certificate of a connection if TLS has verified it. PeerCertificates would also contain unverified
// ones.
func leaf(state *tls.ConnectionState) *x509.Certificate {
	if state == nil || len(state.VerifiedChains) == 0 || len(state.VerifiedChains[0]) == 0 {
		return nil
	}
	return state.VerifiedChains[0][0]
}

// certificateCaller returns the caller that a certificate names. It may infer; if it is among the admins, it may do
// everything.
func (g *Guard) certificateCaller(certificate *x509.Certificate, now time.Time) (Caller, error) {
	// A connection may outlive its certificate.
	if now.After(certificate.NotAfter) {
		return Caller{}, unauthenticated("the client certificate ended at %s", certificate.NotAfter.UTC().Format(time.RFC3339))
	}
	name := certificateName(certificate)
	if err := checkName(name); err != nil {
		return Caller{}, unauthenticated("the client certificate: %v", err)
	}
	allowed := Infer
	if slices.Contains(g.config.Admins, name) {
		allowed = Infer | Admin | Metrics
	}
	return Caller{Name: name, Kind: "certificate", Allowed: allowed}, nil
}

// certificateName returns the common name, or the first of the other names.
func certificateName(certificate *x509.Certificate) string {
	switch {
	case certificate.Subject.CommonName != "":
		return certificate.Subject.CommonName
	case len(certificate.URIs) > 0:
		return certificate.URIs[0].String()
	case len(certificate.DNSNames) > 0:
		return certificate.DNSNames[0]
	case len(certificate.EmailAddresses) > 0:
		return certificate.EmailAddresses[0]
	case len(certificate.IPAddresses) > 0:
		return certificate.IPAddresses[0].String()
	}
	return ""
}
