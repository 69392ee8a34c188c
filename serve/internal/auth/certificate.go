package auth

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
	"time"
)

// leaf is the client certificate of a connection, if TLS has verified it. PeerCertificates would also hold one that
// nobody has.
func leaf(state *tls.ConnectionState) *x509.Certificate {
	if state == nil || len(state.VerifiedChains) == 0 || len(state.VerifiedChains[0]) == 0 {
		return nil
	}
	return state.VerifiedChains[0][0]
}

// certificateCaller is who a certificate names. It may infer; all else it may if it is listed.
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

// certificateName is the common name, or the first of the other names.
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
