package auth

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
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
