package auth

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// TLS is how a server speaks TLS: 1.2 at least, HTTP/2 or HTTP/1.1. It reads its files again when they change, for the
// connections that come then; those that are open stay. A broken new file, or a key that does not fit, goes to report and
// leaves the old ones in force; so between writing the certificate and writing the key nothing breaks.
//
// With a file of client CAs, a client that shows a certificate must show one of theirs. It may show none: health checks
// have none, and who needs one is [Guard.Admit]'s business.
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
	// Each load is a configuration with its own session keys: a session from before cannot be resumed, so a client CA that
	// was taken out is out.
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return files.get(), nil }
	return config, nil
}

func baseTLS() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
}
